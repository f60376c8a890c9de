/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton stats, top, reload, stop: for a daemon that others use.
 *
 * The happy path is a connection, a question, its answer on standard output; top asks once a
 * second. The failure modes are no daemon and no right to ask.
 */
#include "client/columns.h"
#include "client/commands.h"
#include "client/input.h"
#include "proto/json.h"
#include "client/limits_report.h"
#include "client/memory_report.h"
#include "client/source_state.h"
#include "client/ui.h"
#include "proto/socket_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Connects only to a running daemon: a private one would end with the command. */
static int shared_open(struct client_options *o, struct pelton **conn, struct failure *f)
{
    const char *path = o->connect.socket ? o->connect.socket : socket_named();
    int rc = pelton_connect(path, timeout_ms(o), conn);
    if (rc == PELTON_ERR_NO_DAEMON) {
        return fail_with(
            f, X_NO_DAEMON,
            "systemctl start peltond, or run peltond, or name its socket with --socket", "%s",
            pelton_failure(NULL)->cause);
    }
    return rc < 0 ? fail_pelton(f, NULL, path) : 0;
}

int cmd_reload(struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    struct pelton_reloaded done;
    int rc = shared_open(o, &conn, f);
    if (rc == 0 && pelton_reload(conn, timeout_ms(o), &done) < 0) {
        rc = fail_pelton(f, conn, NULL);
    } else if (rc == 0) {
        printf("sources: %u added, %u removed, %u changed, %u as before\n", done.added,
               done.removed, done.changed, done.kept);
        if (done.note[0])
            ui_log(LOG_WARNING, "%s", done.note);
    }
    pelton_close(conn);
    return rc;
}

int cmd_stop(struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    int rc = shared_open(o, &conn, f);
    if (rc == 0 && pelton_shutdown(conn, timeout_ms(o)) < 0)
        rc = fail_pelton(f, conn, NULL);
    pelton_close(conn);
    return rc;
}

/* ---- stats and top ---- */

struct overview {
    struct pelton_status status;
    const char *socket;
    struct pelton_stream_status *streams;
    size_t n;
    int64_t asked_ns;
};

static void policy_text(const struct pelton_stream_status *s, char out[24])
{
    if (s->policy == PELTON_FIFO && s->depth) {
        snprintf(out, 24, "fifo:%u", s->depth);
    } else {
        snprintf(out, 24, "%s",
                 s->policy == PELTON_LATEST ? "latest"
                 : s->policy == PELTON_FIFO ? "fifo"
                                            : "lossless");
    }
}

static const struct pelton_stream_status *find_stream(const struct overview *o, uint64_t id)
{
    for (size_t i = 0; o && i < o->n; i++)
        if (o->streams[i].id == id)
            return &o->streams[i];
    return NULL;
}

static uint64_t missed(const struct pelton_stream_status *s)
{
    return s->dropped_source + s->dropped_decoder + s->dropped_client;
}

/* Frames per second since the last time; negative: the stream is new. */
static double rate(const struct overview *before, const struct overview *now,
                   const struct pelton_stream_status *s)
{
    const struct pelton_stream_status *old = find_stream(before, s->id);
    if (!old)
        return -1;
    double seconds = (double)(now->asked_ns - before->asked_ns) * 1e-9;
    return seconds > 0 ? (double)(s->frames - old->frames) / seconds : -1;
}

static void print_head(const struct overview *o)
{
    const struct pelton_status *s = &o->status;
    uint64_t seconds = s->up_ms / 1000;
    printf("%s, up %llu:%02llu:%02llu, at %s\n%u of %u clients, %u of %u streams%s%s%s\n",
           s->server, (unsigned long long)(seconds / 3600), (unsigned long long)(seconds / 60 % 60),
           (unsigned long long)(seconds % 60), o->socket, s->n_clients, s->most_clients,
           s->n_streams, s->most_streams, s->device[0] ? ", " : "", s->device,
           !s->device[0] || !s->software ? ""
           : s->libavcodec               ? " (no GPU)"
                                         : " (software)");
    if (s->device[0])
        memory_print("memory: ", s->worker_gpu, s->worker_host);
}

