/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See jpeg_batches.h. One lock for all; while it is held a group's buffers may be made, and nothing
 * else that is slow.
 *
 * The happy path of a picture: its stream puts it into the list of its group. The first stream that
 * finds a place free takes all that wait, submits them as a batch, waits for the device, and copies
 * each file to its stream. So the streams that come meanwhile are the next batch.
 *
 * The failure modes: no memory for the buffers of a size, and a lost device. Both fail the pictures
 * of that batch.
 */
#include "daemon/worker/encoding/jpeg_batches.h"

#include "gpu/jpeg/gpu_jpeg.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_PICTURES = 16, /* of a batch */
    MATRIX_RGB = 0,
    MATRIX_UNKNOWN = 2,
    MATRIX_601 = 6
};

/* A picture that waits for its batch */
struct jpeg_wish {
    struct jpeg_wish *next;
    struct jpeg_stream *stream;
    struct gpu_jpeg_picture picture;
    const uint8_t *upload; /* the frame, where no gpu_host has it */
    bool done;
    int error;
};

/* Memory of a batch in flight */
struct jpeg_flight {
    bool busy;
    struct gpu_arena *files, *frames;
    uint8_t *file, *frame; /* picture i has file + i * file_room */
};

/* The streams of one size */
struct jpeg_group {
    struct jpeg_group *next;
    uint32_t width, height;
    enum jpeg_sampling sampling;
    unsigned streams;
    struct gpu_jpeg *gpu;
    uint64_t file_room, frame_room;
    struct jpeg_flight flights[GPU_JPEG_FLIGHT];
    struct jpeg_wish *first, **last;
};

struct jpeg_batches {
    struct gpu *gpu;
    pthread_mutex_t lock;
    pthread_cond_t news; /* a batch is done */
    struct jpeg_group *first;
};

struct jpeg_stream {
    struct jpeg_batches *all;
    uint32_t quality, alike;
    struct jpeg_group *group; /* NULL: it has had no picture */
    uint8_t *file;
    size_t size, room;
};

/* ---- settings ---- */

/* Whoever names no matrix has the one of the size. Of RGB, the device made BT.601. */
static uint8_t matrix_of(const struct pelton_colour *c)
{
    if (c->source == PELTON_COLOUR_ASSUMED && c->matrix == MATRIX_RGB)
        return MATRIX_UNKNOWN;
    return c->matrix == MATRIX_RGB ? MATRIX_601 : c->matrix;
}

static bool sampling_of(const char *pix_fmt, enum jpeg_sampling *out)
{
    static const char *const names[JPEG_SAMPLINGS] = {[JPEG_GREY] = "gray",
                                                      [JPEG_420] = "yuv420p",
                                                      [JPEG_422] = "yuv422p",
                                                      [JPEG_444] = "yuv444p"};
    for (int i = 0; i < JPEG_SAMPLINGS; i++)
        if (!strcmp(pix_fmt, names[i])) {
            *out = (enum jpeg_sampling)i;
            return true;
        }
    return false;
}

static void aspect_of(struct pelton_rational shape, uint16_t out[2])
{
    bool fits = shape.num > 0 && shape.den > 0 && shape.num <= UINT16_MAX &&
                shape.den <= UINT16_MAX && shape.num != shape.den;
    out[0] = fits ? (uint16_t)shape.num : 0;
    out[1] = fits ? (uint16_t)shape.den : 0;
}

bool jpeg_settings_of(const struct feed_format *format, struct jpeg_settings *out)
{
    *out = (struct jpeg_settings){.width = format->width, .height = format->height};
    aspect_of(format->sar, out->aspect);
    return sampling_of(format->pix_fmt, &out->sampling) &&
           jpeg_colours_of(matrix_of(&format->colour), format->colour.range == PELTON_RANGE_FULL,
                           format->height, &out->colours);
}

/* ---- groups, with the lock ---- */

static void group_free(struct jpeg_group *g)
{
    gpu_jpeg_free(g->gpu);
    for (int i = 0; i < GPU_JPEG_FLIGHT; i++) {
        gpu_arena_free(g->flights[i].files);
        gpu_arena_free(g->flights[i].frames);
    }
    free(g);
}

