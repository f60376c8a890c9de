/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton sources, info, get, set, pipe, snapshot, view: named sources of a daemon, and cameras by
 * their address.
 *
 * The happy path of a question is a connection and a stream without frames. That of pipe, snapshot
 * and view is the decode command with a live source's habits: the newest frame, for as long as the
 * source lasts. The failure modes are those of the daemon, an unknown name or control, and for view
 * a missing ffplay.
 */
#include "client/commands.h"
#include "client/input.h"
#include "client/json.h"
#include "client/source_state.h"
#include "client/ui.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_name(const char *text)
{
    return !strstr(text, "://") && strncmp(text, "source:", 7) != 0 && access(text, F_OK) < 0;
}

/* A plain word is a name of the configuration. The first input becomes its address, in buffer. */
static int input_resolve_name(struct client_options *o, char *buffer, size_t size,
                              struct failure *f)
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

/* ---- sources ---- */

static void print_source(const struct pelton_source *s, struct json *j)
{
    double fps = s->frame_rate.den ? (double)s->frame_rate.num / s->frame_rate.den : 0;
    if (j) {
        json_open(j, NULL, '{');
        json_text(j, "name", s->name);
        json_text(j, "uri", s->uri);
        json_text(j, "state", source_state_name(s->state));
        json_text(j, "cause", s->cause);
        json_int(j, "readers", s->readers);
        json_text(j, "codec", s->codec);
        json_text(j, "format", s->format);
        json_int(j, "width", s->width);
        json_int(j, "height", s->height);
        json_number(j, "fps", fps);
        json_close(j, '}');
        return;
    }
    char format[128] = "";
    if (s->width) {
        snprintf(format, sizeof(format), "  %s %s %ux%u %g fps", s->codec, s->format, s->width,
                 s->height, fps);
    }
    printf("%-20s %-8s %3u readers  %s%s%s%s\n", s->name, source_state_name(s->state), s->readers,
           s->uri, format, s->cause[0] ? "  " : "", s->cause);
}

/* Prints changes until an interrupt. */
static int watch_sources(const struct client_options *o, struct pelton *conn, struct failure *f)
{
    enum { SLICE_MS = 200 };
    struct pelton_source source;
    int rc = pelton_sources_watch(conn, timeout_ms(o));
    interrupts_catch();
    while (rc >= 0 && !interrupted()) {
        rc = pelton_sources_next(conn, SLICE_MS, &source);
        if (rc == PELTON_ERR_TIMEOUT) {
            rc = 0;
            continue;
        }
        struct json j = {.file = stdout, .compact = true};
        if (rc > 0) {
            print_source(&source, o->json ? &j : NULL);
            if (fflush(stdout) != 0)
                return fail_errno(f, X_OTHER, errno, "standard output");
        }
    }
    return rc < 0 ? fail_pelton(f, conn, "sources") : interrupted();
}

static int list_sources(const struct client_options *o, struct pelton *conn, struct failure *f)
{
    struct pelton_source *list = NULL;
    size_t n = 0;
    struct json j = {.file = stdout};
    if (pelton_sources(conn, timeout_ms(o), &list, &n) < 0)
        return fail_pelton(f, conn, "sources");
    if (o->json)
        json_open(&j, NULL, '[');
    for (size_t i = 0; i < n; i++)
        print_source(&list[i], o->json ? &j : NULL);
    if (o->json)
        json_close(&j, ']');
    else if (n == 0)
        ui_log(LOG_INFO, "the daemon's configuration names no sources");
    free(list);
    return 0;
}

int cmd_sources(struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    int rc = connection_open(o, &conn, f);
    rc = rc ? rc : o->camera.watch ? watch_sources(o, conn, f) : list_sources(o, conn, f);
    pelton_close(conn);
    return rc;
}

/* ---- questions to one source ---- */

struct asked {
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_info info;
    struct pelton_control controls[PELTON_MAX_CONTROLS];
    uint32_t n;
    char name[512];  /* its address */
    char shown[512]; /* the same without a password */
};

static void asked_close(struct asked *a)
{
    pelton_stream_close(a->stream);
    pelton_close(a->conn);
}

