/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/reader_link.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CONNECT_MS = 10000, SPAWN_MS = 60000, OPEN_MS = 60000 };

struct daemon_link {
    gatomicrefcount refs;
    GMutex lock; /* of conn and of all its streams */
    struct pelton *conn;
    int wake; /* eventfd: a wait looks again */
    atomic_bool flushing;
};

struct stream_link {
    gatomicrefcount refs;
    struct daemon_link *daemon;
    struct pelton_stream *stream;
    atomic_int held;
};

/* ---- words ---- */

/* GStreamer's class of an error of libpelton. */
static const struct {
    int code;
    bool stream; /* the domain: else resource */
    int word;
} classes[] = {
    {PELTON_ERR_INPUT, false, GST_RESOURCE_ERROR_NOT_FOUND},
    {PELTON_ERR_NOT_FOUND, false, GST_RESOURCE_ERROR_NOT_FOUND},
    {PELTON_ERR_UNSUPPORTED, true, GST_STREAM_ERROR_WRONG_TYPE},
    {PELTON_ERR_DECODE, true, GST_STREAM_ERROR_DECODE},
    {PELTON_ERR_PERMISSION, false, GST_RESOURCE_ERROR_NOT_AUTHORIZED},
    {PELTON_ERR_AUTH, false, GST_RESOURCE_ERROR_NOT_AUTHORIZED},
    {PELTON_ERR_BUSY, false, GST_RESOURCE_ERROR_BUSY},
    {PELTON_ERR_USAGE, false, GST_RESOURCE_ERROR_SETTINGS},
    {PELTON_ERR_NO_DAEMON, false, GST_RESOURCE_ERROR_OPEN_READ},
    {PELTON_ERR_NO_DEVICE, false, GST_RESOURCE_ERROR_OPEN_READ},
    {PELTON_ERR_REFUSED, false, GST_RESOURCE_ERROR_OPEN_READ},
    {PELTON_ERR_DNS, false, GST_RESOURCE_ERROR_OPEN_READ},
    {0, false, GST_RESOURCE_ERROR_READ}, /* all others */
};

static void failure_post(GstElement *element, const struct pelton_failure *f)
{
    size_t i = 0;
    while (classes[i].code && classes[i].code != f->code)
        i++;
    gst_element_message_full(
        element, GST_MESSAGE_ERROR, classes[i].stream ? GST_STREAM_ERROR : GST_RESOURCE_ERROR,
        classes[i].word, g_strdup(f->cause), g_strdup(f->hint), __FILE__, __func__, __LINE__);
}

void stream_link_complain(struct stream_link *stream, GstElement *element)
{
    struct daemon_link *daemon = stream->daemon;
    g_mutex_lock(&daemon->lock);
    struct pelton_failure f = *pelton_failure(daemon->conn);
    g_mutex_unlock(&daemon->lock);
    failure_post(element, &f);
}

/* ---- the daemon ---- */

static int connection_make(const char *socket, bool alone, struct pelton **conn)
{
    int rc = pelton_connect(socket, CONNECT_MS, conn);
    if (rc == PELTON_ERR_NO_DAEMON && alone && !socket && !getenv("PELTON_SOCKET"))
        rc = pelton_spawn(NULL, SPAWN_MS, conn);
    return rc;
}

struct daemon_link *daemon_link_open(GstElement *element, const char *socket, bool alone)
{
    struct pelton *conn = NULL;
    if (connection_make(socket, alone, &conn) < 0) {
        failure_post(element, pelton_failure(NULL));
        return NULL;
    }
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake < 0) {
        GST_ELEMENT_ERROR(element, RESOURCE, FAILED, ("%s", g_strerror(errno)), (NULL));
        pelton_close(conn);
        return NULL;
    }
    struct daemon_link *daemon = g_new0(struct daemon_link, 1);
    g_atomic_ref_count_init(&daemon->refs);
    g_mutex_init(&daemon->lock);
    daemon->conn = conn;
    daemon->wake = wake;
    return daemon;
}