static int group_new(struct jpeg_stream *s, const struct jpeg_settings *settings,
                     uint64_t frame_size, struct jpeg_group **out)
{
    struct jpeg_group *g = calloc(1, sizeof(*g));
    uint32_t wanted = s->alike < 1 ? 1 : s->alike;
    const struct gpu_jpeg_params params = {.width = settings->width,
                                           .height = settings->height,
                                           .sampling = settings->sampling,
                                           .frame_size = frame_size,
                                           .pictures =
                                               wanted < MOST_PICTURES ? wanted : MOST_PICTURES};
    int err = g ? gpu_jpeg_create(s->all->gpu, &params, &g->gpu) : GPU_ERR_NOMEM;
    if (err < 0) {
        free(g);
        return err;
    }
    g->width = settings->width;
    g->height = settings->height;
    g->sampling = settings->sampling;
    g->last = &g->first;
    /* gpu_jpeg makes no scan of more bytes */
    g->file_room = (jpeg_most_bytes(settings) / 2 + JPEG_HEADER + 63) / 64 * 64;
    g->frame_room = frame_size;
    g->next = s->all->first;
    s->all->first = g;
    *out = g;
    return GPU_OK;
}

static void group_leave(struct jpeg_stream *s)
{
    struct jpeg_group *g = s->group, **at = &s->all->first;
    s->group = NULL;
    if (!g || --g->streams)
        return;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    group_free(g);
}

/* The group of this size; a stream whose size changes goes to another one. */
static int group_join(struct jpeg_stream *s, const struct jpeg_settings *settings,
                      uint64_t frame_size)
{
    struct jpeg_group *g = s->all->first;
    while (g && (g->width != settings->width || g->height != settings->height ||
                 g->sampling != settings->sampling || g->frame_room < frame_size))
        g = g->next;
    if (g && g == s->group)
        return GPU_OK;
    int err = g ? GPU_OK : group_new(s, settings, frame_size, &g);
    group_leave(s);
    if (err < 0)
        return err;
    g->streams++;
    s->group = g;
    return GPU_OK;
}

/* ---- batches ---- */

/* Memory of a flight, when it is needed first. With the lock */
static int flight_prepare(struct jpeg_batches *all, struct jpeg_group *g, struct jpeg_flight *f,
                          bool uploads)
{
    uint32_t n = gpu_jpeg_params_of(g->gpu)->pictures;
    void *memory;
    int err = GPU_OK;
    if (!f->files && (err = gpu_arena_create(all->gpu, n * g->file_room, &f->files, &memory)) == 0)
        f->file = memory;
    if (err == GPU_OK && uploads && !f->frames &&
        (err = gpu_arena_create(all->gpu, n * g->frame_room, &f->frames, &memory)) == 0)
        f->frame = memory;
    return err;
}

static int file_keep(struct jpeg_stream *s, const struct gpu_jpeg_picture *p)
{
    if (!p->size)
        return GPU_ERR_NOMEM; /* gpu_jpeg.c: nearly all of its bytes would have to be stuffed */
    if (s->room < p->size) {
        free(s->file);
        s->file = malloc(p->size * 2);
        s->room = s->file ? p->size * 2 : 0;
    }
    if (!s->file)
        return GPU_ERR_NOMEM;
    memcpy(s->file, p->out, p->size);
    s->size = p->size;
    return GPU_OK;
}

/* Of each wish the picture, and the frame where the device cannot reach it. */
static void flight_fill(const struct jpeg_group *g, const struct jpeg_flight *f,
                        struct jpeg_wish *const *wishes, uint32_t n,
                        struct gpu_jpeg_picture *pictures)
{
    for (uint32_t i = 0; i < n; i++) {
        struct gpu_jpeg_picture *p = &pictures[i];
        *p = wishes[i]->picture;
        p->out = f->file + i * g->file_room;
        p->room = g->file_room;
        if (wishes[i]->upload) {
            p->frame = f->frame + i * g->frame_room;
            memcpy(f->frame + i * g->frame_room, wishes[i]->upload, p->frame_size);
        }
    }
}

/* Without the lock */
static int flight_run(struct jpeg_group *g, struct jpeg_flight *f, struct jpeg_wish *const *wishes,
                      uint32_t n)
{
    struct gpu_jpeg_picture pictures[MOST_PICTURES];
    flight_fill(g, f, wishes, n, pictures);
    int err = gpu_jpeg_encode(g->gpu, pictures, n);
    for (uint32_t i = 0; i < n; i++)
        wishes[i]->error = err < 0 ? err : file_keep(wishes[i]->stream, &pictures[i]);
    return err;
}

