/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gpu.h and recon.h on the slow reference reconstruction. Sessions run without a driver, so
 * ThreadSanitizer and AddressSanitizer see our own code only. A difference to the real device is
 * then the device's.
 *
 * recon_submit does the work. Its completion is reported late, one batch per question, so that
 * batches are in flight as on a device.
 *
 * Environment:
 * - PELTON_TEST_LOSE_GPU=N loses the device at the N-th batch.
 * - PELTON_TEST_NO_DEVICE_ARENA: there is no device memory for arenas.
 * - PELTON_TEST_MACROBLOCKS=N: larger pictures find no memory.
 * - PELTON_TEST_SLOTS=SEED: first contents of frame slots and arenas; frames must not depend on it.
 */
#include "daemon/worker/schedule/xorshift.h"
#include "gpu/h264/recon.h"
#include "gpu/tune/tune.h"
#include "reference/recon_ref.h"
#include "tests/daemon/worker/reference.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct gpu {
    struct gpu_device_info info;
    unsigned long lose_at;
};

struct gpu_host {
    uint8_t *memory;
    size_t size;
};

struct recon {
    struct gpu *gpu;
    struct recon_params params;
    struct ref_frame **frames, *work;
    bool wide; /* samples of 16 bits */
    uint64_t submitted, batches;
    _Atomic uint64_t done;
    struct recon_times times;
};

const char *gpu_error_text(int error)
{
    return error == GPU_ERR_LOST ? "device lost" : "reference device failed";
}

int gpu_open(const struct gpu_params *params, struct gpu **out)
{
    struct gpu *g = calloc(1, sizeof(*g));
    if (!g)
        return GPU_ERR_NOMEM;
    strcpy(g->info.name, "reference");
    g->info.software = g->info.usable = true;
    g->info.memory_bytes = 1ull << 32;
    g->lose_at = reference_number("PELTON_TEST_LOSE_GPU", 0);
    *out = g;
    return 0;
}

int gpu_bandwidth(struct gpu *g, double *bytes_per_second)
{
    return GPU_ERR_FEATURE; /* no timestamps */
}

int gpu_pulse_create(struct gpu *g, uint32_t steps, struct gpu_pulse **out)
{
    return GPU_ERR_FEATURE; /* has no clocks */
}

int gpu_pulse(struct gpu_pulse *p)
{
    return GPU_ERR_FEATURE;
}

void gpu_pulse_free(struct gpu_pulse *p)
{
}

void gpu_close(struct gpu *g)
{
    free(g);
}

const struct gpu_device_info *gpu_info(const struct gpu *g)
{
    return &g->info;
}

void gpu_memory_held(const struct gpu *g, struct gpu_held *out)
{
    memset(out, 0, sizeof(*out));
}

uint64_t gpu_memory_free(const struct gpu *g)
{
    return g->info.memory_bytes;
}

void gpu_memory_limit(struct gpu *g, uint64_t bytes)
{
}

bool gpu_memory_fits(const struct gpu *g, uint64_t bytes)
{
    return true;
}

bool gpu_memory_has(const struct gpu *g, uint64_t bytes)
{
    return true;
}

uint64_t gpu_memory_spare(const struct gpu *g)
{
    return 0;
}

void gpu_memory_want(struct gpu *g, uint64_t bytes)
{
}

uint64_t gpu_memory_wanted(const struct gpu *g)
{
    return 0;
}

uint64_t gpu_memory_refused(const struct gpu *g)
{
    return 0;
}

bool gpu_has_background(const struct gpu *g)
{
    return true;
}

unsigned gpu_validation_messages(const struct gpu *g)
{
    return 0;
}

int gpu_host_import(struct gpu *g, void *memory, size_t size, struct gpu_host **out)
{
    struct gpu_host *h = malloc(sizeof(*h));
    if (!h)
        return GPU_ERR_NOMEM;
    *h = (struct gpu_host){memory, size};
    *out = h;
    return 0;
}

int gpu_host_export(struct gpu *g, uint64_t size, struct gpu_host **out,
                    struct gpu_export *exported)
{
    return GPU_ERR_FEATURE;
}

int gpu_host_fill(struct gpu_host *h, const struct gpu_host_fill *fill)
{
    return GPU_ERR_FEATURE;
}

bool gpu_host_is_direct(const struct gpu_host *h)
{
    return true;
}

void gpu_host_free(struct gpu_host *h)
{
    free(h);
}

struct gpu_arena {
    void *memory;
};

