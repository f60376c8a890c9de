/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ProbeMatches of WS-Discovery: see onvif_answer.h. WS-Discovery of April 2005, section 5.3; ONVIF
 * Core Specification, section 7.3.
 *
 * The happy path is an envelope with RelatesTo and one ProbeMatch. The failure modes are all of a
 * hostile document: expat refuses what is no XML; a document type ends it, so no entity is ever
 * declared; depth and text have limits; a text that is too long is cut.
 */
#include "client/onvif_answer.h"

#include <expat.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MOST = 32, SCOPES_BYTES = 8192 };
#define SCOPE "onvif://www.onvif.org/"

struct answer_reader {
    XML_Parser parser;
    struct onvif_answer *out;
    unsigned depth;
    bool in_match, in_endpoint, matched;
    char *into; /* where text goes; NULL: nowhere */
    size_t room, n;
    char types[1024], scopes[SCOPES_BYTES];
};

/* expat joins namespace and name by '|'. */
static bool element_is(const char *name, const char *wanted)
{
    const char *local = strrchr(name, '|');
    return strcmp(local ? local + 1 : name, wanted) == 0;
}

static void text_into(struct answer_reader *r, char *into, size_t room)
{
    if (into[0])
        return; /* the first one counts */
    r->into = into;
    r->room = room;
    r->n = 0;
}

static void XMLCALL on_start(void *ctx, const char *name, const char **attributes)
{
    struct answer_reader *r = ctx;
    if (++r->depth > DEPTH_MOST) {
        XML_StopParser(r->parser, XML_FALSE);
        return;
    }
    r->into = NULL;
    if (element_is(name, "RelatesTo"))
        text_into(r, r->out->relates_to, sizeof(r->out->relates_to));
    else if (element_is(name, "ProbeMatch"))
        r->in_match = !r->matched;
    else if (r->in_match && element_is(name, "EndpointReference"))
        r->in_endpoint = true;
    else if (r->in_endpoint && element_is(name, "Address"))
        text_into(r, r->out->endpoint, sizeof(r->out->endpoint));
    else if (r->in_match && element_is(name, "Types"))
        text_into(r, r->types, sizeof(r->types));
    else if (r->in_match && element_is(name, "Scopes"))
        text_into(r, r->scopes, sizeof(r->scopes));
}

static void XMLCALL on_end(void *ctx, const char *name)
{
    struct answer_reader *r = ctx;
    r->depth--;
    r->into = NULL;
    if (element_is(name, "EndpointReference"))
        r->in_endpoint = false;
    if (element_is(name, "ProbeMatch")) {
        r->matched |= r->in_match;
        r->in_match = false;
    }
}

static void XMLCALL on_text(void *ctx, const char *text, int length)
{
    struct answer_reader *r = ctx;
    for (int i = 0; r->into && i < length && r->n + 1 < r->room; i++)
        if (text[i])
            r->into[r->n++] = text[i];
    if (r->into)
        r->into[r->n] = 0;
}

static void XMLCALL on_doctype(void *ctx, const char *name, const char *system_id,
                               const char *public_id, int has_internal_subset)
{
    struct answer_reader *r = ctx;
    XML_StopParser(r->parser, XML_FALSE);
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
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
    return c >= '0' && c <= '9' ? c - '0' : at ? (int)(at - digits) : -1;
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
    r->parser = XML_ParserCreateNS(NULL, '|');
    bool good = r->parser != NULL;
    if (good) {
        XML_SetUserData(r->parser, r);
        XML_SetElementHandler(r->parser, on_start, on_end);
        XML_SetCharacterDataHandler(r->parser, on_text);
        XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
        good = XML_Parse(r->parser, bytes, (int)size, 1) == XML_STATUS_OK;
        XML_ParserFree(r->parser);
    }
    good = good && r->matched && out->endpoint[0] && types_video(r->types);
    scope_find(r->scopes, SCOPE "name/", out->name);
    scope_find(r->scopes, SCOPE "hardware/", out->hardware);
    free(r);
    return good;
}
