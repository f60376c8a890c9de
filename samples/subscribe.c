/* SPDX-License-Identifier: BSD-2-Clause
 *
 * subscribe FILE [BATCH]: prints each frame's sequence, time, size and mean luma. With BATCH it
 * takes so many frames at once, which lie one after another in memory. Uses the daemon at
 * $PELTON_SOCKET where that is set, else a private one. Build: cc subscribe.c $(pkg-config --cflags
 * --libs pelton)
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pelton.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int complain(const struct pelton *conn)
{
    const struct pelton_failure *f = pelton_failure(conn);
    fprintf(stderr, "subscribe: %s\n", f->cause);
    if (f->hint[0])
        fprintf(stderr, "hint: %s\n", f->hint);
    return 1;
}

static double mean_luma(const struct pelton_frame *f)
{
    double sum = 0;
    for (uint32_t y = 0; y < f->plane_height[0]; y++) {
        const uint8_t *row = f->data[0] + (size_t)y * f->stride[0];
        for (uint32_t x = 0; x < f->plane_width[0]; x++)
            sum += row[x];
    }
    return sum / ((double)f->plane_width[0] * f->plane_height[0]);
}

/* A software device compiles its shaders before the first frame. */
enum { PATIENCE_MS = 120000 };

static void print(const struct pelton_frame *f)
{
    double seconds = f->pts == INT64_MIN || !f->time_base.den
                         ? 0
                         : (double)f->pts * f->time_base.num / f->time_base.den;
    printf("%" PRIu64 " %.6f s %ux%u %s luma %.3f%s\n", f->sequence, seconds, f->width, f->height,
           f->pix_fmt, mean_luma(f), f->flags & PELTON_FRAME_CORRUPT ? " corrupt" : "");
}

static int subscribe(struct pelton *conn, const char *path, uint32_t batch)
{
    struct pelton_open_params params;
    struct pelton_stream *stream = NULL;
    static struct pelton_frame frames[PELTON_MOST_BATCH];
    pelton_open_params_init(&params);
    params.fd = open(path, O_RDONLY | O_CLOEXEC);
    params.name = path;
    params.output.batch = batch;
    if (params.fd < 0) {
        fprintf(stderr, "subscribe: %s: %s\n", path, strerror(errno));
        return 1;
    }
    int rc = pelton_open(conn, &params, PATIENCE_MS, NULL, &stream);
    while (rc >= 0 &&
           (rc = pelton_next_batch(stream, PATIENCE_MS, frames, PELTON_MOST_BATCH)) > 0) {
        if (batch)
            printf("batch of %d\n", rc);
        for (int i = 0; i < rc; i++) {
            print(&frames[i]);
            pelton_release(stream, &frames[i]);
        }
    }
    if (rc < 0)
        complain(conn);
    pelton_stream_close(stream);
    close(params.fd);
    return rc < 0;
}

int main(int argc, char **argv)
{
    struct pelton *conn = NULL;
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: %s FILE [BATCH]\n", argv[0]);
        return 2;
    }
    int rc = getenv("PELTON_SOCKET") ? pelton_connect(NULL, 5000, &conn)
                                     : pelton_spawn(NULL, 30000, &conn);
    if (rc < 0)
        return complain(NULL);
    rc = subscribe(conn, argv[1], argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0);
    pelton_close(conn);
    return rc;
}