int gpu_arena_create(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    struct gpu_arena *a = malloc(sizeof(*a));
    (void)g;
    if (!a)
        return GPU_ERR_NOMEM;
    a->memory = aligned_alloc(64, (size + 63) & ~(size_t)63);
    if (!a->memory) {
        free(a);
        return GPU_ERR_NOMEM;
    }
    if (getenv("PELTON_TEST_SLOTS"))
        memset(a->memory, (int)strtoul(getenv("PELTON_TEST_SLOTS"), NULL, 10) & 255, size);
    *memory = a->memory;
    *out = a;
    return GPU_OK;
}

/* The stand-in for a device reads all memory as the host does. */
int gpu_arena_create_device(struct gpu *g, size_t size, struct gpu_arena **out, void **memory)
{
    return getenv("PELTON_TEST_NO_DEVICE_ARENA") ? GPU_ERR_NOMEM
                                                 : gpu_arena_create(g, size, out, memory);
}

void gpu_arena_free(struct gpu_arena *a)
{
    if (a)
        free(a->memory);
    free(a);
}

/* What slots hold at first: another picture, for all that anybody knows. */
static void fill_slots(struct recon *r, uint64_t seed)
{
    uint64_t state = seed * 2 + 1;
    for (uint32_t i = 0; i < r->params.slots; i++)
        for (int c = 0; c < 3; c++) {
            struct ref_frame *f = r->frames[i];
            size_t n =
                (size_t)f->stride[c] * r->params.mb_height * ref_mb_height(f->chroma_format_idc, c);
            for (size_t k = 0; k < n; k++)
                f->plane[c][k] =
                    (uint16_t)(next_random(&state) >> (64 - r->params.bit_depth[c > 0]));
        }
}

int recon_warm_up(struct gpu *g, const struct recon_params *params)
{
    return GPU_OK; /* nothing is compiled here */
}

int recon_create(struct gpu *g, const struct recon_params *params, struct recon **out)
{
    uint64_t most = reference_number("PELTON_TEST_MACROBLOCKS", UINT32_MAX);
    bool fits = (uint64_t)params->mb_width * params->mb_height <= most;
    struct recon *r = fits ? calloc(1, sizeof(*r)) : NULL;
    if (!r)
        return GPU_ERR_NOMEM;
    r->gpu = g;
    r->params = *params;
    r->frames = calloc(params->slots, sizeof(*r->frames));
    r->wide = params->bit_depth[0] > 8 || params->bit_depth[1] > 8;
    r->work = ref_frame_create(params->mb_width, params->mb_height, params->chroma_format_idc);
    bool failed = !r->frames || !r->work;
    for (uint32_t i = 0; i < params->slots && !failed; i++) {
        r->frames[i] =
            ref_frame_create(params->mb_width, params->mb_height, params->chroma_format_idc);
        failed = !r->frames[i];
    }
    if (failed) {
        recon_free(r);
        return GPU_ERR_NOMEM;
    }
    if (getenv("PELTON_TEST_SLOTS"))
        fill_slots(r, strtoul(getenv("PELTON_TEST_SLOTS"), NULL, 10));
    *out = r;
    return 0;
}

void recon_free(struct recon *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; r->frames && i < r->params.slots; i++)
        ref_frame_free(r->frames[i]);
    ref_frame_free(r->work);
    free(r->frames);
    free(r);
}

uint32_t recon_width(const struct recon *r)
{
    return r->params.width;
}

uint64_t recon_memory(const struct recon *r)
{
    return (uint64_t)r->params.slots * r->params.mb_width * r->params.mb_height * 384;
}

int recon_bytes(struct gpu *g, const struct recon_params *params, struct recon_bytes *out)
{
    *out = (struct recon_bytes){0};
    return 0;
}

struct recon_growth {
    struct recon *to;
};

int recon_growth_create(const struct recon *r, uint32_t slots, uint32_t width,
                        struct recon_growth **out)
{
    struct recon_growth *growth = calloc(1, sizeof(*growth));
    struct recon_params params = r->params;
    params.slots = slots;
    params.width = width;
    int err = growth ? recon_create(r->gpu, &params, &growth->to) : GPU_ERR_NOMEM;
    if (err) {
        free(growth);
        return err;
    }
    *out = growth;
    return 0;
}

void recon_growth_free(struct recon_growth *growth)
{
    if (growth)
        recon_free(growth->to);
    free(growth);
}

