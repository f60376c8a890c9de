/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: a whole byte stream through a session of the worker's engine, on the reference
 * reconstruction in place of a device. One coder and four give the same frames and the same end.
 */
#include "daemon/worker/session.h"

#include <libavformat/avformat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, PROBED = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

struct run {
    struct engine *engine;
    struct session *session;
    struct feed_format format;
    const uint8_t *memory;
    size_t mapped;
    uint64_t hash, frames;
    int ends, code;
};

static void die(const char *what)
{
    fprintf(stderr, "session: %s\n", what);
    abort();
}

/* FNV-1a, which is enough to tell two runs apart. */
static void hash_bytes(uint64_t *hash, const void *data, size_t size)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ p[i]) * 0x100000001b3u;
}

static void on_info(void *ctx, const struct pelton_info *info, const struct pelton_probe_sei *sei)
{
}

static void pool_unmap(struct run *r)
{
    if (r->memory)
        munmap((void *)r->memory, r->mapped);
    r->memory = NULL;
}

static void on_format(void *ctx, const struct feed_format *f)
{
    struct run *r = ctx;
    pool_unmap(r);
    r->format = *f;
    r->mapped = f->memfd_size;
    r->memory = mmap(NULL, r->mapped, PROT_READ, MAP_SHARED, f->memfd, 0);
    if (r->memory == MAP_FAILED)
        die("no pool");
}

static void on_frame(void *ctx, const struct feed_frame *frame)
{
    struct run *r = ctx;
    const struct feed_format *f = &r->format;
    if (frame->epoch != f->epoch || r->ends)
        die("a frame of another epoch, or after the end");
    const uint8_t *base = r->memory + frame->slot * f->slot_size;
    for (uint32_t p = 0; p < f->planes; p++)
        for (uint32_t y = 0; y < f->plane_height[p]; y++)
            hash_bytes(&r->hash, base + f->plane_offset[p] + (size_t)y * f->stride[p],
                       f->plane_width[p]);
    hash_bytes(&r->hash, &frame->sequence, sizeof(frame->sequence));
    /* which frame is the last one is not always known in time */
    uint32_t flags = frame->flags & ~(uint32_t)PELTON_FRAME_LAST;
    hash_bytes(&r->hash, &flags, sizeof(flags));
    hash_bytes(&r->hash, &frame->pts, sizeof(frame->pts));
    r->frames++;
    session_release(r->session, frame->epoch, frame->slot, frame->generation);
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    struct run *r = ctx;
    pool_unmap(r);
    r->ends++;
    r->code = failure->code;
    if (failure->code && !failure->cause[0])
        die("an end without a cause");
    if (stats->frames != r->frames)
        die("frames are counted wrongly");
    engine_close(r->engine, NULL, NULL);
}

static int memory_file(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) != 0)
        die("no memory file");
    return fd;
}

/* The last byte of the input chooses wishes, the same in both runs. */
static struct run decode(const uint8_t *data, size_t size, unsigned threads)
{
    static const struct feed_callbacks callbacks = {
        .on_info = on_info, .on_format = on_format, .on_frame = on_frame, .on_end = on_end};
    struct run r = {.hash = 0xcbf29ce484222325u};
    struct engine_params params = {.gpu_motion = threads > 1, .threads = threads};
    struct gpu_params gpu = {.device = "cpu"};
    struct pelton_open_params open = {.name = "fuzz", .start_us = -1, .duration_us = -1};
    uint8_t wish = data[size - 1];
    params.delay_seed = wish & 16 ? size : 0;
    uv_loop_t loop;
    open.fields = wish & 1;
    open.views = wish & 2 ? PELTON_VIEWS_BOTH : PELTON_VIEW_BASE;
    open.on_error = (enum pelton_on_error)(wish >> 2 & 3);
    open.fd = memory_file(data, size);
    if (uv_loop_init(&loop) || gpu_open(&gpu, &params.gpu) ||
        engine_create(&loop, &params, &r.engine) ||
        session_open(r.engine, &open, &(struct session_extra){0}, &callbacks, &r, &r.session))
        die("no start");
    uv_run(&loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop))
        die("handles are left");
    gpu_close(params.gpu);
    if (r.ends != 1)
        die("not one end");
    return r;
}

/* Other containers are libavformat's matter. */
static bool is_byte_stream(const uint8_t *data, size_t size)
{
    uint8_t head[PROBED + AVPROBE_PADDING_SIZE] = {0};
    size_t n = size < PROBED ? size : PROBED;
    memcpy(head, data, n);
    const AVInputFormat *format =
        av_probe_input_format(&(AVProbeData){.buf = head, .buf_size = (int)n, .filename = ""}, 1);
    return format && strcmp(format->name, "h264") == 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    av_log_set_level(AV_LOG_QUIET);
    setenv("PELTON_TEST_MACROBLOCKS", "512", 0); /* the reference is slow */
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8 || !is_byte_stream(data, size))
        return -1;
    struct run one = decode(data, size, 1), four = decode(data, size, THREADS);
    if (one.hash != four.hash || one.frames != four.frames || one.code != four.code) {
        fprintf(stderr, "one coder: %llu frames, end %d; %d: %llu, %d%s\n",
                (unsigned long long)one.frames, one.code, THREADS, (unsigned long long)four.frames,
                four.code, one.hash == four.hash ? "" : "; other bytes");
        abort();
    }
    return 0;
}
