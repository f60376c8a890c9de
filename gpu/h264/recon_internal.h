/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The batch executor's own structures, shared by the recon*.c files.
 */
#ifndef PELTON_RECON_INTERNAL_H
#define PELTON_RECON_INTERNAL_H

#include "gpu/engine/arena.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/images.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/steps.h"
#include "gpu/engine/work.h"
#include "gpu/h264/recon_table.h"

#include <string.h>

#define RECON_MAX_FLIGHT 4
#define RECON_MAX_PASSES 128
#define RECON_QUERIES    (RECON_MAX_PASSES + 8)
#define RECON_NO_PASS    RECON_MAX_PASSES

#define RECON_BUFFERS     (0x3fffu | RECON_B(BIND_BLUR)) /* bindings 0..13, and one */
#define RECON_IMAGES      (0x3fu << BIND_WORK_Y)
#define RECON_IMAGE_COUNT 6
#define RECON_FRAMES      (RECON_B(BIND_FRAME_Y) | RECON_B(BIND_FRAME_CB) | RECON_B(BIND_FRAME_CR))
#define RECON_UPLOADED                                                                             \
    (RECON_B(BIND_PICTURES) | RECON_B(BIND_MBS) | RECON_B(BIND_MOTION) | RECON_B(BIND_SLICES) |    \
     RECON_B(BIND_COEFFS) | RECON_B(BIND_PACKED) | RECON_B(BIND_WEIGHTS) | RECON_B(BIND_SCALING) | \
     RECON_B(BIND_DELIVER))

/* those that arenas may hold */
#define RECON_LARGE                                                                                \
    (RECON_B(BIND_MBS) | RECON_B(BIND_MOTION) | RECON_B(BIND_COEFFS) | RECON_B(BIND_PACKED))

#define RECON_FORMATS 5
/* each also for crops by whole texels */
#define RECON_DELIVER_VARIANTS (2 * RECON_FORMATS)
#define RECON_WANTS            (RECON_MAX_PASSES + 1 + RECON_DELIVER_PIPELINES + RECON_FORMATS)
/* + format: with rectangles; made when they are first asked for */
#define RECON_BLURRED RECON_DELIVER_VARIANTS
/* by the table of a conversion; one more: with rectangles */
#define RECON_CONVERTED         (3 * RECON_FORMATS)
#define RECON_DELIVER_PIPELINES (RECON_CONVERTED + 2)
#define RECON_BY_COPY           RECON_DELIVER_PIPELINES

struct recon_section {
    uint64_t offset, size;
};

/* struct recon_blur without its cells */
struct recon_blur_head {
    uint32_t count;
    struct recon_blur_rect rects[RECON_BLURS];
};

/* A delivery, checked and ready to be sent, and where it goes. */
struct recon_item {
    const struct recon_delivery *delivery;
    struct gpu_host *host;
    struct gpu_window window;
    enum recon_format format;
    /* of the pipeline: format, and whether aligned or blurred; RECON_BY_COPY: no shader */
    uint32_t variant;
    bool copyable; /* no sample has to be moved by itself */
    struct recon_deliver_args args;
    struct gpu_rect rects[3];
    uint32_t rect_count;
    uint32_t grid[2]; /* workgroups */
};

/* The submissions of a chunk, each on a queue of its own: copies up, reconstruction, then
 * deliveries by shaders or by copies. Where that would gain nothing all of it is one,
 * RECON_PART_MAIN. */
enum recon_part {
    RECON_PART_UP,
    RECON_PART_MAIN,
    RECON_PART_DELIVER,
    RECON_PART_DOWN,
    RECON_PARTS
};

/* The part of a recon_submit call that goes through one flight. A call is split where it exceeds
 * the buffers. */
struct recon_chunk {
    const struct recon_picture *pictures; /* records and copies mixed */
    uint32_t picture_count;
    struct recon_item *items; /* of its deliveries */
    uint32_t delivery_count;
    struct recon_shape shape;
    uint32_t row_first, row_end;                     /* rows of its only picture; else all */
    struct recon_section sections[BIND_DELIVER + 1]; /* those of RECON_UPLOADED */
    uint64_t bytes;
    uint32_t copies;
    uint32_t shaded; /* the first so many items are delivered by shaders, the others by copies */
    bool parts;      /* on several queues */
};

/* Records that the device fetches itself. */
struct recon_copy {
    VkBuffer from;
    VkBufferCopy region;
};

/* Bytes of a section that go through staging. */
struct recon_piece {
    uint32_t section;
    uint64_t to, bytes;
    uint64_t staged;  /* where they lie there */
    const void *from; /* NULL: the macroblocks of view without gaps, and so the next piece */
    const struct rec_view *view;
};

