/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread of a tap: it connects, subscribes, and turns each frame into the bytes that its
 * readers want. The failure modes are a daemon that is gone (it comes back, and the tap goes on), a
 * source that fails for good, and a frame that cannot be converted.
 */
#include "daemon/log.h"
#include "daemon/monotonic.h"
#include "web/feed_encode.h"
#include "web/feed_tap.h"

#include <stdio.h>
#include <stdlib.h>

enum { CONNECT_MS = 3000, SLICE_MS = 250, LOSSLESS_SLOTS = 8 };
#define LINGER_NS INT64_C(3000000000) /* a page that asks again finds the tap still there */

/* Whether the thread has to end. */
static bool tap_over(struct feed_tap *t)
{
    struct feed *f = t->feed;
    pthread_mutex_lock(&f->lock);
    bool idle = t->readers == 0 && (t->key.file || monotonic_ns() - t->idle_ns > LINGER_NS);
    pthread_mutex_unlock(&f->lock);
    return idle || atomic_load(&f->ending);
}

static void tap_waits_set(struct feed_tap *t, const char *cause)
{
    pthread_mutex_lock(&t->feed->lock);
    snprintf(t->waits, sizeof(t->waits), "%s", cause ? cause : "");
    pthread_mutex_unlock(&t->feed->lock);
}

static void tap_end(struct feed_tap *t, enum feed_news state, const struct pelton_failure *why)
{
    pthread_mutex_lock(&t->feed->lock);
    tap_finish(t, state, why);
    pthread_mutex_unlock(&t->feed->lock);
}

/* The reader of a file takes its time: its frames wait in the daemon. */
static void reader_await(struct feed_tap *t)
{
    struct feed *f = t->feed;
    pthread_mutex_lock(&f->lock);
    while (t->readers && t->made >= t->taken + t->depth && t->depth && !atomic_load(&f->ending)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&t->news, &f->lock, &until);
    }
    pthread_mutex_unlock(&f->lock);
}

static bool tap_is_read(struct feed_tap *t)
{
    pthread_mutex_lock(&t->feed->lock);
    bool read = t->readers > 0;
    pthread_mutex_unlock(&t->feed->lock);
    return read;
}

/* False: the frame cannot become bytes, and the tap has ended. */
static bool frame_take(struct feed_tap *t, const struct pelton_frame *frame)
{
    struct pelton_failure why = {.code = PELTON_ERR_NOMEM, .cause = "no memory for a frame"};
    struct web_frame *made = NULL;
    if (!tap_is_read(t))
        return true;
    int64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    bool good = feed_encode(t->encoder, frame, &made, &why);
    int64_t spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
    if (!good) {
        tap_end(t, FEED_FAILED, &why);
        return false;
    }
    pthread_mutex_lock(&t->feed->lock);
    if (feed_is_file(frame))
        t->source->figures.jpegs_daemon++;
    else
        t->source->figures.jpegs_gateway += t->key.kind == FEED_JPEG;
    t->source->figures.encode_s += (double)spent * 1e-9;
    tap_publish(t, made);
    pthread_mutex_unlock(&t->feed->lock);
    return true;
}

static bool daemon_is_gone(int code)
{
    return code == PELTON_ERR_GONE || code == PELTON_ERR_NO_DAEMON || code == PELTON_ERR_PROTOCOL;
}

/* The daemon makes no JPEG files of this source: raw frames are asked for. A file would begin
 * again, so only where nothing has come of it. */
static bool tap_refused(struct feed_tap *t, int code)
{
    if (code != PELTON_ERR_UNSUPPORTED || !t->asks || (t->key.file && t->made))
        return false;
    log_line(LOG_LEVEL_DEBUG, "%s: the daemon makes no JPEG files of it", t->key.source);
    return t->refused = true;
}

/* Frames until the stream ends. False: the tap is over. */
static bool frames_follow(struct feed_tap *t, struct pelton *conn, struct pelton_stream *stream)
{
    while (!tap_over(t)) {
        struct pelton_frame frame;
        if (t->key.file)
            reader_await(t);
        int rc = pelton_next(stream, SLICE_MS, &frame);
        if (rc == PELTON_ERR_TIMEOUT) {
            tap_waits_set(t, pelton_waiting(stream));
        } else if (rc > 0) {
            bool good = frame_take(t, &frame);
            pelton_release(stream, &frame);
            if (!good)
                return false;
        } else if (rc < 0 && daemon_is_gone(rc) && !t->key.file) {
            tap_waits_set(t, pelton_failure(conn)->cause);
            t->refused = false; /* the next one may have another device */
            return true;
        } else if (tap_refused(t, rc)) {
            return true;
        } else {
            tap_end(t, rc ? FEED_FAILED : FEED_END, pelton_failure(conn));
            return false;
        }
    }
    return false;
}