static struct jpeg_flight *flight_find(struct jpeg_group *g)
{
    for (int i = 0; i < GPU_JPEG_FLIGHT; i++)
        if (!g->flights[i].busy)
            return &g->flights[i];
    return NULL;
}

/* Takes those that wait, and makes their files. With the lock, dropped meanwhile */
static void batch_run(struct jpeg_batches *all, struct jpeg_group *g, struct jpeg_flight *f)
{
    struct jpeg_wish *wishes[MOST_PICTURES];
    uint32_t n = 0, most = gpu_jpeg_params_of(g->gpu)->pictures;
    bool uploads = false;
    for (; g->first && n < most; n++) {
        wishes[n] = g->first;
        uploads |= wishes[n]->upload != NULL;
        g->first = g->first->next;
    }
    if (!g->first)
        g->last = &g->first;
    int err = flight_prepare(all, g, f, uploads);
    f->busy = true;
    pthread_mutex_unlock(&all->lock);
    if (err == GPU_OK)
        flight_run(g, f, wishes, n);
    pthread_mutex_lock(&all->lock);
    f->busy = false;
    for (uint32_t i = 0; i < n; i++) {
        wishes[i]->error = err < 0 ? err : wishes[i]->error;
        wishes[i]->done = true;
    }
    pthread_cond_broadcast(&all->news);
}

/* With the lock, dropped meanwhile */
static int wish_fulfil(struct jpeg_batches *all, struct jpeg_group *g, struct jpeg_wish *w)
{
    *g->last = w;
    g->last = &w->next;
    while (!w->done) {
        struct jpeg_flight *f = g->first ? flight_find(g) : NULL;
        if (f)
            batch_run(all, g, f);
        else
            pthread_cond_wait(&all->news, &all->lock);
    }
    return w->error;
}

static void picture_fill(const struct feed_format *format, uint32_t slot,
                         const struct jpeg_settings *settings, struct jpeg_wish *w)
{
    struct gpu_jpeg_picture *p = &w->picture;
    p->settings = *settings;
    p->host = w->upload ? NULL : format->host;
    p->host_offset = slot * format->slot_size;
    p->frame_size = format->slot_size;
    for (uint32_t i = 0; i < format->planes && i < 3; i++) {
        p->offset[i] = (uint32_t)format->plane_offset[i];
        p->stride[i] = format->stride[i];
    }
}

int jpeg_stream_push(struct jpeg_stream *s, const struct feed_format *format, uint32_t slot,
                     const uint8_t *frame, const uint8_t **file, size_t *size)
{
    struct jpeg_wish w = {.stream = s, .upload = format->host ? NULL : frame};
    struct jpeg_settings settings;
    if (!jpeg_settings_of(format, &settings) || (!format->host && !frame))
        return GPU_ERR_INVALID;
    settings.quality = s->quality;
    picture_fill(format, slot, &settings, &w);
    pthread_mutex_lock(&s->all->lock);
    int err = group_join(s, &settings, format->slot_size);
    if (err == GPU_OK)
        err = wish_fulfil(s->all, s->group, &w);
    pthread_mutex_unlock(&s->all->lock);
    if (err < 0)
        return err;
    *file = s->file;
    *size = s->size;
    return GPU_OK;
}

/* ---- life ---- */

struct jpeg_stream *jpeg_stream_new(struct jpeg_batches *all, uint32_t quality, uint32_t alike)
{
    struct jpeg_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->all = all;
    s->quality = quality;
    s->alike = alike;
    return s;
}

void jpeg_stream_free(struct jpeg_stream *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->all->lock);
    group_leave(s);
    pthread_mutex_unlock(&s->all->lock);
    free(s->file);
    free(s);
}

struct jpeg_batches *jpeg_batches_new(struct gpu *gpu)
{
    struct jpeg_batches *all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    all->gpu = gpu;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->news, NULL);
    return all;
}

void jpeg_batches_free(struct jpeg_batches *all)
{
    if (!all)
        return;
    pthread_cond_destroy(&all->news);
    pthread_mutex_destroy(&all->lock);
    free(all);
}
