/* SPDX-License-Identifier: BSD-2-Clause
 *
 * XML of devices of ONVIF, element by element. Pure: bytes in, calls out. The bytes come from
 * anybody on the network.
 *
 * The failure modes are all of a hostile document: expat refuses what is no XML; a document type
 * ends it, so no entity is ever declared; depth has a limit; a text that is too long is cut.
 */
#ifndef CLIENT_ONVIF_XML_H
#define CLIENT_ONVIF_XML_H

#include <stdbool.h>
#include <stddef.h>

struct onvif_xml;
/* name: without its namespace. attributes: name, value, ..., NULL; of an end NULL. */
typedef void onvif_element(struct onvif_xml *x, const char *name, const char **attributes);

struct onvif_xml {
    void *ctx;
    onvif_element *begins, *ends;
    void *parser; /* expat's */
    unsigned depth;
    char *into; /* where text goes; NULL: nowhere */
    size_t room, length;
};

/* Reads a whole document. False: it is none, or may not be. */
bool onvif_xml_read(struct onvif_xml *x, const char *bytes, size_t size);
/* The text of the element that begins goes there, ended by zero. The first one counts: a text that
 * is there already stays. */
void onvif_xml_text(struct onvif_xml *x, char *into, size_t room);

#endif
