/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The streams of network cameras: see onvif_ask.h. WS-Security UsernameToken Profile 1.0; ONVIF
 * Core Specification, 5.9.4.
 *
 * The happy path is: the camera's clock, its services, its profiles, the address of each profile of
 * H.264. The failure modes are a camera that is silent, that wants another user, or that lies: its
 * own host is asked and named in any case.
 */
#include "client/onvif_ask.h"

#include "client/onvif_http.h"
#include "client/onvif_reply.h"

#include <libavutil/base64.h>
#include <libavutil/mem.h>
#include <libavutil/sha.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { CAMERA_MS = 5000, ALL_MS = 30000, THREADS = 8, NONCE = 16, SHA1 = 20, STREAMS_MOST = 8 };
#define DEVICE "http://www.onvif.org/ver10/device/wsdl"
#define MEDIA  "http://www.onvif.org/ver10/media/wsdl"
#define WSS    "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"

struct onvif_talk {
    const struct onvif_login *login; /* user NULL: none */
    struct onvif_place place;
    int64_t until_ms;
    int64_t ahead_s; /* the camera's clock before ours */
    struct onvif_reply *reply;
    char why[128];
    bool wants_login;
};

/* ---- texts ---- */

static void xml_escape(const char *from, char *to, size_t size)
{
    size_t n = 0;
    for (; *from && n + 7 < size; from++) {
        bool plain = !strchr("<>&'\"", *from) && (unsigned char)*from >= ' ';
        n += (size_t)(plain ? snprintf(to + n, size - n, "%c", *from)
                            : snprintf(to + n, size - n, "&#%u;", (unsigned char)*from));
    }
    to[n] = 0;
}

/* Base64 of SHA-1 of nonce, time and password. */
static bool digest_make(const uint8_t nonce[NONCE], const char *created, const char *password,
                        char out[AV_BASE64_SIZE(SHA1)])
{
    struct AVSHA *sha = av_sha_alloc();
    uint8_t digest[SHA1];
    if (!sha)
        return false;
    av_sha_init(sha, 160);
    av_sha_update(sha, nonce, NONCE);
    av_sha_update(sha, (const uint8_t *)created, strlen(created));
    av_sha_update(sha, (const uint8_t *)password, strlen(password));
    av_sha_final(sha, digest);
    av_free(sha);
    return av_base64_encode(out, AV_BASE64_SIZE(SHA1), digest, SHA1) != NULL;
}

static bool header_make(const struct onvif_talk *t, char *out, size_t size)
{
    uint8_t nonce[NONCE];
    char created[32], coded[AV_BASE64_SIZE(NONCE)], digest[AV_BASE64_SIZE(SHA1)], user[512];
    time_t now = time(NULL) + (time_t)t->ahead_s;
    struct tm tm;
    out[0] = 0;
    if (!t->login->user)
        return true;
    gmtime_r(&now, &tm);
    strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
    if (getrandom(nonce, NONCE, 0) != NONCE ||
        !av_base64_encode(coded, sizeof(coded), nonce, NONCE) ||
        !digest_make(nonce, created, t->login->password, digest))
        return false;
    xml_escape(t->login->user, user, sizeof(user));
    int n = snprintf(
        out, size,
        "<e:Header><s:Security xmlns:s=\"" WSS "wssecurity-secext-1.0.xsd\" "
        "xmlns:u=\"" WSS "wssecurity-utility-1.0.xsd\" e:mustUnderstand=\"true\"><s:UsernameToken>"
        "<s:Username>%s</s:Username><s:Password Type=\"" WSS "username-token-profile-1.0"
        "#PasswordDigest\">%s</s:Password><s:Nonce EncodingType=\"" WSS "soap-message-security-1.0"
        "#Base64Binary\">%s</s:Nonce><u:Created>%s</u:Created></s:UsernameToken></s:Security>"
        "</e:Header>",
        user, digest, coded, created);
    return n > 0 && (size_t)n < size;
}

/* ---- one request ---- */

