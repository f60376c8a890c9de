/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton stats, top, reload, stop: for a daemon that others use.
 *
 * The happy path is a connection, a question, its answer on standard output; top asks once a
 * second. The failure modes are no daemon and no right to ask.
 */
#include "client/commands.h"
#include "client/input.h"
#include "client/json.h"
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
        return fail_with(f, X_NO_DAEMON, "start peltond, or name its socket with --socket", "%s",
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

/* Names come from others: nothing in them may move the cursor. */
static void plain(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = '?';
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
    double seconds = old ? (double)(now->asked_ns - before->asked_ns) * 1e-9 : 0;
    return seconds > 0 ? (double)(s->frames - old->frames) / seconds : -1;
}

static void print_head(const struct overview *o)
{
    const struct pelton_status *s = &o->status;
    uint64_t seconds = s->up_ms / 1000;
    printf("%s, up %llu:%02llu:%02llu, %u of %u clients, %u of %u streams%s%s%s, at %s\n",
           s->server, (unsigned long long)(seconds / 3600), (unsigned long long)(seconds / 60 % 60),
           (unsigned long long)(seconds % 60), s->n_clients, s->most_clients, s->n_streams,
           s->most_streams, s->device[0] ? ", " : "", s->device,
           s->device[0] && s->software ? " (software)" : "", o->socket);
}

static void print_streams(const struct overview *before, const struct overview *now)
{
    print_head(now);
    printf("%-24s %-8s %-16s %7s %-9s %-20s %9s %7s %5s %6s %7s %7s %7s %7s\n", "STREAM", "STATE",
           "READER", "PID", "POLICY", "FORMAT", "FRAMES", "FPS", "WAIT", "HELD", "AGE ms", "MISSED",
           "(LATE)", "RESTART");
    for (size_t i = 0; i < now->n; i++) {
        struct pelton_stream_status *s = &now->streams[i];
        double fps = rate(before, now, s);
        char policy[24], format[48] = "", per_second[16] = "-", held[16];
        policy_text(s, policy);
        plain(s->name);
        plain(s->client);
        s->client[strcspn(s->client, ",")] = 0; /* the name of the program, without its library */
        if (s->width)
            snprintf(format, sizeof(format), "%s %ux%u", s->pix_fmt, s->width, s->height);
        if (fps >= 0)
            snprintf(per_second, sizeof(per_second), "%.1f", fps);
        snprintf(held, sizeof(held), "%u/%u", s->held, s->slots);
        printf("%-24.24s %-8s %-16.16s %7d %-9s %-20s %9llu %7s %5u %6s %7.1f %7llu %7llu %7llu\n",
               s->name, source_state_name(s->state), s->client, s->pid, policy, format,
               (unsigned long long)s->frames, per_second, s->waiting, held,
               (double)s->age_ns * 1e-6, (unsigned long long)missed(s),
               (unsigned long long)s->dropped_client, (unsigned long long)s->restarts);
        if (s->gpu_entropy_pictures) {
            printf("  entropy-decoded on the GPU: %llu pictures in %.2f s\n",
                   (unsigned long long)s->gpu_entropy_pictures, s->gpu_entropy);
        }
    }
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
    json_int(&j, "clients", status->n_clients);
    json_int(&j, "streams_open", status->n_streams);
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

int cmd_stats(struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    struct overview now = {0};
    int rc = shared_open(o, &conn, f);
    rc = rc ? rc : ask(o, conn, &now, f);
    if (rc == 0 && o->json)
        overview_print_json(&now);
    else if (rc == 0)
        print_streams(NULL, &now);
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
        now.streams = NULL;
    }
    free(before.streams);
    pelton_close(conn);
    return rc ? rc : interrupted();
}
