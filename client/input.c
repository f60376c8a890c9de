/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Connections and inputs. Files are opened here and passed by descriptor, so that a daemon needs no
 * right to read them.
 */
#include "client/input.h"
#include "client/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_SOCKET "/run/pelton/pelton.sock"

enum { CONNECT_MS = 10000, SPAWN_MS = 60000 };

void announce_device(const struct pelton_device *device)
{
    static bool told;
    if (device->software && !told) {
        told = true;
        ui_log(LOG_WARNING, "%s is a software device: slow", device->name);
    }
}

static int log_descriptor(const struct options *o)
{
    if (ui_says(LOG_VERBOSE) || o->gpu_debug)
        return -1;
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static int spawn(const struct options *o, struct pelton **out, struct failure *f)
{
    const char *extra[MAX_CONFIG + 3];
    unsigned n = 0;
    for (unsigned i = 0; i < o->n_config; i++)
        extra[n++] = o->config[i];
    if (o->lookahead_given)
        extra[n++] = o->lookahead;
    if (o->stages)
        extra[n++] = "timestamps=true";
    extra[n] = NULL;
    int log_fd = log_descriptor(o);
    struct pelton_spawn_params params = {.device = o->device, .extra = extra, .log_fd = log_fd};
    int rc = pelton_spawn(&params, SPAWN_MS, out);
    if (log_fd >= 0)
        close(log_fd);
    return rc < 0 ? fail_pelton(f, NULL, NULL) : 0;
}

/* What can only be asked of a daemon of our own. */
static bool wants_private(const struct options *o)
{
    return o->device_given || o->n_config > 0 || o->lookahead_given || o->stages;
}

static int check_private(const struct options *o, struct failure *f)
{
    if (o->n_config > 0 || o->lookahead_given) {
        return fail_with(f, X_USAGE, "set it in that daemon's configuration, or leave --socket out",
                         "%s: -c and --lookahead are for a private daemon", o->socket);
    }
    return 0;
}

static int connect_or_spawn(const struct options *o, struct pelton **out, struct failure *f)
{
    const char *env = getenv("PELTON_SOCKET");
    const char *path = o->socket ? o->socket : !wants_private(o) && env && env[0] ? env : NULL;
    if (path) {
        int rc = o->socket ? check_private(o, f) : 0;
        return rc ? rc : pelton_connect(path, CONNECT_MS, out) < 0 ? fail_pelton(f, NULL, path) : 0;
    }
    if (!wants_private(o) && access(SYSTEM_SOCKET, R_OK | W_OK) == 0) {
        int rc = pelton_connect(SYSTEM_SOCKET, CONNECT_MS, out);
        if (rc == 0)
            return 0;
        ui_log(LOG_WARNING, "%s: %s; starting a private daemon", SYSTEM_SOCKET,
               pelton_failure(NULL)->cause);
    }
    return spawn(o, out, f);
}

int connection_open(const struct options *o, struct pelton **out, struct failure *f)
{
    struct pelton *conn;
    int rc = connect_or_spawn(o, &conn, f);
    if (rc == 0)
        *out = conn;
    return rc;
}

/* scheme://, as RFC 3986 spells a scheme */
static bool is_url(const char *name)
{
    const char *colon = strstr(name, "://");
    if (!colon || colon == name)
        return false;
    for (const char *p = name; p < colon; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        bool other = (*p >= '0' && *p <= '9') || *p == '+' || *p == '-' || *p == '.';
        if (!letter && !(other && p > name))
            return false;
    }
    return true;
}

/* What messages call an address: without its password. */
static const char *public_name(const char *uri)
{
    static char name[1024];
    const char *host = strstr(uri, "://") + 3, *end = host + strcspn(host, "/?#"), *at = NULL;
    for (const char *p = host; p < end; p++)
        at = *p == '@' ? p : at;
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (!colon)
        return uri;
    snprintf(name, sizeof(name), "%.*s:***%s", (int)(colon - uri), uri, at);
    return name;
}

static int check_file(int fd, const char *name, struct failure *f)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail_errno(f, X_INPUT, errno, name);
    if (S_ISDIR(st.st_mode))
        return fail_with(f, X_INPUT, "name a file in it", "%s: is a directory", name);
    if (S_ISREG(st.st_mode) && st.st_size == 0)
        return fail_with(f, X_INPUT, "see what was to write it", "%s: the file is empty", name);
    return 0;
}

