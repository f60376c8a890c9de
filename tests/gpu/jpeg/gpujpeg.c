/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast JPEG files are made on a GPU, from a built picture or a clip (4:2:0).
 *
 *   gpujpeg WIDTHxHEIGHT BATCH PICTURES [QUALITY [CLIP.y4m]]
 *
 * Two batches are in flight. It prints pictures a second with frames that come from the host and
 * with frames on the device, the time of each pass, the time of a lone batch, and beside them what
 * one core makes with libjpeg-turbo. $GPUJPEG_TIMES=no leaves out the times of passes, whose
 * stamps keep passes apart. The device is $PELTON_DEVICE, or any.
 */
#include "gpu/jpeg/gpu_jpeg.h"
#include "tests/jpeg/jpeg_frames.h"

#include <stdio.h>
#include <time.h>
#include <turbojpeg.h>

#define MOST_BATCH 64
#define FRAMES     8 /* of the clip */

struct rate_run {
    struct gpu *g;
    struct gpu_jpeg *jpeg;
    struct jpeg_settings settings;
    uint32_t batch, pictures, frame_count;
    struct built_frame frames[FRAMES];
    struct gpu_arena *on_host, *on_device, *files;
    uint8_t *host, *device, *file; /* of the arenas */
    uint64_t frame_room, file_room;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool times_wanted(void)
{
    const char *env = getenv("GPUJPEG_TIMES");
    return !env || strcmp(env, "no") != 0;
}

/* ---- frames ---- */

static bool clip_read(struct rate_run *r, const char *path)
{
    FILE *in = fopen(path, "rb");
    char line[256] = "", size[64];
    snprintf(size, sizeof(size), "YUV4MPEG2 W%u H%u ", r->settings.width, r->settings.height);
    if (in && fgets(line, sizeof(line), in) && strncmp(line, size, strlen(size)) == 0)
        while (r->frame_count < FRAMES && fgets(line, sizeof(line), in) &&
               fread(r->host + r->frame_count * r->frame_room, 1, r->frames[0].size, in) ==
                   r->frames[0].size)
            r->frame_count++;
    if (in)
        fclose(in);
    return r->frame_count > 0;
}

static int frames_make(struct rate_run *r, const char *clip)
{
    void *memory;
    for (uint32_t i = 0; i < FRAMES; i++) {
        r->frames[i].settings = r->settings;
        frame_layout(&r->frames[i], 0, 0);
    }
    r->frame_room = (r->frames[0].size + 63) / 64 * 64;
    r->file_room = (uint64_t)r->frames[0].size + 65536;
    if (gpu_arena_create(r->g, FRAMES * r->frame_room, &r->on_host, &memory) < 0)
        return -1;
    r->host = memory;
    if (gpu_arena_create_device(r->g, FRAMES * r->frame_room, &r->on_device, &memory) < 0)
        return -1;
    r->device = memory;
    if (gpu_arena_create(r->g, 2 * r->batch * r->file_room, &r->files, &memory) < 0)
        return -1;
    r->file = memory;
    for (uint32_t i = 0; i < FRAMES; i++)
        r->frames[i].data = r->host + i * r->frame_room;
    if (clip && !clip_read(r, clip)) {
        fprintf(stderr, "gpujpeg: no clip of this size\n");
        return -1;
    }
    for (; !clip && r->frame_count < FRAMES; r->frame_count++)
        frame_draw(&r->frames[r->frame_count], FRAME_SCENE, r->frames[r->frame_count].data);
    return gpu_arena_write(r->g, r->device, FRAMES * r->frame_room, r->host);
}

/* ---- rates ---- */

static void batch_fill(const struct rate_run *r, uint32_t place, uint32_t number, bool device,
                       struct gpu_jpeg_picture *out)
{
    for (uint32_t i = 0; i < r->batch; i++) {
        uint32_t at = (number * r->batch + i) % r->frame_count;
        out[i] =
            (struct gpu_jpeg_picture){.settings = r->settings,
                                      .frame = (device ? r->device : r->host) + at * r->frame_room,
                                      .frame_size = r->frames[at].size,
                                      .out = r->file + (place * r->batch + i) * r->file_room,
                                      .room = r->file_room};
        memcpy(out[i].offset, r->frames[at].offset, sizeof(out[i].offset));
        memcpy(out[i].stride, r->frames[at].stride, sizeof(out[i].stride));
    }
}

static uint64_t batch_bytes(const struct rate_run *r, const struct gpu_jpeg_picture *pictures)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < r->batch; i++)
        sum += pictures[i].size;
    return sum;
}