static int asked_open(struct client_options *o, struct asked *a, struct failure *f)
{
    struct client_input source = {.fd = -1};
    struct pelton_open_params params;
    int rc = input_resolve_name(o, a->name, sizeof(a->name), f);
    rc = rc ? rc : input_open(o->inputs[0], &source, f);
    if (rc)
        return rc;
    snprintf(a->shown, sizeof(a->shown), "%s", source.name);
    input_params(o, &source, &params);
    params.bench.transport = PELTON_NONE;
    rc = connection_open(o, &a->conn, f);
    rc = rc ? rc : input_subscribe(o, a->conn, &params, source.name, &a->info, &a->stream, f);
    input_close(&source);
    return rc;
}

static bool wanted(const struct client_options *o, const char *name)
{
    for (unsigned i = 1; i < o->n_inputs; i++)
        if (!strcmp(o->inputs[i], name))
            return true;
    return o->n_inputs <= 1;
}

static void print_control(const struct pelton_control *c, struct json *j)
{
    if (j) {
        json_open(j, c->name, '[');
        for (uint32_t i = 0; i < c->n; i++)
            json_number(j, NULL, c->value[i]);
        json_close(j, ']');
        return;
    }
    printf("%s=%g", c->name, c->value[0]);
    for (uint32_t i = 1; i < c->n; i++)
        printf(",%g", c->value[i]);
    printf("  (%g..%g)\n", c->least, c->most);
}

static int print_controls(const struct client_options *o, const struct asked *a, struct failure *f)
{
    struct json j = {.file = stdout};
    for (unsigned i = 1; i < o->n_inputs; i++) {
        uint32_t k = 0;
        while (k < a->n && strcmp(a->controls[k].name, o->inputs[i]) != 0)
            k++;
        if (k == a->n) {
            return fail_with(f, X_USAGE, "pelton get NAME lists them", "%s: no such control",
                             o->inputs[i]);
        }
    }
    if (o->json)
        json_open(&j, NULL, '{');
    for (uint32_t i = 0; i < a->n; i++)
        if (wanted(o, a->controls[i].name))
            print_control(&a->controls[i], o->json ? &j : NULL);
    if (o->json)
        json_close(&j, '}');
    return 0;
}

int cmd_get(struct client_options *o, struct failure *f)
{
    struct asked a = {0};
    int rc = asked_open(o, &a, f);
    if (rc == 0 && pelton_controls(a.stream, timeout_ms(o), NULL, 0, a.controls, &a.n) < 0)
        rc = fail_pelton(f, a.conn, a.shown);
    rc = rc ? rc : print_controls(o, &a, f);
    asked_close(&a);
    return rc;
}

/* Name=1 or Name=1,2; true and false are 1 and 0. */
static int parse_control(const char *text, struct pelton_control *out, struct failure *f)
{
    const char *at = strchr(text, '=');
    *out = (struct pelton_control){0};
    if (!at || at == text || (size_t)(at - text) >= sizeof(out->name)) {
        return fail_with(f, X_USAGE, "as in: pelton set front ExposureTime=5000",
                         "%s: expected Control=Value", text);
    }
    memcpy(out->name, text, (size_t)(at - text));
    for (at++;; at++) {
        char *end = (char *)at;
        bool yes = !strncmp(at, "true", 4), no = !strncmp(at, "false", 5);
        double value = yes || no ? yes : strtod(at, &end);
        end += yes ? 4 : no ? 5 : 0;
        if (end == at || (*end && *end != ',') || out->n == PELTON_CONTROL_VALUES) {
            return fail_with(f, X_USAGE, "numbers, true or false, with commas between",
                             "%s: not understood", text);
        }
        out->value[out->n++] = value;
        at = end;
        if (!*at)
            return 0;
    }
}

int cmd_set(struct client_options *o, struct failure *f)
{
    struct asked a = {0};
    struct pelton_control set[PELTON_MAX_CONTROLS];
    uint32_t n = o->n_inputs > 0 ? o->n_inputs - 1 : 0;
    if (n == 0 || n > PELTON_MAX_CONTROLS) {
        return fail_with(f, X_USAGE, "as in: pelton set front ExposureTime=5000",
                         n ? "more controls than there are" : "nothing to set");
    }
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = parse_control(o->inputs[i + 1], &set[i], f);
    rc = rc ? rc : asked_open(o, &a, f);
    if (rc == 0 && pelton_controls(a.stream, timeout_ms(o), set, n, a.controls, &a.n) < 0)
        rc = fail_pelton(f, a.conn, a.shown);
    for (uint32_t i = 0; rc == 0 && i < a.n; i++) {
        for (uint32_t k = 0; k < n; k++)
            if (!strcmp(a.controls[i].name, set[k].name))
                print_control(&a.controls[i], NULL);
    }
    asked_close(&a);
    return rc;
}