/* The buffers of one chunk in flight; all of it is reused for ever. */
struct recon_flight {
    struct gpu_submission *s; /* while it is being recorded */
    VkDescriptorSet set;
    /* Both grow with need. Staging has only what is not fetched from arenas. Unified: there is only
     * staging, laid out as the upload, and the shaders read it. */
    struct gpu_buffer staging, upload;
    uint64_t promise;                  /* bytes of the device that are claimed for the upload */
    uint64_t staged[BIND_DELIVER + 1]; /* where staging has room for a section's next bytes */
    VkBufferCopy *regions;             /* of staging, to be uploaded; [3 * width + 16] */
    uint32_t region_count;
    struct recon_copy *copies; /* from arenas; [3 * width] */
    uint32_t copy_count;
    struct recon_piece *pieces; /* of large records that lie in none; [3 * width] */
    uint32_t piece_count;
    /* submissions that wrote the copies which lie in the device's own memory; 0: none of them */
    struct gpu_point writers[GPU_QUEUES];
    uint32_t writer_count;
    /* recon_pack.c: the region of each section that may still grow */
    VkBufferCopy open[BIND_DELIVER + 1];
    uint64_t upload_bytes;
    const struct recon_chunk *chunk; /* while it is being submitted */
    bool ends;                       /* it is the last chunk of its call */
    uint64_t ticket;                 /* that ends with it, or 0; under recon.lock */
};

struct recon {
    struct gpu *g;
    struct recon_params params;
    struct recon_shape worst;
    uint32_t delivery_capacity; /* per submission */
    uint64_t upload_capacity;   /* most of an upload, but for a single picture */
    uint64_t upload_one;        /* of one picture */
    uint32_t coeff_block_bytes;
    bool wide; /* samples of 16 bits, coefficients of 32 */

    const struct gpu_layout *layout;
    VkPipeline pipelines[RECON_MAX_PASSES], copy_pipeline,
        deliver_pipelines[RECON_DELIVER_PIPELINES], blur_pipelines[RECON_FORMATS];
    /* where a delivery needs no shader and the main queue makes it: faster on software */
    bool deliver_by_copy;
    VkDescriptorPool descriptors;
    struct gpu_image images[RECON_IMAGE_COUNT]; /* from BIND_WORK_Y on */
    struct gpu_buffer scratch, blur; /* blur: recon_blur[delivery_capacity], or none yet */
    struct recon_section regions[BIND_DELIVER + 1]; /* of scratch */
    uint32_t zeroed;                                /* mask */
    struct recon_item *items;                       /* [item_capacity], of the call */
    uint32_t item_capacity;
    uint32_t *table_places; /* [delivery_capacity], of the chunk's items */
    /* [delivery_capacity], of the chunk's blurred items; NULL: none yet */
    struct recon_blur_head *blur_heads;
    struct gpu_steps steps; /* of the chunk that is being recorded */

    struct gpu_queue *queues[RECON_PARTS]; /* the main one where the device has no more */
    struct gpu_work *work;                 /* a part for each of them */
    /* [slots][2]: last deliveries by RECON_PART_DELIVER and _DOWN that read it; 0: none */
    uint64_t *slot_reads;

    struct recon_flight flights[RECON_MAX_FLIGHT];
    uint32_t flight_count;
    double step_seconds[RECON_STEPS];
    /* the last batch has reconstructed these rows of the slot's picture; 0: all of its pictures */
    struct {
        uint32_t slot, rows;
    } begun;

    pthread_mutex_t lock; /* flights' tickets, and all that follows; taken after that of work */
    bool lock_made;
    uint64_t submitted, done; /* tickets */
    struct recon_times times;
    double pass_seconds[RECON_MAX_PASSES];
};

/* recon.c: callbacks of the ring */
void recon_chunk_done(void *ctx, const struct gpu_submission *s);
void recon_chunk_submitted(void *ctx, const struct gpu_submission *s);

/* ---- numbers that follow from the format of a frame store or of a delivery ---- */

/* ChromaArrayType of the records */
static inline uint8_t recon_chroma_format(const struct recon_params *p)
{
    return p->separate_planes ? 0 : p->chroma_format_idc;
}

/* 16 of luma and those of two chroma planes (Table 6-1) */
static inline uint64_t recon_coeff_blocks_per_mb(const struct recon_params *p)
{
    static const uint8_t coeff_blocks[4] = {16, 24, 32, 48};
    return coeff_blocks[recon_chroma_format(p)];
}

/* Bits of the samples of the chroma planes: those of luma where the three planes are coded alike.
 */
static inline uint8_t recon_chroma_depth(const struct recon_params *p)
{
    return p->bit_depth[p->separate_planes ? 0 : 1];
}

/* How often chroma is halved in x and y. */
static inline uint32_t recon_shift_x(enum recon_format format)
{
    return format == RECON_I444 || format == RECON_GRAY ? 0 : 1;
}

static inline uint32_t recon_shift_y(enum recon_format format)
{
    return format == RECON_I420 || format == RECON_NV12 ? 1 : 0;
}

/* Coefficient blocks that a picture takes of the upload. Slices take coefficient blocks in chunks,
 * so many slices leave many gaps: beyond what its macroblocks could fill, a picture is packed
 * without them. */
static inline uint32_t recon_packed_blocks(const struct recon *r, const struct rec_view *view)
{
    uint64_t most = view->head.mb_count * recon_coeff_blocks_per_mb(&r->params);
    return view->coeff_block_count > most ? (uint32_t)most : view->coeff_block_count;
}

