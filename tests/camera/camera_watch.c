/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints a line for each frame of a camera. Its fields: sequence, exposure us, analogue, digital,
 * mean, clipped, state, age in ms, dropped by source, worker, client, epoch, crop, size, target of
 * the mean, bins of the histogram, flags, and the value of all samples of the first plane, or
 * "picture" where they differ.
 *
 *   camera_watch [options] ADDRESS
 *     --socket PATH         socket of the daemon
 *     --latest, --fifo N    policy
 *     --frames N            ends after N frames
 *     --patience SECONDS    limit for opening; a third of it for each frame
 *     --slow MS             time spent on each frame
 *     --hold K              keeps the last K frames
 *     --max-fps N           as pelton's option
 *     --set Name=Value ...  sets a control after the first frame
 */
#include "proto/pelton.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_HELD = 64 };

static int complain(const struct pelton *conn)
{
    const struct pelton_failure *f = pelton_failure(conn);
    printf("error %d %s\n", f->code, f->cause);
    return 1;
}

static double age_ms(int64_t since_ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ((double)t.tv_sec * 1e9 + (double)t.tv_nsec - (double)since_ns) * 1e-6;
}

static void print_samples(const struct pelton_frame *f)
{
    bool same = true;
    for (uint32_t y = 0; y < f->plane_height[0]; y++)
        for (uint32_t x = 0; x < f->plane_width[0]; x++)
            same &= f->data[0][(size_t)y * f->stride[0] + x] == f->data[0][0];
    if (same)
        printf(" %u\n", f->data[0][0]);
    else
        printf(" picture\n");
}

static void print_frame(const struct pelton_frame *f)
{
    static const char *const states[] = {"searching", "converged", "locked"};
    const struct pelton_camera *c = &f->camera;
    printf("frame %llu %.3f %.4f %.4f %.5f %.4f %s %.2f %llu %llu %llu %u %u,%u,%u,%u %ux%u %.5f ",
           (unsigned long long)f->sequence, c->exposure_us, c->analogue_gain, c->digital_gain,
           c->mean, c->clipped, c->present ? states[c->ae_state] : "absent", age_ms(f->received_ns),
           (unsigned long long)f->dropped_source, (unsigned long long)f->dropped_decoder,
           (unsigned long long)f->dropped_client, f->epoch, c->crop.x, c->crop.y, c->crop.width,
           c->crop.height, f->width, f->height, f->exposure.target);
    for (int i = 0; i < PELTON_HISTOGRAM_BINS; i++)
        printf("%s%u", i ? "," : "", f->exposure.histogram[i]);
    printf(" %u", f->flags);
    print_samples(f);
    fflush(stdout);
}

static int set(struct pelton *conn, struct pelton_stream *s, const char *text)
{
    struct pelton_control wish = {.n = 0}, out[PELTON_MAX_CONTROLS];
    uint32_t n = 0;
    const char *at = text + strcspn(text, "=");
    snprintf(wish.name, sizeof(wish.name), "%.*s", (int)(at - text), text);
    while (*at && wish.n < PELTON_CONTROL_VALUES) {
        char *end;
        wish.value[wish.n++] = strtod(at + 1, &end);
        at = end;
    }
    if (pelton_controls(s, 5000, &wish, 1, out, &n) < 0)
        return complain(conn);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(out[i].name, wish.name))
            printf("control %s %g\n", out[i].name, out[i].value[0]);
    return 0;
}

int main(int argc, char **argv)
{
    const char *socket = NULL, *sets[8];
    struct pelton_open_params params = {.fd = -1, .start_us = -1, .duration_us = -1};
    struct pelton_spawn_params spawn = {.device = "cpu", .log_fd = -1};
    struct pelton *conn = NULL;
    struct pelton_stream *stream = NULL;
    struct pelton_frame frame;
    struct pelton_frame held[MOST_HELD];
    int n_sets = 0, slow_ms = 0, patience_ms = 60000, rc = 0;
    unsigned hold = 0;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--latest"))
            params.policy = PELTON_LATEST;
        else if (!strcmp(argv[i], "--fifo") && i + 1 < argc) {
            params.policy = PELTON_FIFO;
            params.depth = (uint32_t)atoi(argv[++i]);
        } else if (!strcmp(argv[i], "--slow") && i + 1 < argc)
            slow_ms = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--hold") && i + 1 < argc)
            hold = (unsigned)atoi(argv[++i]) % MOST_HELD;
        else if (!strcmp(argv[i], "--max-fps") && i + 1 < argc)
            params.max_fps = atof(argv[++i]);
        else if (!strcmp(argv[i], "--socket") && i + 1 < argc)
            socket = argv[++i];
        else if (!strcmp(argv[i], "--patience") && i + 1 < argc)
            patience_ms = 1000 * atoi(argv[++i]);
        else if (!strcmp(argv[i], "--frames") && i + 1 < argc)
            params.max_frames = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--set") && i + 1 < argc && n_sets < 8)
            sets[n_sets++] = argv[++i];
        else
            params.uri = params.name = argv[i];
    rc = socket ? pelton_connect(socket, 10000, &conn) : pelton_spawn(&spawn, 30000, &conn);
    if (rc < 0)
        return complain(NULL);
    rc = pelton_open(conn, &params, patience_ms, NULL, &stream);
    for (uint64_t n = 0; rc >= 0 && (rc = pelton_next(stream, patience_ms / 3, &frame)) > 0; n++) {
        print_frame(&frame);
        if (n >= hold)
            pelton_release(stream, hold ? &held[n % hold] : &frame);
        if (hold)
            held[n % hold] = frame;
        nanosleep(&(struct timespec){.tv_nsec = slow_ms * 1000000L}, NULL);
        for (int i = 0; n == 0 && i < n_sets; i++)
            set(conn, stream, sets[i]);
    }
    if (rc < 0)
        complain(conn);
    pelton_stream_close(stream);
    pelton_close(conn);
    return rc < 0;
}
