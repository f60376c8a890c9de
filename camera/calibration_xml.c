/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The XML that OpenCV's FileStorage writes, to a tree, by expat. An element with elements inside is
 * a map (a list where they are called "_"), any other a scalar. Attributes and comments are left
 * out.
 *
 * A document type is refused: only there a file could declare entities that grow without end. Depth
 * and number of elements are bounded (calibration_tree.h).
 */
#include "camera/calibration_tree.h"

#include <expat.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct xml_reader {
    XML_Parser parser;
    struct tree_node *open[TREE_DEPTH]; /* from the root to the element that is open */
    struct tree_node *root;
    int depth;
    size_t count;
    char *text; /* of the element that is open, since its last tag */
    size_t used, room;
    const char *why; /* why the reader stopped; NULL: it did not */
};

static void reader_refuse(struct xml_reader *r, const char *why)
{
    r->why = r->why ? r->why : why;
    XML_StopParser(r->parser, XML_FALSE);
}

static bool reader_text_blank(const struct xml_reader *r)
{
    return r->used == 0 || strspn(r->text, " \t\r\n") == r->used;
}

static void on_text(void *ctx, const XML_Char *text, int length)
{
    struct xml_reader *r = ctx;
    size_t size = (size_t)length;
    if (r->room - r->used <= size) {
        size_t room = 2 * (r->used + size) + 64;
        char *grown = realloc(r->text, room);
        if (!grown) {
            reader_refuse(r, "out of memory");
            return;
        }
        r->text = grown;
        r->room = room;
    }
    memcpy(r->text + r->used, text, size);
    r->used += size;
    r->text[r->used] = 0;
}

static void on_start(void *ctx, const XML_Char *name, const XML_Char **attributes)
{
    struct xml_reader *r = ctx;
    struct tree_node *parent = r->depth ? r->open[r->depth - 1] : NULL;
    if (!reader_text_blank(r)) {
        reader_refuse(r, "text and elements are mixed");
        return;
    }
    if (r->depth == 1 && strcmp(name, "_") != 0 && tree_has_key(r->root, name)) {
        reader_refuse(r, "an element at the top stands twice");
        return;
    }
    struct tree_node *node =
        r->depth < TREE_DEPTH ? tree_add(parent, TREE_MAP, name, NULL, &r->count) : NULL;
    if (!node) {
        reader_refuse(r, "too many elements, or nested too deeply");
        return;
    }
    if (parent && !strcmp(name, "_"))
        parent->kind = TREE_LIST;
    r->root = r->root ? r->root : node;
    r->open[r->depth++] = node;
    r->used = 0;
}

static void on_end(void *ctx, const XML_Char *name)
{
    struct xml_reader *r = ctx;
    if (r->why) /* expat still ends an empty element whose start was refused */
        return;
    struct tree_node *node = r->open[--r->depth];
    if (!node->child) {
        node->kind = TREE_SCALAR;
        node->text = strndup(r->text ? r->text : "", r->used);
        if (!node->text)
            reader_refuse(r, "out of memory");
    } else if (!reader_text_blank(r)) {
        reader_refuse(r, "text and elements are mixed");
    }
    r->used = 0;
}

static void on_doctype(void *ctx, const XML_Char *name, const XML_Char *system_id,
                       const XML_Char *public_id, int has_subset)
{
    reader_refuse(ctx, "declarations are not supported");
}

/* expat's words, but for the two faults that happen by hand. */
static const char *reader_fault(const struct xml_reader *r)
{
    enum XML_Error error = XML_GetErrorCode(r->parser);
    return r->why                              ? r->why
           : error == XML_ERROR_TAG_MISMATCH   ? "an element ends under another name"
           : error == XML_ERROR_NO_ELEMENTS    ? "the file ends inside an element"
           : error == XML_ERROR_UNCLOSED_TOKEN ? "the file ends inside an element"
                                               : XML_ErrorString(error);
}

struct tree_node *tree_from_xml(const char *text, size_t size, char *why, size_t why_size)
{
    struct xml_reader r = {.parser = XML_ParserCreate(NULL)};
    if (!r.parser || size > INT_MAX) {
        snprintf(why, why_size, "%s", r.parser ? "the file is too large" : "out of memory");
        XML_ParserFree(r.parser);
        return NULL;
    }
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    bool good = XML_Parse(r.parser, text, (int)size, XML_TRUE) == XML_STATUS_OK && !r.why;
    if (!good) {
        snprintf(why, why_size, "line %lu: %s%s", XML_GetCurrentLineNumber(r.parser),
                 r.why ? "" : "not XML: ", reader_fault(&r));
        tree_free(r.root);
    }
    XML_ParserFree(r.parser);
    free(r.text);
    return good ? r.root : NULL;
}
