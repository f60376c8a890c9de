/* SPDX-License-Identifier: BSD-2-Clause
 *
 * XML of devices of ONVIF: see onvif_xml.h.
 */
#include "client/onvif_xml.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

enum { DEPTH_MOST = 32 };

/* expat joins namespace and name by '|'. */
static const char *local_name(const char *name)
{
    const char *bar = strrchr(name, '|');
    return bar ? bar + 1 : name;
}

void onvif_xml_text(struct onvif_xml *x, char *into, size_t room)
{
    if (into[0])
        return;
    x->into = into;
    x->room = room;
    x->length = 0;
}

static void XMLCALL on_start(void *ctx, const char *name, const char **attributes)
{
    struct onvif_xml *x = ctx;
    x->into = NULL;
    if (++x->depth > DEPTH_MOST)
        XML_StopParser(x->parser, XML_FALSE);
    else
        x->begins(x, local_name(name), attributes);
}

static void XMLCALL on_end(void *ctx, const char *name)
{
    struct onvif_xml *x = ctx;
    x->depth--;
    x->into = NULL;
    x->ends(x, local_name(name), NULL);
}

static void XMLCALL on_text(void *ctx, const char *text, int length)
{
    struct onvif_xml *x = ctx;
    for (int i = 0; x->into && i < length && x->length + 1 < x->room; i++)
        if (text[i])
            x->into[x->length++] = text[i];
    if (x->into)
        x->into[x->length] = 0;
}

static void XMLCALL on_doctype(void *ctx, const char *name, const char *system_id,
                               const char *public_id, int has_internal_subset)
{
    struct onvif_xml *x = ctx;
    XML_StopParser(x->parser, XML_FALSE);
}

bool onvif_xml_read(struct onvif_xml *x, const char *bytes, size_t size)
{
    XML_Parser parser = size <= INT_MAX ? XML_ParserCreateNS(NULL, '|') : NULL;
    if (!parser)
        return false;
    x->parser = parser;
    x->depth = 0;
    x->into = NULL;
    XML_SetUserData(parser, x);
    XML_SetElementHandler(parser, on_start, on_end);
    XML_SetCharacterDataHandler(parser, on_text);
    XML_SetStartDoctypeDeclHandler(parser, on_doctype);
    bool good = XML_Parse(parser, bytes, (int)size, 1) == XML_STATUS_OK;
    XML_ParserFree(parser);
    return good;
}