/* Who makes JPEG files is decided here: the daemon does where its device can. It refuses what it
 * does not make: cameras give some sizes alone. */
static bool daemon_makes_files(const struct feed_tap *t, struct pelton *conn)
{
    const struct feed_key *k = &t->key;
    struct pelton_device device;
    return k->kind == FEED_JPEG && !t->refused && !k->pix_fmt[0] &&
           pelton_device(conn, &device) == 0 && device.encodes_jpeg;
}

static int tap_subscribe(struct feed_tap *t, struct pelton *conn, struct pelton_stream **out)
{
    char uri[160];
    struct pelton_open_params params;
    pelton_open_params_init(&params);
    snprintf(uri, sizeof(uri), "source:%s", t->key.source);
    params.uri = uri;
    params.pix_fmt = t->key.pix_fmt[0] ? t->key.pix_fmt : NULL;
    params.any_pix_fmt = true;
    params.policy = t->key.lossless ? PELTON_LOSSLESS : PELTON_LATEST;
    params.depth = t->key.lossless ? LOSSLESS_SLOTS : 0;
    params.max_fps = t->key.fps;
    params.on_error = PELTON_ON_ERROR_SHOW;
    t->asks = daemon_makes_files(t, conn);
    if (t->key.scaled || t->asks) {
        params.output.width = t->key.width;
        params.output.height = t->key.height;
    }
    params.encoded = t->asks;
    if (t->asks)
        params.encode = (struct pelton_encoding){
            .wanted = true, .codec = PELTON_CODEC_MJPEG, .quality = t->key.quality};
    return pelton_open_start(conn, &params, out);
}

/* One connection to the daemon. False: the tap is over. */
static bool tap_connect(struct feed_tap *t)
{
    struct pelton *conn = NULL;
    struct pelton_stream *stream = NULL;
    bool more = true;
    if (pelton_connect(t->feed->socket, CONNECT_MS, &conn) < 0) {
        tap_waits_set(t, pelton_failure(NULL)->cause);
        if (t->key.file)
            tap_end(t, FEED_FAILED, pelton_failure(NULL));
        nanosleep(&(struct timespec){.tv_nsec = SLICE_MS * 1000000}, NULL);
        return !t->key.file;
    }
    if (tap_subscribe(t, conn, &stream) < 0) {
        int code = pelton_failure(conn)->code;
        more = (daemon_is_gone(code) && !t->key.file) || tap_refused(t, code);
        if (!more)
            tap_end(t, FEED_FAILED, pelton_failure(conn));
    } else {
        more = frames_follow(t, conn, stream);
    }
    pelton_stream_close(stream);
    pelton_close(conn);
    return more;
}

/* Its readers still read what is in the ring. */
static void readers_await(struct feed_tap *t)
{
    struct feed *f = t->feed;
    pthread_mutex_lock(&f->lock);
    if (t->state == FEED_FRAME)
        tap_finish(t, FEED_END, NULL);
    while (t->readers)
        pthread_cond_wait(&t->news, &f->lock);
    *t->link = t->next;
    if (t->next)
        t->next->link = t->link;
    t->source->figures.taps--;
    for (unsigned i = 0; i < TAP_RING; i++)
        feed_drop(t->ring[i]);
    if (!f->first)
        pthread_cond_broadcast(&f->empty);
    pthread_mutex_unlock(&f->lock);
}

void *feed_loop_run(void *tap)
{
    struct feed_tap *t = tap;
    struct pelton_failure why = {.code = PELTON_ERR_NOMEM, .cause = "no memory"};
    t->encoder = feed_encoder_new(&t->key);
    if (!t->encoder)
        tap_end(t, FEED_FAILED, &why);
    while (t->encoder && !tap_over(t) && tap_connect(t)) {
    }
    log_line(LOG_LEVEL_DEBUG, "%s: a tap ends", t->key.source);
    feed_encoder_free(t->encoder);
    readers_await(t);
    pthread_cond_destroy(&t->news);
    free(t);
    return NULL;
}
