/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers of a camera's services: which services it has, its clock, its profiles, the address of a
 * stream. Pure: bytes in, text out. The bytes come from anybody on the network.
 */
#ifndef CLIENT_ONVIF_REPLY_H
#define CLIENT_ONVIF_REPLY_H

#include "client/onvif_answer.h"

#include <stdint.h>

enum { ONVIF_PROFILES = 32, ONVIF_WORD = 64, ONVIF_NUMBER = 12 };

struct onvif_profile {
    char token[ONVIF_WORD];    /* an attribute */
    char encoding[ONVIF_WORD]; /* H264, H265, JPEG; empty: no video */
    char width[ONVIF_NUMBER], height[ONVIF_NUMBER], fps[ONVIF_NUMBER];
};

/* Of any answer; what it does not have is empty. */
struct onvif_reply {
    char fault[ONVIF_TEXT]; /* its reason */
    bool refused;           /* another user or password is wanted */
    char media[ONVIF_TEXT]; /* address of the media service */
    char uri[ONVIF_TEXT];   /* of a stream */
    char year[ONVIF_NUMBER], month[ONVIF_NUMBER], day[ONVIF_NUMBER];
    char hour[ONVIF_NUMBER], minute[ONVIF_NUMBER], second[ONVIF_NUMBER];
    struct onvif_profile profiles[ONVIF_PROFILES];
    unsigned n_profiles;
};

/* False: it is no document, or may not be. */
bool onvif_reply_parse(const char *bytes, size_t size, struct onvif_reply *out);

#endif
