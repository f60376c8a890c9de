/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inputs. Files are opened here and passed by descriptor, so the daemon needs no right to read
 * them. Addresses go to the daemon as they are; messages show them without their password.
 */
#include "client/input.h"
#include "client/input_name.h"
#include "proto/near_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An address stays the caller's string; only its shown name needs memory. */
static int input_open_address(const char *name, struct client_input *out, struct failure *f)
{
    size_t size = strlen(name) + sizeof("***");
    *out = (struct client_input){.fd = -1, .uri = name, .hidden = malloc(size)};
    if (!out->hidden)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    out->name = input_shown_name(name, out->hidden, size);
    return 0;
}

static int check_file(int fd, const char *name, struct failure *f)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return fail_errno(f, X_INPUT, errno, name);
    if (S_ISDIR(st.st_mode))
        return fail_with(f, X_INPUT, "name a file in it", "%s: is a directory", name);
    if (S_ISREG(st.st_mode) && st.st_size == 0)
        return fail_with(f, X_INPUT, "the program that wrote it may have failed, or has not begun",
                         "%s: the file is empty", name);
    return 0;
}

int input_open(const char *name, struct client_input *out, struct failure *f)
{
    struct client_input s = {.fd = -1, .name = name};
    if (input_is_url(name) || strncmp(name, "source:", 7) == 0)
        return input_open_address(name, out, f);
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
        input_close(&s);
        return rc;
    }
    *out = s;
    return 0;
}

void input_close(struct client_input *s)
{
    if (s->owned && s->fd >= 0)
        close(s->fd);
    free(s->hidden);
    *s = (struct client_input){.fd = -1};
}

bool input_opens_again(const struct client_input *s)
{
    struct stat st;
    return s->uri || (fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode));
}

/* The number of frames after which the daemon stops. It counts frames before the policy, --max-fps
 * and --on-error leave some out. So the daemon counts only where every frame is written; elsewhere
 * the decode command counts. */
static uint64_t frames_for_daemon(const struct client_options *o, const struct client_input *s)
{
    bool file = s->fd >= 0, all = o->read.policy == PELTON_LOSSLESS &&
                                  o->read.on_error != PELTON_ON_ERROR_DROP &&
                                  o->read.max_fps <= 0 && !o->read.skip && !o->read.n_frames_at &&
                                  !o->read.not_before_ns;
    return file && all ? o->read.max_frames : 0;
}

void input_params(const struct client_options *o, const struct client_input *s,
                  struct pelton_open_params *out)
{
    *out = (struct pelton_open_params){
        .uri = s->uri,
        .fd = s->fd,
        .name = s->name,
        .policy = o->read.policy,
        .depth = o->read.policy == PELTON_FIFO ? o->read.waiting : o->read.depth,
        .start_us = o->read.start_us > 0 ? o->read.start_us : -1, /* from 0 on is from the start */
        .duration_us = o->read.duration_us,
        .max_fps = o->read.max_fps,
        .skip = o->read.skip,
        .wanted = o->read.frames_at,
        .n_wanted = o->read.n_frames_at,
        .video = o->read.video,
        .max_frames = frames_for_daemon(o, s),
        .on_error = o->read.on_error,
        .n_blur = o->read.n_blur,
        .output = o->read.output,
    };
    memcpy(out->blur, o->read.blur, sizeof(out->blur));
}

/* Waits in short slices, so that an interrupt is noticed. Says once why a source is absent. */
static int await_open(const struct client_options *o, struct pelton_stream *s,
                      struct pelton_info *info)
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

/* A name that is misspelt: the one that was meant comes into the hint. */
static void suggest_source(struct pelton *conn, const char *uri, struct failure *f)
{
    enum { PATIENCE_MS = 1000 };
    struct pelton_source *list = NULL;
    size_t n = 0;
    char hint[sizeof(f->hint)];
    if (f->code != X_INPUT || !conn || strncmp(uri, "source:", 7) != 0 ||
        !strstr(f->cause, "no source of this name") ||
        pelton_sources(conn, PATIENCE_MS, &list, &n) < 0)
        return;
    struct near_name near = near_name_of(uri + 7, strlen(uri + 7));
    for (size_t i = 0; i < n; i++)
        near_name_try_name(&near, list[i].name);
    free(list);
    near_name_hint(&near, f->hint, hint, sizeof(hint));
    memcpy(f->hint, hint, sizeof(hint));
}

/* A daemon that is not the user's own opens no addresses; a private one does. */
static void suggest_private(const char *uri, struct failure *f)
{
    if (f->code == X_PERMISSION && strncmp(uri, "source:", 7) != 0 &&
        strstr(f->cause, "opens no addresses"))
        snprintf(f->hint, sizeof(f->hint), "%s",
                 "--device auto starts a daemon of your own for it; or name it in the "
                 "configuration");
}

int input_subscribe(const struct client_options *o, struct pelton *conn,
                    const struct pelton_open_params *params, const char *name,
                    struct pelton_info *info, struct pelton_stream **out, struct failure *f)
{
    struct pelton_stream *s = NULL;
    int rc = pelton_open_start(conn, params, &s);
    rc = rc < 0 ? rc : await_open(o, s, info);
    if (rc < 0) {
        rc = interrupted() ? interrupted() : fail_pelton(f, conn, name);
        if (params->uri) {
            suggest_source(conn, params->uri, f);
            suggest_private(params->uri, f);
        }
        pelton_stream_close(s);
        return rc;
    }
    *out = s;
    return 0;
}

static bool is_name(const char *text)
{
    return !strstr(text, "://") && strncmp(text, "source:", 7) != 0 && strcmp(text, "-") != 0 &&
           access(text, F_OK) < 0;
}

/* A plain word is a name of the configuration. The first input becomes its address, in buffer. */
int input_resolve_name(struct client_options *o, char *buffer, size_t size, struct failure *f)
{
    if (o->n_inputs == 0) {
        return fail_with(f, X_USAGE, "pelton sources lists the names; sim://clip.mp4 is an address",
                         "no source named");
    }
    if (is_name(o->inputs[0])) {
        snprintf(buffer, size, "source:%s", o->inputs[0]);
        o->inputs[0] = buffer;
    }
    return 0;
}

void input_tell_sound(const char *name, const struct pelton_info *info)
{
    if (info->sounds)
        ui_log(LOG_INFO, "%s: its sound is left out", name);
}