int cmd_info(struct client_options *o, struct failure *f)
{
    struct asked a = {0};
    struct json j = {.file = stdout};
    int rc = asked_open(o, &a, f);
    const struct pelton_info *i = &a.info;
    if (rc == 0 && o->json) {
        json_open(&j, NULL, '{');
        json_text(&j, "kind", i->container);
        json_text(&j, "format", i->profile);
        json_text(&j, "pix_fmt", i->pix_fmt);
        json_int(&j, "width", i->width);
        json_int(&j, "height", i->height);
        json_number(&j, "fps",
                    i->frame_rate.den ? (double)i->frame_rate.num / i->frame_rate.den : 0);
    } else if (rc == 0) {
        printf("%s: %s, %s, %ux%u, %g fps, leaves as %s\n", a.shown, i->container, i->profile,
               i->width, i->height,
               i->frame_rate.den ? (double)i->frame_rate.num / i->frame_rate.den : 0, i->pix_fmt);
    }
    /* only cameras have them */
    if (rc == 0 && pelton_controls(a.stream, timeout_ms(o), NULL, 0, a.controls, &a.n) == 0)
        for (uint32_t k = 0; k < a.n; k++)
            print_control(&a.controls[k], o->json ? &j : NULL);
    if (rc == 0 && o->json)
        json_close(&j, '}');
    asked_close(&a);
    return rc;
}

/* ---- frames ---- */

/* Files can wait for their reader. */
static bool is_live(const char *name)
{
    return strncmp(name, "source:", 7) == 0 ||
           (strstr(name, "://") && strncmp(name, "file://", 7) != 0);
}

static int frames_of(struct client_options *o, const char *format, struct failure *f)
{
    char name[512]; /* valid until the decode command returns */
    int rc = input_resolve_name(o, name, sizeof(name), f);
    if (rc)
        return rc;
    o->n_inputs = 1;
    o->write.format = o->write.format || o->write.path ? o->write.format : format;
    o->write.path = o->write.path ? o->write.path : "-";
    if (!o->read.policy_given)
        o->read.policy = is_live(o->inputs[0]) ? PELTON_LATEST : PELTON_LOSSLESS;
    return cmd_decode(o, f);
}

int cmd_pipe(struct client_options *o, struct failure *f)
{
    return frames_of(o, "yuv4mpegpipe", f);
}

int cmd_snapshot(struct client_options *o, struct failure *f)
{
    if (!o->write.path) {
        return fail_with(f, X_USAGE, "as in: pelton snapshot front -o now.png",
                         "no output: -o is missing");
    }
    o->read.max_frames = 1;
    o->read.not_before_ns = o->camera.after_now ? now_ns() : 0;
    return frames_of(o, "image2", f);
}

/* Without a display ffplay runs on and shows nothing. */
static bool has_display(void)
{
    return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || getenv("SDL_VIDEODRIVER");
}

int cmd_view(struct client_options *o, struct failure *f)
{
    if (!has_display()) {
        return fail_with(f, X_OTHER,
                         "pelton snapshot NAME -o now.png writes a picture, pelton pipe NAME all "
                         "of them; on a console: SDL_VIDEODRIVER=kmsdrm",
                         "no display: DISPLAY and WAYLAND_DISPLAY are not set");
    }
    char *const argv[] = {"ffplay",   "-hide_banner", "-loglevel",    "error", "-fflags",
                          "nobuffer", "-f",           "yuv4mpegpipe", "-",     NULL};
    posix_spawn_file_actions_t actions;
    int pipe_fds[2], error;
    pid_t child;
    if (pipe(pipe_fds) < 0)
        return fail_errno(f, X_OTHER, errno, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[0], STDIN_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_fds[1]);
    error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[0]);
    if (error) {
        close(pipe_fds[1]);
        return fail_with(f, X_OTHER, "install ffmpeg, or: pelton pipe NAME | another viewer",
                         "ffplay: %s", strerror(error));
    }
    dup2(pipe_fds[1], STDOUT_FILENO); /* the frames' way out */
    close(pipe_fds[1]);
    o->write.path = "-";
    o->write.format = "yuv4mpegpipe";
    int rc = frames_of(o, o->write.format, f);
    close(STDOUT_FILENO);
    waitpid(child, NULL, 0);
    if (rc == X_SIGPIPE) { /* the window was closed */
        *f = (struct failure){0};
        rc = X_SUCCESS;
    }
    return rc;
}
