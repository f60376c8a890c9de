/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: documents of network cameras, as an answer to a probe and as that of a service.
 * Each text ends within its room, and a second reading gives the same.
 */
#include "client/onvif_answer.h"
#include "client/onvif_reply.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(bool kept, const char *what)
{
    if (kept)
        return;
    fprintf(stderr, "broken: %s\n", what);
    abort();
}

#define ENDS(text) promise(memchr(text, 0, sizeof(text)) != NULL, #text " has no end")

static void answer_check(const struct onvif_answer *a, bool good)
{
    ENDS(a->relates_to);
    ENDS(a->endpoint);
    ENDS(a->name);
    ENDS(a->hardware);
    ENDS(a->services);
    promise(!good || a->endpoint[0], "a device without its endpoint");
}

static void profile_check(const struct onvif_profile *p)
{
    ENDS(p->token);
    ENDS(p->encoding);
    ENDS(p->width);
    ENDS(p->height);
    ENDS(p->fps);
}

static void reply_check(const struct onvif_reply *r)
{
    ENDS(r->fault);
    ENDS(r->media);
    ENDS(r->uri);
    ENDS(r->year);
    ENDS(r->month);
    ENDS(r->day);
    ENDS(r->hour);
    ENDS(r->minute);
    ENDS(r->second);
    promise(r->n_profiles <= ONVIF_PROFILES, "too many profiles");
    for (unsigned i = 0; i < r->n_profiles; i++)
        profile_check(&r->profiles[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct onvif_answer answers[2];
    static struct onvif_reply replies[2];
    const char *bytes = (const char *)data;
    bool good[2], parsed[2];
    for (unsigned i = 0; i < 2; i++) {
        memset(&answers[i], i ? 0xff : 0, sizeof(answers[i]));
        memset(&replies[i], i ? 0xff : 0, sizeof(replies[i]));
        good[i] = onvif_answer_parse(bytes, size, &answers[i]);
        parsed[i] = onvif_reply_parse(bytes, size, &replies[i]);
        answer_check(&answers[i], good[i]);
        reply_check(&replies[i]);
    }
    promise(good[0] == good[1] && parsed[0] == parsed[1], "the second reading ends otherwise");
    promise(!memcmp(&answers[0], &answers[1], sizeof(answers[0])) &&
                !memcmp(&replies[0], &replies[1], sizeof(replies[0])),
            "the second reading differs");
    return 0;
}
