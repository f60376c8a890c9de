/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Answers of a camera's services: see onvif_reply.h. ONVIF Core Specification, 8.2.1 and 8.3;
 * Media Service Specification, 5.2 and 5.15.
 *
 * One reader takes all answers, by the names of elements and of those around them.
 */
#include "client/onvif_reply.h"

#include "client/onvif_xml.h"

#include <stdlib.h>
#include <string.h>

#define MEDIA_SERVICE "http://www.onvif.org/ver10/media/wsdl"

/* Elements that the reader is inside of. */
enum reply_place {
    IN_FAULT = 1,
    IN_SUBCODE = 2,
    IN_SERVICE = 4,
    IN_MEDIA = 8,
    IN_UTC = 16,
    IN_PROFILE = 32,
    IN_ENCODER = 64
};

struct reply_reader {
    struct onvif_reply *out;
    unsigned inside;
    char space[ONVIF_TEXT], address[ONVIF_TEXT]; /* of a service */
    char code[ONVIF_WORD];
};

static unsigned place_of(const char *name)
{
    static const struct {
        const char *name;
        unsigned place;
    } places[] = {{"Fault", IN_FAULT},
                  {"Subcode", IN_SUBCODE},
                  {"Service", IN_SERVICE},
                  {"Media", IN_MEDIA},
                  {"UTCDateTime", IN_UTC},
                  {"Profiles", IN_PROFILE},
                  {"VideoEncoderConfiguration", IN_ENCODER}};
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (!strcmp(name, places[i].name))
            return places[i].place;
    return 0;
}

static struct onvif_profile *profile_last(struct reply_reader *r)
{
    bool here = r->inside & IN_PROFILE && r->out->n_profiles;
    return here ? &r->out->profiles[r->out->n_profiles - 1] : NULL;
}

static void profile_begin(struct reply_reader *r, const char **attributes)
{
    struct onvif_profile *p = &r->out->profiles[r->out->n_profiles];
    if (r->out->n_profiles == ONVIF_PROFILES) {
        r->inside &= ~(unsigned)IN_PROFILE; /* more are left out */
        return;
    }
    for (; attributes[0]; attributes += 2)
        if (!strcmp(attributes[0], "token") && strlen(attributes[1]) < sizeof(p->token))
            strcpy(p->token, attributes[1]);
    r->out->n_profiles++;
}

struct reply_text {
    const char *name;
    unsigned inside;
    char *into;
    size_t room;
};

static void text_find(struct onvif_xml *x, const struct reply_text *texts, size_t n,
                      const char *name, unsigned inside)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(name, texts[i].name) && (inside & texts[i].inside) == texts[i].inside)
            onvif_xml_text(x, texts[i].into, texts[i].room);
}

#define TEXT(name, inside, member)                                                                 \
    {                                                                                              \
        name, inside, member, sizeof(member)                                                       \
    }

static void reply_begins(struct onvif_xml *x, const char *name, const char **attributes)
{
    struct reply_reader *r = x->ctx;
    struct onvif_reply *o = r->out;
    unsigned place = place_of(name);
    r->inside |= place;
    if (place == IN_PROFILE)
        profile_begin(r, attributes);
    if (place == IN_SERVICE)
        r->space[0] = r->address[0] = 0;
    if (!strcmp(name, "Value") && r->inside & IN_SUBCODE)
        r->code[0] = 0; /* the innermost one counts */
    const struct reply_text texts[] = {TEXT("Text", IN_FAULT, o->fault),
                                       TEXT("Value", IN_SUBCODE, r->code),
                                       TEXT("Namespace", IN_SERVICE, r->space),
                                       TEXT("XAddr", IN_SERVICE, r->address),
                                       TEXT("XAddr", IN_MEDIA, o->media),
                                       TEXT("Uri", 0, o->uri),
                                       TEXT("Year", IN_UTC, o->year),
                                       TEXT("Month", IN_UTC, o->month),
                                       TEXT("Day", IN_UTC, o->day),
                                       TEXT("Hour", IN_UTC, o->hour),
                                       TEXT("Minute", IN_UTC, o->minute),
                                       TEXT("Second", IN_UTC, o->second)};
    text_find(x, texts, sizeof(texts) / sizeof(*texts), name, r->inside);
    struct onvif_profile *p = profile_last(r);
    if (!p)
        return;
    const struct reply_text of_profile[] = {
        TEXT("Encoding", IN_ENCODER, p->encoding), TEXT("Width", IN_ENCODER, p->width),
        TEXT("Height", IN_ENCODER, p->height), TEXT("FrameRateLimit", IN_ENCODER, p->fps)};
    text_find(x, of_profile, sizeof(of_profile) / sizeof(*of_profile), name, r->inside);
}

static void reply_ends(struct onvif_xml *x, const char *name, const char **attributes)
{
    struct reply_reader *r = x->ctx;
    unsigned place = place_of(name);
    if (place == IN_SERVICE && !strcmp(r->space, MEDIA_SERVICE) && !r->out->media[0])
        strcpy(r->out->media, r->address);
    if (!strcmp(name, "Value") && r->inside & IN_SUBCODE)
        r->out->refused |= strstr(r->code, "NotAuthorized") != NULL;
    r->inside &= ~place;
}

bool onvif_reply_parse(const char *bytes, size_t size, struct onvif_reply *out)
{
    struct reply_reader r = {.out = out};
    struct onvif_xml x = {.ctx = &r, .begins = reply_begins, .ends = reply_ends};
    memset(out, 0, sizeof(*out));
    return onvif_xml_read(&x, bytes, size);
}
