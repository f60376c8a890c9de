/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Content-Security-Policy of the page: see page_policy.h.
 */
#include "web/page_policy.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>

enum { SHA256 = 32, SOURCE = 80 };

static const char *text_find(const char *from, const char *end, const char *word)
{
    return memmem(from, (size_t)(end - from), word, strlen(word));
}

/* 'sha256-...' of what stands between the tags; 'none' where there is no such element. */
static void element_source(const char *html, size_t size, const char *name, char out[SOURCE])
{
    char open[16], close[16];
    const char *end = html + size;
    snprintf(open, sizeof(open), "<%s>", name);
    snprintf(close, sizeof(close), "</%s>", name);
    const char *from = text_find(html, end, open);
    from = from ? from + strlen(open) : NULL;
    const char *to = from ? text_find(from, end, close) : NULL;
    unsigned char hash[SHA256];
    gnutls_datum_t text = {.data = hash, .size = SHA256}, encoded = {0};
    snprintf(out, SOURCE, "'none'");
    if (!to || gnutls_hash_fast(GNUTLS_DIG_SHA256, from, (size_t)(to - from), hash) < 0 ||
        gnutls_base64_encode2(&text, &encoded) < 0)
        return;
    snprintf(out, SOURCE, "'sha256-%.*s'", (int)encoded.size, encoded.data);
    gnutls_free(encoded.data);
}

void page_policy(const char *html, size_t size, char out[PAGE_POLICY])
{
    char script[SOURCE], style[SOURCE];
    element_source(html, size, "script", script);
    element_source(html, size, "style", style);
    snprintf(out, PAGE_POLICY,
             "default-src 'none'; script-src %s; style-src %s; img-src 'self' data: blob:; "
             "media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
             "frame-ancestors 'none'",
             script, style);
}
