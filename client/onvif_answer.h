/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ProbeMatches of WS-Discovery, as devices of ONVIF answer a probe. Pure: bytes in, text out. The
 * bytes come from anybody on the network.
 */
#ifndef CLIENT_ONVIF_ANSWER_H
#define CLIENT_ONVIF_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

enum { ONVIF_TEXT = 256, ONVIF_BYTES = 65507 /* of a datagram */ };

/* Of its first match. Bytes as they came, each text ended by zero. */
struct onvif_answer {
    char relates_to[ONVIF_TEXT]; /* the probe's identity */
    char endpoint[ONVIF_TEXT];   /* the device's: urn:uuid:... */
    char name[ONVIF_TEXT];       /* of its scopes, percent-decoded; empty: none */
    char hardware[ONVIF_TEXT];
    char services[4 * ONVIF_TEXT]; /* addresses of its device service, with spaces between */
};

/* False: no XML, a document type, too deep, or no match with an endpoint and type
 * NetworkVideoTransmitter. */
bool onvif_answer_parse(const char *bytes, size_t size, struct onvif_answer *out);

#endif
