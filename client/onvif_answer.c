/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ProbeMatches of WS-Discovery: see onvif_answer.h. WS-Discovery of April 2005, section 5.3; ONVIF
 * Core Specification, section 7.3.
 *
 * The happy path is an envelope with RelatesTo and one ProbeMatch.
 */
#include "client/onvif_answer.h"

#include "client/onvif_xml.h"

#include <stdlib.h>
#include <string.h>

enum { SCOPES_BYTES = 8192 };
#define SCOPE "onvif://www.onvif.org/"

struct answer_reader {
    struct onvif_answer *out;
    bool in_match, in_endpoint, matched;
    char types[1024], scopes[SCOPES_BYTES];
};

static void answer_begins(struct onvif_xml *x, const char *name, const char **attributes)
{
    struct answer_reader *r = x->ctx;
    if (!strcmp(name, "RelatesTo"))
        onvif_xml_text(x, r->out->relates_to, sizeof(r->out->relates_to));
    else if (!strcmp(name, "ProbeMatch"))
        r->in_match = !r->matched;
    else if (r->in_match && !strcmp(name, "EndpointReference"))
        r->in_endpoint = true;
    else if (r->in_endpoint && !strcmp(name, "Address"))
        onvif_xml_text(x, r->out->endpoint, sizeof(r->out->endpoint));
    else if (r->in_match && !strcmp(name, "Types"))
        onvif_xml_text(x, r->types, sizeof(r->types));
    else if (r->in_match && !strcmp(name, "Scopes"))
        onvif_xml_text(x, r->scopes, sizeof(r->scopes));
    else if (r->in_match && !strcmp(name, "XAddrs"))
        onvif_xml_text(x, r->out->services, sizeof(r->out->services));
}

static void answer_ends(struct onvif_xml *x, const char *name, const char **attributes)
{
    struct answer_reader *r = x->ctx;
    if (!strcmp(name, "EndpointReference"))
        r->in_endpoint = false;
    if (!strcmp(name, "ProbeMatch")) {
        r->matched |= r->in_match;
        r->in_match = false;
    }
}

/* ---- words in the text ---- */

static const char *word_next(const char *at, size_t *length)
{
    at += strspn(at, " \t\r\n");
    *length = strcspn(at, " \t\r\n");
    return at;
}

/* Whether Types names prefix:NetworkVideoTransmitter. */
static bool types_video(const char *types)
{
    static const char wanted[] = "NetworkVideoTransmitter";
    size_t n;
    for (const char *w = word_next(types, &n); n; w = word_next(w + n, &n)) {
        const char *colon = memchr(w, ':', n);
        size_t skip = colon ? (size_t)(colon + 1 - w) : 0;
        if (n - skip == sizeof(wanted) - 1 && memcmp(w + skip, wanted, n - skip) == 0)
            return true;
    }
    return false;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void percent_decode(const char *from, size_t n, char out[ONVIF_TEXT])
{
    size_t k = 0;
    for (size_t i = 0; i < n && k + 1 < ONVIF_TEXT; i++) {
        bool coded = from[i] == '%' && i + 2 < n && hex_digit(from[i + 1]) >= 0 &&
                     hex_digit(from[i + 2]) >= 0;
        char c = coded ? (char)(hex_digit(from[i + 1]) << 4 | hex_digit(from[i + 2])) : from[i];
        i += coded ? 2 : 0;
        if (c)
            out[k++] = c;
    }
    out[k] = 0;
}

static void scope_find(const char *scopes, const char *key, char out[ONVIF_TEXT])
{
    size_t n, length = strlen(key);
    for (const char *w = word_next(scopes, &n); n && !out[0]; w = word_next(w + n, &n))
        if (n > length && memcmp(w, key, length) == 0)
            percent_decode(w + length, n - length, out);
}

bool onvif_answer_parse(const char *bytes, size_t size, struct onvif_answer *out)
{
    struct answer_reader *r = size <= ONVIF_BYTES ? calloc(1, sizeof(*r)) : NULL;
    memset(out, 0, sizeof(*out));
    if (!r)
        return false;
    r->out = out;
    struct onvif_xml x = {.ctx = r, .begins = answer_begins, .ends = answer_ends};
    bool good = onvif_xml_read(&x, bytes, size);
    good = good && r->matched && out->endpoint[0] && types_video(r->types);
    scope_find(r->scopes, SCOPE "name/", out->name);
    scope_find(r->scopes, SCOPE "hardware/", out->hardware);
    free(r);
    return good;
}