static inline uint32_t recon_mb_blocks(const struct rec_mb *mb)
{
    return (uint32_t)(__builtin_popcount(mb->coded[0]) + __builtin_popcount(mb->coded[1]) +
                      __builtin_popcount(mb->coded[2]));
}

static inline bool recon_item_blurred(const struct recon_item *item)
{
    return item->delivery->blur_count > 0;
}

static inline uint64_t *recon_slot_read(struct recon *r, uint32_t slot, int part)
{
    return &r->slot_reads[2 * (size_t)slot + (part == RECON_PART_DOWN)];
}

/* ---- recon_create.c ---- */

/* Images and scratch for params.slots and for batches of params.width, or fewer. */
int recon_room_make(struct recon *r);
void recon_room_free(struct recon *r);
/* The lists of a flight for batches of so many pictures. It must be idle. */
int recon_flight_lists(struct recon_flight *f, uint32_t pictures);
/* Images and scratch of the flight's descriptors. It must be idle. */
void recon_set_write(struct recon *r, struct recon_flight *f);

/* ---- recon_prepare.c ---- */

int recon_queues_get(struct recon *r);
/* The pipelines that every batch may need, in threads of their own. */
int recon_pipelines_begin(struct recon *r);
/* Buffers and pipelines of a chunk whose deliveries are planned. RECON_NARROWER: the budget has
 * *room bytes for the upload, and the chunk is to be planned anew. */
#define RECON_NARROWER 1
int recon_prepare(struct recon *r, struct recon_flight *f, struct recon_chunk *chunk,
                  uint64_t *room);

/* recon_pack.c */
/* Bytes of an upload of worst.pictures pictures of usual size, one of them of the greatest; 0 where
 * a section of it would exceed the reach of a descriptor. */
uint64_t recon_upload_capacity(const struct recon *r);
/* A region of staging is complete. */
static inline void recon_section_close(struct recon_flight *f, VkBufferCopy *open)
{
    if (open->size)
        f->regions[f->region_count++] = *open;
    f->upload_bytes += open->size;
    open->size = 0;
}

/* Bytes of staging are to be uploaded; those of a section come in order and join where they touch.
 */
static inline void recon_section_staged(struct recon_flight *f, uint32_t section,
                                        const VkBufferCopy *copy)
{
    VkBufferCopy *open = &f->open[section];
    if (!open->size || open->dstOffset + open->size != copy->dstOffset ||
        open->srcOffset + open->size != copy->srcOffset) {
        recon_section_close(f, open);
        *open = *copy;
        return;
    }
    open->size += copy->size;
}

/* As many pictures, and then deliveries, as fit one submission and so many bytes. */
void recon_chunk_plan(const struct recon *r, uint64_t room, const struct recon_picture *pictures,
                      uint32_t n, struct recon_item *items, uint32_t m, struct recon_chunk *chunk);
void recon_chunk_pack(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk);

/* recon_record.c */
/* Write the steps of a chunk to r->steps. */
void recon_record(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk);
static inline void recon_stamp(struct recon *r, enum recon_stage stage, uint32_t pass)
{
    gpu_steps_next(&r->steps, GPU_STEP_STAMP)->stamp = (uint32_t)stage | pass << 8;
}

/* Append a dispatch; the caller may change it. */
static inline struct gpu_step_group *recon_dispatch(struct recon *r, VkPipeline pipeline,
                                                    const struct recon_push *push, uint32_t x,
                                                    uint32_t y, uint32_t z)
{
    struct gpu_step_group *group = &gpu_steps_next(&r->steps, GPU_STEP_GROUP)->group;
    group->pipeline = pipeline;
    group->layout = r->layout->pipeline;
    group->host_set = VK_NULL_HANDLE;
    group->push_size = sizeof(*push);
    group->xyz[0] = x;
    group->xyz[1] = y;
    group->xyz[2] = z;
    memcpy(group->push, push, sizeof(*push));
    group->indirect = VK_NULL_HANDLE;
    return group;
}

/* recon_deliver.c */
/* The shaders that write host memory, for one pipeline each. */
bool recon_format_valid(const struct recon *r, enum recon_format format);
/* Check all deliveries of a call, and make room in the hosts for their rectangles. Fills r->items.
 * *bad: the first one that is invalid. */
int recon_deliver_prepare(struct recon *r, const struct recon_delivery *deliveries, uint32_t m,
                          uint32_t *bad);
/* Decide whether the chunk has parts, and sort its deliveries into groups of one dispatch each.
 * Fills chunk->parts and chunk->shaded. */
void recon_deliver_plan(const struct recon *r, const struct recon_flight *f,
                        struct recon_chunk *chunk);
/* Append the steps of the chunk's deliveries. */
void recon_deliver_record(struct recon *r, const struct recon_chunk *chunk);

/* recon.c */
/* GPU seconds spent in each pass of the table since creation. */
void recon_pass_times(struct recon *r, double seconds[RECON_MAX_PASSES]);

/* recon_read.c: for tests, beside recon_read_slot */
int recon_write_slot(struct recon *r, uint32_t slot, const void *y, const void *cb, const void *cr);

#endif