int source_open(const char *name, struct source *out, struct failure *f)
{
    struct source s = {.fd = -1, .name = name};
    if (is_url(name) || strncmp(name, "source:", 7) == 0) {
        s.uri = name;
        s.name = is_url(name) ? public_name(name) : name;
        *out = s;
        return 0;
    }
    if (strcmp(name, "-") == 0) {
        if (isatty(STDIN_FILENO)) {
            return fail_with(f, X_USAGE, "as in: pelton decode -i - -o out.y4m < clip.264",
                             "standard input is a terminal");
        }
        s.fd = STDIN_FILENO;
        s.name = "standard input";
    } else {
        s.fd = open(name, O_RDONLY | O_CLOEXEC);
        if (s.fd < 0)
            return fail_errno(f, X_INPUT, errno, name);
        s.owned = true;
    }
    int rc = check_file(s.fd, s.name, f);
    if (rc) {
        source_close(&s);
        return rc;
    }
    *out = s;
    return 0;
}

void source_close(struct source *s)
{
    if (s->owned && s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

int timeout_ms(const struct options *o)
{
    return o->timeout <= 0 ? -1 : o->timeout > 2000000 ? 2000000000 : (int)(o->timeout * 1000);
}

/* What the daemon stops after, so that it decodes nothing in vain: it counts before the policy and
 * the like leave frames out, so only where each frame that it counts is written. Elsewhere
 * decode_loop counts those that are. */
static uint64_t counted_by_daemon(const struct options *o, const struct source *s)
{
    bool file = s->fd >= 0, all = o->policy == PELTON_LOSSLESS &&
                                  o->on_error != PELTON_ON_ERROR_DROP && o->max_fps <= 0 &&
                                  !o->not_before_ns;
    return file && all ? o->max_frames : 0;
}

void source_params(const struct options *o, const struct source *s, struct pelton_open_params *out)
{
    *out = (struct pelton_open_params){
        .uri = s->uri,
        .fd = s->fd,
        .name = s->name,
        .policy = o->policy,
        .depth = o->policy == PELTON_FIFO ? o->waiting : o->depth,
        .start_us = o->start_us > 0 ? o->start_us : -1, /* from 0 on is from the start */
        .duration_us = o->duration_us,
        .max_fps = o->max_fps,
        .max_frames = counted_by_daemon(o, s),
        .on_error = o->on_error,
        .n_blur = o->n_blur,
    };
    memcpy(out->blur, o->blur, sizeof(out->blur));
}

/* In slices of time, so that an interrupt is noticed; says once what is waited for. */
static int await_open(const struct options *o, struct pelton_stream *s, struct pelton_info *info)
{
    enum { SLICE_MS = 200, PATIENCE_MS = 2000 };
    int64_t start = now_ns(), waited_ms = 0,
            limit_ms = timeout_ms(o) < 0 ? INT64_MAX : timeout_ms(o);
    bool told = false;
    for (;;) {
        int64_t left = limit_ms - waited_ms;
        int rc = pelton_open_wait(s, left > SLICE_MS ? SLICE_MS : left > 0 ? (int)left : 0, info);
        waited_ms = (now_ns() - start) / 1000000;
        if (rc != PELTON_ERR_TIMEOUT || waited_ms >= limit_ms || interrupted())
            return rc;
        if (!told && waited_ms >= PATIENCE_MS && pelton_waiting(s)) {
            ui_log(LOG_WARNING, "%s; waiting for it", plain_name(pelton_waiting(s)));
            told = true;
        }
    }
}

int source_stream(const struct options *o, struct pelton *conn,
                  const struct pelton_open_params *params, const char *name,
                  struct pelton_info *info, struct pelton_stream **out, struct failure *f)
{
    struct pelton_stream *s = NULL;
    int rc = pelton_open_start(conn, params, &s);
    rc = rc < 0 ? rc : await_open(o, s, info);
    if (rc < 0) {
        rc = interrupted() ? interrupted() : fail_pelton(f, conn, name);
        pelton_stream_close(s);
        return rc;
    }
    *out = s;
    return 0;
}