/* False: it failed, for the reason in why. */
static bool talk_ask(struct onvif_talk *t, const char *request)
{
    char header[2048], text[4096], *body = NULL, why[64];
    size_t size = 0;
    if (!header_make(t, header, sizeof(header)) ||
        snprintf(text, sizeof(text),
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
                 "<e:Envelope xmlns:e=\"http://www.w3.org/2003/05/soap-envelope\">%s"
                 "<e:Body>%s</e:Body></e:Envelope>",
                 header, request) >= (int)sizeof(text))
        return false;
    int status = onvif_post(&t->place, text, t->until_ms, &body, &size, why);
    snprintf(t->why, sizeof(t->why), "%s", why);
    if (status < 0)
        return false;
    bool good = onvif_reply_parse(body, size, t->reply);
    free(body);
    t->wants_login |= status == 401 || t->reply->refused;
    if (t->wants_login)
        snprintf(t->why, sizeof(t->why), "%s",
                 t->login->user ? "it wants another user or password" : "it wants a user: --user");
    else if (status != 200)
        snprintf(t->why, sizeof(t->why), "its service: %.80s (status %d)",
                 good && t->reply->fault[0] ? t->reply->fault : "no reason", status);
    else if (!good)
        snprintf(t->why, sizeof(t->why), "its service answers no XML");
    return good && status == 200 && !t->wants_login;
}

static int64_t reply_time(const struct onvif_reply *r)
{
    struct tm tm = {.tm_year = atoi(r->year) - 1900,
                    .tm_mon = atoi(r->month) - 1,
                    .tm_mday = atoi(r->day),
                    .tm_hour = atoi(r->hour),
                    .tm_min = atoi(r->minute),
                    .tm_sec = atoi(r->second)};
    bool good = r->year[0] && tm.tm_year > 0 && tm.tm_year < 1000 && tm.tm_mon >= 0 &&
                tm.tm_mon < 12 && tm.tm_mday > 0 && tm.tm_mday < 32;
    return good ? (int64_t)timegm(&tm) : -1;
}

/* Cameras refuse digests of another time than theirs. */
static void talk_ask_clock(struct onvif_talk *t)
{
    static const struct onvif_login nobody;
    const struct onvif_login *login = t->login;
    t->login = &nobody;
    bool good = talk_ask(t, "<GetSystemDateAndTime xmlns=\"" DEVICE "\"/>");
    t->login = login;
    t->wants_login = false;
    int64_t theirs = good ? reply_time(t->reply) : -1;
    t->ahead_s = theirs > 0 ? theirs - (int64_t)time(NULL) : 0;
}

/* Old cameras know GetCapabilities alone; some have one address for all services. */
static bool talk_find_media(struct onvif_talk *t)
{
    bool good = talk_ask(t, "<GetServices xmlns=\"" DEVICE "\"><IncludeCapability>false"
                            "</IncludeCapability></GetServices>") &&
                t->reply->media[0];
    if (!good && !t->wants_login)
        good = talk_ask(t, "<GetCapabilities xmlns=\"" DEVICE "\"><Category>Media</Category>"
                           "</GetCapabilities>");
    return good && (!t->reply->media[0] || onvif_place_take(&t->place, t->reply->media));
}

/* ---- streams ---- */

static uint32_t number_of(const char *text, uint32_t most)
{
    long n = strtol(text, NULL, 10);
    return n > 0 && n <= (long)most ? (uint32_t)n : 0;
}

static bool talk_find_stream(struct onvif_talk *t, const char *token, char *uri, size_t size)
{
    char request[1024], safe[6 * ONVIF_WORD];
    xml_escape(token, safe, sizeof(safe));
    snprintf(request, sizeof(request),
             "<GetStreamUri xmlns=\"" MEDIA "\"><StreamSetup>"
             "<Stream xmlns=\"http://www.onvif.org/ver10/schema\">RTP-Unicast</Stream>"
             "<Transport xmlns=\"http://www.onvif.org/ver10/schema\"><Protocol>RTSP</Protocol>"
             "</Transport></StreamSetup><ProfileToken>%s</ProfileToken></GetStreamUri>",
             safe);
    if (!talk_ask(t, request))
        return false;
    snprintf(t->why, sizeof(t->why), "its address of the stream is none of RTSP");
    bool whole = strlen(t->reply->uri) + 1 < sizeof(t->reply->uri); /* else it may have been cut */
    return whole && onvif_stream_address(t->place.host, t->reply->uri, uri, size);
}