static const struct column stream_columns[] = {
    {.title = "STREAM", .least = 10},
    {.title = "STATE"},
    {.title = "READER", .least = 6, .rank = 3},
    {.title = "PID", .right = true, .rank = 4},
    {.title = "POLICY", .rank = 6},
    {.title = "FORMAT"},
    {.title = "FRAMES", .right = true},
    {.title = "FPS", .right = true},
    {.title = "WAIT", .right = true, .rank = 8},
    {.title = "HELD", .right = true, .rank = 5},
    {.title = "AGE ms", .right = true, .rank = 1},
    {.title = "MISSED", .right = true},
    {.title = "(LATE)", .right = true, .rank = 7},
    {.title = "RESTARTS", .right = true, .rank = 9},
    {.title = "GPU-ENTROPY", .right = true, .rank = 10},
};

static void add_format(struct columns *c, const struct pelton_stream_status *s)
{
    if (s->width)
        columns_cell(c, UI_PLAIN, "%s %ux%u", s->pix_fmt, s->width, s->height);
    else
        columns_cell(c, UI_PLAIN, "%s", "");
}

/* fps: negative where it is not known. */
static void add_figures(struct columns *c, const struct pelton_stream_status *s, double fps)
{
    uint64_t lost = missed(s);
    columns_cell(c, UI_PLAIN, "%llu", (unsigned long long)s->frames);
    columns_cell(c, UI_PLAIN, fps < 0 ? "" : "%.1f", fps);
    columns_cell(c, UI_PLAIN, "%u", s->waiting);
    columns_cell(c, UI_PLAIN, "%u/%u", s->held, s->slots);
    columns_cell(c, UI_PLAIN, "%.1f", (double)s->age_ns * 1e-6);
    columns_cell(c, lost ? UI_YELLOW : UI_PLAIN, "%llu", (unsigned long long)lost);
    columns_cell(c, UI_PLAIN, "%llu", (unsigned long long)s->dropped_client);
    columns_cell(c, UI_PLAIN, "%llu", (unsigned long long)s->restarts);
    if (s->gpu_entropy_pictures) {
        columns_cell(c, UI_PLAIN, "%llu in %.2f s", (unsigned long long)s->gpu_entropy_pictures,
                     s->gpu_entropy);
    } else {
        columns_cell(c, UI_PLAIN, "%s", "");
    }
}

static void print_streams(const struct overview *before, const struct overview *now)
{
    const unsigned n = sizeof(stream_columns) / sizeof(stream_columns[0]);
    struct columns *c = columns_new(stream_columns, n);
    print_head(now);
    for (size_t i = 0; c && i < now->n; i++) {
        const struct pelton_stream_status *s = &now->streams[i];
        char policy[24];
        policy_text(s, policy);
        columns_cell(c, UI_PLAIN, "%s", s->name);
        columns_cell(c, source_state_colour(s->state), "%s", source_state_name(s->state));
        /* the name of the program, without its library */
        columns_cell(c, UI_PLAIN, "%.*s", (int)strcspn(s->client, ","), s->client);
        columns_cell(c, UI_PLAIN, "%d", s->pid);
        columns_cell(c, UI_PLAIN, "%s", policy);
        add_format(c, s);
        add_figures(c, s, rate(before, now, s));
    }
    if (c && now->n > 0)
        columns_print(c, stdout, ui_columns(stdout));
    else if (c)
        puts("no streams");
    columns_free(c);
}