/* These frames stay, and both have frames to free. */
int recon_grow(struct recon *r, struct recon_growth *growth, const uint32_t *frames, uint32_t count)
{
    struct ref_frame **grown = growth->to->frames;
    struct recon_params params = growth->to->params;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = frames[i];
        if (slot >= r->params.slots || slot >= params.slots)
            continue;
        struct ref_frame *frame = grown[slot];
        grown[slot] = r->frames[slot];
        r->frames[slot] = frame;
    }
    growth->to->frames = r->frames;
    growth->to->params = r->params;
    r->frames = grown;
    r->params = params;
    recon_growth_free(growth);
    return 0;
}

static void copy_frame(struct recon *r, const struct recon_picture *p)
{
    struct ref_frame *to = r->frames[p->slot];
    for (int c = 0; c < 3; c++) {
        uint32_t height = r->params.mb_height * ref_mb_height(to->chroma_format_idc, c);
        if (p->planes && !(p->planes >> c & 1))
            continue;
        for (uint32_t y = 0; y < height; y++) {
            if (p->rows && (y & 1) != (p->rows == REC_BOTTOM))
                continue;
            size_t row = (size_t)y * to->stride[c],
                   source = (size_t)(p->rows == p->rows_from ? y : y ^ 1) * to->stride[c];
            for (uint32_t x = 0; x < to->stride[c]; x++)
                to->plane[c][row + x] = p->copy_from == UINT32_MAX
                                            ? (uint16_t)(1 << (r->params.bit_depth[c > 0] - 1))
                                            : r->frames[p->copy_from]->plane[c][source + x];
        }
    }
}

static void put_plane(const struct recon *r, uint8_t *to, uint32_t stride, uint32_t step,
                      const uint16_t *from, size_t from_stride, uint32_t width, uint32_t height)
{
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint16_t sample = from[y * from_stride + x];
            uint8_t *at = to + (size_t)y * stride + (size_t)x * step * (r->wide ? 2 : 1);
            at[0] = (uint8_t)sample;
            if (r->wide)
                at[1] = (uint8_t)(sample >> 8);
        }
}

static void put_frame(struct recon *r, const struct recon_delivery *d)
{
    const struct ref_frame *f = r->frames[d->slot];
    bool nv12 = d->format == RECON_NV12,
         field = d->structure == REC_TOP || d->structure == REC_BOTTOM;
    for (int c = 0; c < (d->format == RECON_GRAY ? 1 : 3); c++) {
        uint32_t sub_x = c && d->format != RECON_I444,
                 sub_y = c && (nv12 || d->format == RECON_I420);
        uint32_t plane = nv12 && c ? 1u : (uint32_t)c, rows = field ? 2 : 1;
        size_t first = (size_t)(d->crop_y >> sub_y) * rows + (d->structure == REC_BOTTOM);
        put_plane(r, d->host->memory + d->offset[plane] + (nv12 && c == 2), d->stride[plane],
                  nv12 && c ? 2 : 1, f->plane[c] + first * f->stride[c] + (d->crop_x >> sub_x),
                  (size_t)f->stride[c] * rows, (d->width + sub_x) >> sub_x,
                  (d->height + sub_y) >> sub_y);
    }
}

bool recon_takes_rows(const struct recon *r, const struct rec_view *view)
{
    return view->slices[0].slice_type < 3;
}

/* Rows alone are left for the rest of their picture. */
int recon_submit(struct recon *r, const struct recon_picture *pictures, uint32_t n,
                 const struct recon_delivery *deliveries, uint32_t m, uint64_t *ticket)
{
    if (r->gpu->lose_at && ++r->batches >= r->gpu->lose_at)
        return GPU_ERR_LOST;
    if (n > r->params.width)
        return GPU_ERR_INVALID;
    for (uint32_t i = 0; i < n; i++)
        if (!pictures[i].view)
            copy_frame(r, &pictures[i]);
        else if (pictures[i].end_row)
            continue;
        else if (ref_reconstruct(pictures[i].view, r->frames, r->params.slots, r->work))
            return GPU_ERR_INVALID;
    for (uint32_t i = 0; i < m; i++)
        put_frame(r, &deliveries[i]);
    r->times.pictures += n;
    r->times.batches++;
    r->times.deliveries += m;
    *ticket = ++r->submitted;
    return 0;
}

uint64_t recon_done(struct recon *r)
{
    if (r->done < r->submitted)
        r->done++;
    return r->done;
}

int recon_wait(struct recon *r, uint64_t ticket, uint64_t timeout_ns)
{
    if (ticket > r->submitted)
        return GPU_ERR_INVALID;
    while (r->done < ticket)
        recon_done(r);
    return 0;
}

void recon_step_seconds(struct recon *r, double seconds[RECON_STEPS])
{
}

void recon_times(struct recon *r, struct recon_times *out)
{
    *out = r->times;
}