/* A camera has one format for each profile with video. */
static void profile_add(struct onvif_talk *t, const struct onvif_profile *p, struct discovered *c)
{
    struct discovered_format *f = &c->formats[c->n_formats];
    bool h264 = !strcmp(p->encoding, "H264");
    if (!p->encoding[0] || c->n_formats == DISCOVERED_FORMATS)
        return;
    *f = (struct discovered_format){.width = number_of(p->width, 65535),
                                    .height = number_of(p->height, 65535),
                                    .fps = number_of(p->fps, 1000),
                                    .foreign = !h264};
    discovery_text(f->fourcc, sizeof(f->fourcc), p->encoding);
    if (h264 && c->n_streams < STREAMS_MOST &&
        talk_find_stream(t, p->token, f->uri, sizeof(f->uri)))
        c->n_streams++;
    c->n_formats++;
}

static bool talk_find_streams(struct onvif_talk *t, struct discovered *c)
{
    struct onvif_profile *profiles = NULL;
    unsigned n = 0;
    if (talk_ask(t, "<GetProfiles xmlns=\"" MEDIA "\"/>")) {
        n = t->reply->n_profiles;
        profiles = malloc(sizeof(t->reply->profiles));
    }
    if (!profiles)
        return false;
    memcpy(profiles, t->reply->profiles, sizeof(t->reply->profiles));
    snprintf(t->why, sizeof(t->why), "none of its profiles is H.264");
    for (unsigned i = 0; i < n; i++)
        profile_add(t, &profiles[i], c);
    free(profiles);
    return c->n_streams > 0;
}

/* ---- cameras ---- */

static void camera_ask(struct onvif_asked *a, const struct onvif_login *login, int64_t until_ms)
{
    struct onvif_talk t = {.login = login,
                           .place = {.host = a->host},
                           .until_ms = onvif_clock_ms() + CAMERA_MS,
                           .reply = calloc(1, sizeof(struct onvif_reply)),
                           .why = "it names no service over http"};
    t.until_ms = t.until_ms < until_ms ? t.until_ms : until_ms;
    bool good = t.reply && onvif_place_take(&t.place, a->services);
    if (good)
        talk_ask_clock(&t);
    good = good && talk_find_media(&t) && talk_find_streams(&t, a->camera);
    const struct discovered_format *best = good ? discovered_best(a->camera) : NULL;
    free(t.reply);
    if (!best) {
        discovery_text(a->camera->cause, sizeof(a->camera->cause), t.why);
        return;
    }
    snprintf(a->camera->uri, sizeof(a->camera->uri), "%s", best->uri);
    a->camera->missing[0] = 0;
    a->camera->login = login->user != NULL;
}

struct onvif_queue {
    pthread_mutex_t lock;
    struct onvif_asked *list;
    unsigned n, next;
    const struct onvif_login *login;
    int64_t until_ms;
};

static void *queue_work(void *ctx)
{
    struct onvif_queue *q = ctx;
    for (;;) {
        pthread_mutex_lock(&q->lock);
        unsigned i = q->next < q->n ? q->next++ : q->n;
        pthread_mutex_unlock(&q->lock);
        if (i == q->n)
            return NULL;
        camera_ask(&q->list[i], q->login, q->until_ms);
    }
}

void onvif_ask(struct onvif_asked *list, unsigned n, const struct onvif_login *login)
{
    struct onvif_queue q = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .list = list,
                            .n = n,
                            .login = login,
                            .until_ms = onvif_clock_ms() + ALL_MS};
    pthread_t threads[THREADS];
    unsigned started = 0;
    while (started < THREADS && started < n &&
           pthread_create(&threads[started], NULL, queue_work, &q) == 0)
        started++;
    if (started == 0)
        queue_work(&q);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}