/* `lone`: a batch begins when the one before has ended. */
static int rate_take(struct rate_run *r, const char *name, bool device, bool lone)
{
    static struct gpu_jpeg_picture all[2][MOST_BATCH];
    uint32_t batches[2] = {0}, count = r->pictures / r->batch;
    uint64_t bytes = 0;
    double begun = now();
    int err = 0;
    for (uint32_t n = 0; n < count + 1 && err == 0; n++) {
        uint32_t place = n % 2;
        if (n < count) {
            batch_fill(r, place, n, device, all[place]);
            err = gpu_jpeg_submit(r->jpeg, all[place], r->batch, &batches[place]);
        }
        if (err == 0 && lone && n < count)
            err = gpu_jpeg_wait(r->jpeg, batches[place], all[place]);
        else if (err == 0 && !lone && n > 0)
            err = gpu_jpeg_wait(r->jpeg, batches[1 - place], all[1 - place]);
        bytes += n > 0 ? batch_bytes(r, all[1 - place]) : 0;
    }
    double each = (now() - begun) / count;
    if (err == 0)
        printf("%-28s %9.0f pictures/s, %8.1f us a batch, %6.1f kB a picture\n", name,
               r->batch / each, 1e6 * each, 1e-3 * (double)bytes / ((double)count * r->batch));
    return err;
}

static void passes_print(struct rate_run *r, double pictures)
{
    double seconds, sum = 0;
    const char *name;
    for (uint32_t i = 0; (name = gpu_jpeg_time(r->jpeg, i, &seconds)); i++) {
        printf("  %-22s %8.2f us a picture\n", name, 1e6 * seconds / pictures);
        sum += seconds;
    }
    printf("  %-22s %8.2f us a picture\n", "all", 1e6 * sum / pictures);
}

/* One core, for a second */
static void turbo_rate(const struct rate_run *r)
{
    tjhandle tj = tjInitCompress();
    unsigned char *file = NULL;
    unsigned long size = 0;
    uint32_t count = 0;
    double begun = now();
    for (; now() < begun + 1; count++) {
        const struct built_frame *f = &r->frames[count % r->frame_count];
        const unsigned char *planes[3] = {f->data, f->data + f->offset[1], f->data + f->offset[2]};
        int strides[3] = {(int)f->stride[0], (int)f->stride[1], (int)f->stride[2]};
        if (tjCompressFromYUVPlanes(tj, planes, (int)r->settings.width, strides,
                                    (int)r->settings.height, TJSAMP_420, &file, &size,
                                    (int)r->settings.quality, TJFLAG_FASTDCT) != 0)
            break;
    }
    printf("%-28s %9.0f pictures/s, %6.1f kB the last one\n", "libjpeg-turbo, one core",
           count / (now() - begun), 1e-3 * (double)size);
    tjFree(file);
    tjDestroy(tj);
}

static int rates_print(struct rate_run *r)
{
    double pictures = r->pictures / r->batch * r->batch;
    int err = rate_take(r, "frames of the host", false, false); /* warms up */
    err = err ? err : rate_take(r, "frames of the host", false, false);
    err = err ? err : rate_take(r, "frames of the device", true, false);
    err = err ? err : rate_take(r, "the same, lone batches", true, true);
    if (err == 0 && times_wanted())
        passes_print(r, 4 * pictures);
    if (err == 0)
        turbo_rate(r);
    return err;
}

int main(int argc, char **argv)
{
    struct rate_run r = {.settings = {.sampling = JPEG_420}};
    struct gpu_jpeg_params params;
    int err;
    if (argc < 4 || sscanf(argv[1], "%ux%u", &r.settings.width, &r.settings.height) != 2)
        return fprintf(stderr, "usage: gpujpeg WIDTHxHEIGHT BATCH PICTURES [QUALITY [CLIP]]\n"), 2;
    r.batch = (uint32_t)strtoul(argv[2], NULL, 10);
    r.pictures = (uint32_t)strtoul(argv[3], NULL, 10);
    r.settings.quality = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 75;
    if (!r.batch || r.batch > MOST_BATCH || r.pictures < r.batch)
        return fprintf(stderr, "gpujpeg: 1 to %d pictures a batch\n", MOST_BATCH), 2;
    jpeg_colours_of(6, true, 0, &r.settings.colours);
    err = gpu_open(
        &(struct gpu_params){.device = getenv("PELTON_DEVICE"), .timestamps = times_wanted()},
        &r.g);
    if (err == GPU_OK)
        err = frames_make(&r, argc > 5 ? argv[5] : NULL);
    params = (struct gpu_jpeg_params){.width = r.settings.width,
                                      .height = r.settings.height,
                                      .sampling = JPEG_420,
                                      .frame_size = r.frames[0].size,
                                      .pictures = r.batch};
    if (err == GPU_OK)
        err = gpu_jpeg_create(r.g, &params, &r.jpeg);
    if (err == GPU_OK) {
        printf("device: %s, %ux%u, batches of %u, quality %u\n", gpu_info(r.g)->name,
               r.settings.width, r.settings.height, r.batch, r.settings.quality);
        err = rates_print(&r);
    }
    if (err < 0)
        fprintf(stderr, "gpujpeg: %s\n", gpu_error_text(err));
    gpu_jpeg_free(r.jpeg);
    gpu_arena_free(r.files);
    gpu_arena_free(r.on_device);
    gpu_arena_free(r.on_host);
    if (r.g)
        gpu_close(r.g);
    return err < 0;
}
