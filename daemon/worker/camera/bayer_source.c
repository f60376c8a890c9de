/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw frames one after the other in a file, rows without padding. There is no sensor: exposure is
 * what the settings say it was, and exposure control moves the digital gain alone.
 *
 * The failure modes are: no such file, a file shorter than one frame; a rest at its end is left
 * out.
 */
#include "daemon/worker/camera/camera_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct bayer_source {
    int fd;
    struct camera_params params;
    size_t frame_bytes;
    uint64_t frames, next;
    int64_t due_ns;
};

void *bayer_source_create(void)
{
    struct bayer_source *s = calloc(1, sizeof(*s));
    if (s)
        s->fd = -1;
    return s;
}

static void close_bayer(void *source)
{
    struct bayer_source *s = source;
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
}

static void free_bayer(void *source)
{
    close_bayer(source);
    free(source);
}

static int fail(const char *path, struct pelton_failure *failure, const char *cause)
{
    *failure =
        (struct pelton_failure){.code = errno == EACCES ? PELTON_ERR_PERMISSION : PELTON_ERR_INPUT};
    snprintf(failure->cause, sizeof(failure->cause), "%.120s: %.120s", path, cause);
    return failure->code;
}

static int open_bayer(void *source, struct camera_params *p, struct pelton_failure *failure)
{
    struct bayer_source *s = source;
    const struct isp_params raw = {.width = p->width,
                                   .height = p->height,
                                   .packing = (enum isp_packing)p->packing,
                                   .depth = p->depth};
    struct stat st;
    s->fd = open(p->path, O_RDONLY | O_CLOEXEC);
    if (s->fd < 0 || fstat(s->fd, &st) < 0)
        return fail(p->path, failure, strerror(errno));
    errno = 0;
    s->params = *p;
    s->frame_bytes = (size_t)isp_row_bytes(&raw) * isp_raw_rows(&raw);
    s->frames = st.st_size > 0 ? (uint64_t)st.st_size / s->frame_bytes : 0;
    s->next = 0;
    s->due_ns = now_ns();
    if (s->frames == 0) {
        char cause[120];
        snprintf(cause, sizeof(cause), "%llu bytes are less than one frame of %ux%u, %zu bytes",
                 (unsigned long long)st.st_size, p->width, p->height, s->frame_bytes);
        close_bayer(s);
        return fail(p->path, failure, cause);
    }
    return 0;
}

static int read_whole(struct bayer_source *s, uint8_t *raw)
{
    size_t got = 0;
    while (got < s->frame_bytes) {
        ssize_t n =
            pread(s->fd, raw + got, s->frame_bytes - got, (off_t)(s->next * s->frame_bytes + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        got += (size_t)n;
    }
    return 0;
}

static int read_bayer(void *source, uint8_t *raw, struct source_frame *out,
                      struct pelton_failure *failure)
{
    struct bayer_source *s = source;
    if (s->next == s->frames && !s->params.loop)
        return SOURCE_END;
    s->next %= s->frames;
    int64_t left = s->due_ns - now_ns();
    if (s->params.realtime && left > 0) {
        int64_t nap = left < NS_PER_S / 10 ? left : NS_PER_S / 10;
        nanosleep(&(struct timespec){.tv_nsec = nap}, NULL);
        if (nap < left)
            return SOURCE_AGAIN;
    }
    s->due_ns += (int64_t)(1e9 / s->params.fps);
    errno = 0;
    if (raw && read_whole(s, raw) < 0)
        return fail(s->params.path, failure,
                    errno ? strerror(errno) : "the file has become shorter");
    s->next++;
    out->captured_ns = now_ns();
    out->in_effect =
        (struct ae_exposure){s->params.exposure.time_us, s->params.exposure.analogue_gain, 1};
    return SOURCE_OK;
}

static void set_bayer(void *source, const struct ae_exposure *e)
{
}

const struct source_ops bayer_source_ops = {.open = open_bayer,
                                            .read = read_bayer,
                                            .set = set_bayer,
                                            .close = close_bayer,
                                            .free = free_bayer};