void daemon_link_unref(struct daemon_link *daemon)
{
    if (!daemon || !g_atomic_ref_count_dec(&daemon->refs))
        return;
    pelton_close(daemon->conn);
    close(daemon->wake);
    g_mutex_clear(&daemon->lock);
    g_free(daemon);
}

static void daemon_wake(struct daemon_link *daemon)
{
    (void)!write(daemon->wake, &(uint64_t){1}, sizeof(uint64_t));
}

void daemon_link_flush(struct daemon_link *daemon, bool flushing)
{
    atomic_store(&daemon->flushing, flushing);
    daemon_wake(daemon);
}

/* ---- a stream ---- */

struct stream_link *stream_link_open(GstElement *element, struct daemon_link *daemon,
                                     const struct pelton_open_params *params)
{
    struct pelton_stream *opened = NULL;
    g_mutex_lock(&daemon->lock);
    int rc = pelton_open_start(daemon->conn, params, &opened);
    struct pelton_failure f = *pelton_failure(daemon->conn);
    g_mutex_unlock(&daemon->lock);
    if (rc < 0) {
        failure_post(element, &f);
        return NULL;
    }
    struct stream_link *stream = g_new0(struct stream_link, 1);
    g_atomic_ref_count_init(&stream->refs);
    g_atomic_ref_count_inc(&daemon->refs);
    stream->daemon = daemon;
    stream->stream = opened;
    return stream;
}

struct stream_link *stream_link_ref(struct stream_link *stream)
{
    g_atomic_ref_count_inc(&stream->refs);
    return stream;
}

/* Closing reads the connection, and may take news of another stream off the socket: its reader
 * looks again. */
void stream_link_unref(struct stream_link *stream)
{
    if (!stream || !g_atomic_ref_count_dec(&stream->refs))
        return;
    struct daemon_link *daemon = stream->daemon;
    g_mutex_lock(&daemon->lock);
    pelton_stream_close(stream->stream);
    g_mutex_unlock(&daemon->lock);
    daemon_wake(daemon);
    g_free(stream);
    daemon_link_unref(daemon);
}

static void news_wait(struct daemon_link *daemon)
{
    struct pollfd fds[2] = {{.fd = pelton_fd(daemon->conn), .events = POLLIN},
                            {.fd = daemon->wake, .events = POLLIN}};
    uint64_t wakes;
    if (poll(fds, 2, -1) > 0 && fds[1].revents)
        (void)!read(daemon->wake, &wakes, sizeof(wakes));
}

int stream_link_next(struct stream_link *stream, struct pelton_frame *frame)
{
    struct daemon_link *daemon = stream->daemon;
    while (!atomic_load(&daemon->flushing)) {
        g_mutex_lock(&daemon->lock);
        int rc = pelton_next(stream->stream, 0, frame);
        g_mutex_unlock(&daemon->lock);
        if (rc != PELTON_ERR_TIMEOUT)
            return rc;
        news_wait(daemon);
    }
    return PELTON_ERR_TIMEOUT;
}

void stream_link_release(struct stream_link *stream, const struct pelton_frame *frame)
{
    g_mutex_lock(&stream->daemon->lock);
    pelton_release(stream->stream, frame);
    g_mutex_unlock(&stream->daemon->lock);
}

int stream_link_info(struct stream_link *stream, struct pelton_info *info)
{
    g_mutex_lock(&stream->daemon->lock);
    int rc = pelton_open_wait(stream->stream, OPEN_MS, info);
    g_mutex_unlock(&stream->daemon->lock);
    return rc;
}

bool stream_link_lend(struct stream_link *stream)
{
    if (atomic_fetch_add(&stream->held, 1) < STREAM_LINK_HELD)
        return true;
    atomic_fetch_sub(&stream->held, 1);
    return false;
}

void stream_link_return(struct stream_link *stream)
{
    atomic_fetch_sub(&stream->held, 1);
}