static void overview_print_json(const struct overview *o)
{
    struct json j = {.file = stdout};
    const struct pelton_status *status = &o->status;
    json_open(&j, NULL, '{');
    json_text(&j, "server", status->server);
    json_text(&j, "socket", o->socket);
    json_number(&j, "up", (double)status->up_ms / 1000);
    json_text(&j, "device", status->device[0] ? status->device : NULL);
    json_bool(&j, "software", status->software);
    json_text(&j, "decoder", decoder_name(status->libavcodec));
    json_int(&j, "clients", status->n_clients);
    json_int(&j, "streams_open", status->n_streams);
    memory_json(&j, "memory_bytes", status->worker_gpu, status->worker_host);
    limits_json(&j, status);
    json_open(&j, "streams", '[');
    for (size_t i = 0; i < o->n; i++) {
        const struct pelton_stream_status *s = &o->streams[i];
        char policy[24];
        policy_text(s, policy);
        json_open(&j, NULL, '{');
        json_text(&j, "name", s->name);
        json_text(&j, "source", s->source);
        json_text(&j, "client", s->client);
        json_int(&j, "pid", s->pid);
        json_int(&j, "uid", s->uid);
        json_text(&j, "state", source_state_name(s->state));
        json_text(&j, "policy", policy);
        json_text(&j, "decoder", decoder_name(s->libavcodec));
        json_text(&j, "pix_fmt", s->pix_fmt);
        json_int(&j, "width", s->width);
        json_int(&j, "height", s->height);
        json_int(&j, "frames", (int64_t)s->frames);
        json_int(&j, "waiting", s->waiting);
        json_int(&j, "held", s->held);
        json_int(&j, "slots", s->slots);
        json_int(&j, "dropped_source", (int64_t)s->dropped_source);
        json_int(&j, "dropped_decoder", (int64_t)s->dropped_decoder);
        json_int(&j, "dropped_client", (int64_t)s->dropped_client);
        json_int(&j, "restarts", (int64_t)s->restarts);
        json_number(&j, "age_ms", (double)s->age_ns * 1e-6);
        json_int(&j, "gpu_entropy_pictures", (int64_t)s->gpu_entropy_pictures);
        json_number(&j, "gpu_entropy_seconds", s->gpu_entropy);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static int ask(const struct client_options *o, struct pelton *conn, struct overview *out,
               struct failure *f)
{
    struct overview now = {.asked_ns = now_ns(), .socket = pelton_socket(conn)};
    if (pelton_status(conn, timeout_ms(o), &now.status, &now.streams, &now.n) < 0)
        return fail_pelton(f, conn, NULL);
    *out = now;
    return 0;
}

static void stats_print(const struct overview *now)
{
    print_streams(NULL, now);
    sandbox_print(&now->status);
    encoders_print(&now->status);
    limits_print(&now->status);
}

int cmd_stats(struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    struct overview now = {0};
    int rc = shared_open(o, &conn, f);
    rc = rc ? rc : ask(o, conn, &now, f);
    if (rc == 0 && o->json)
        overview_print_json(&now);
    else if (rc == 0)
        stats_print(&now);
    free(now.streams);
    pelton_close(conn);
    return rc;
}

/* Sleeps about a second, or until an interrupt. */
static void pause_second(void)
{
    for (int i = 0; i < 10 && !interrupted(); i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

int cmd_top(struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    struct overview before = {0}, now = {0};
    bool terminal = isatty(STDOUT_FILENO);
    int rc = shared_open(o, &conn, f);
    rc = rc ? rc : ask(o, conn, &before, f);
    interrupts_catch();
    for (pause_second(); rc == 0 && !interrupted(); pause_second()) {
        rc = ask(o, conn, &now, f);
        if (rc)
            break;
        /* the cursor goes to the upper left corner, and the screen is cleared */
        fputs(terminal ? "\033[H\033[J" : "", stdout);
        print_streams(&before, &now);
        if (fflush(stdout) != 0)
            rc = fail_errno(f, X_OTHER, errno, "standard output");
        free(before.streams);
        before = now;
        now = (struct overview){0};
    }
    free(before.streams);
    pelton_close(conn);
    return rc ? rc : interrupted();
}
