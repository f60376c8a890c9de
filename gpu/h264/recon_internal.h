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
#include "gpu/engine/work.h"
#include "gpu/h264/recon_table.h"

#define RECON_MAX_FLIGHT 4
#define RECON_MAX_PASSES 128
#define RECON_QUERIES    (RECON_MAX_PASSES + 8)
#define RECON_NO_PASS    RECON_MAX_PASSES

#define RECON_BUFFERS     (0x1fffu | RECON_B(BIND_BLUR)) /* bindings 0..12, and one */
#define RECON_IMAGES      (0x3fu << BIND_WORK_Y)
#define RECON_IMAGE_COUNT 6
#define RECON_FRAMES      (RECON_B(BIND_FRAME_Y) | RECON_B(BIND_FRAME_CB) | RECON_B(BIND_FRAME_CR))
#define RECON_UPLOADED                                                                             \
    (RECON_B(BIND_PICTURES) | RECON_B(BIND_MBS) | RECON_B(BIND_MOTION) | RECON_B(BIND_SLICES) |    \
     RECON_B(BIND_COEFFS) | RECON_B(BIND_WEIGHTS) | RECON_B(BIND_SCALING) | RECON_B(BIND_DELIVER))

#define RECON_FORMATS 5
/* each also for crops by whole texels */
#define RECON_DELIVER_VARIANTS (2 * RECON_FORMATS)
#define RECON_WANTS            (RECON_MAX_PASSES + 1 + RECON_DELIVER_VARIANTS)
/* + format: with rectangles; made when they are first asked for */
#define RECON_BLURRED           RECON_DELIVER_VARIANTS
#define RECON_DELIVER_PIPELINES (3 * RECON_FORMATS)
#define RECON_BY_COPY           RECON_DELIVER_PIPELINES

struct recon_section {
    uint64_t offset, size;
};

/* A delivery, checked and ready to be sent, and where it goes. */
struct recon_item {
    const struct recon_delivery *delivery;
    struct gpu_host *host;
    struct gpu_window window;
    enum recon_format format;
    /* of the pipeline: format, and whether aligned or blurred; RECON_BY_COPY: no shader */
    uint32_t variant;
    struct recon_deliver_args args;
    struct gpu_rect rects[3];
    uint32_t rect_count;
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
    const struct recon_delivery *deliveries;
    uint32_t delivery_count;
    struct recon_shape shape;
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

/* The buffers of one chunk in flight; all of it is reused for ever. */
struct recon_flight {
    struct gpu_submission *s; /* while it is being recorded */
    VkDescriptorSet set;
    struct gpu_buffer staging, upload; /* unified: only staging, which the shaders read */
    VkBufferCopy *regions;             /* of staging, to be uploaded; [3 * width + 16] */
    uint32_t region_count;
    struct recon_copy *copies; /* from arenas; [3 * width] */
    uint32_t copy_count;
    bool resident; /* some of them from the device's own memory */
    /* recon_pack.c: the region of each section that may still grow */
    struct recon_section open[BIND_DELIVER + 1];
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
    uint64_t upload_capacity;   /* usual size of a flight's staging */
    uint32_t coeff_block_bytes;
    bool wide; /* samples of 16 bits, coefficients of 32 */

    const struct gpu_layout *layout;
    /* while it is being created: pipelines are written down here, not made */
    struct gpu_pipeline_want *wants;
    uint32_t want_count;
    VkPipeline pipelines[RECON_MAX_PASSES], copy_pipeline,
        deliver_pipelines[RECON_DELIVER_PIPELINES], blur_pipelines[RECON_FORMATS];
    /* where a delivery needs no shader and the main queue makes it: faster on software */
    bool deliver_by_copy;
    VkDescriptorPool descriptors;
    struct gpu_image images[RECON_IMAGE_COUNT]; /* from BIND_WORK_Y on */
    struct gpu_buffer scratch, blur; /* blur: recon_blur[delivery_capacity], or none yet */
    struct recon_section regions[BIND_DELIVER + 1]; /* of scratch */
    uint32_t zeroed;                                /* mask */
    struct recon_item *items; /* [delivery_capacity], of the chunk that is being recorded */

    struct gpu_queue *queues[RECON_PARTS]; /* the main one where the device has no more */
    struct gpu_work *work;                 /* a part for each of them */
    /* [slots][2]: last deliveries by RECON_PART_DELIVER and _DOWN that read it; 0: none */
    uint64_t *slot_reads;

    struct recon_flight flights[RECON_MAX_FLIGHT];
    uint32_t flight_count;

    pthread_mutex_t lock; /* flights' tickets, and all that follows; taken after that of work */
    bool lock_made;
    uint64_t submitted, done; /* tickets */
    struct recon_times times;
    double pass_seconds[RECON_MAX_PASSES];
};

/* recon.c: callbacks of the ring */
void recon_chunk_done(void *ctx, const struct gpu_submission *s);
void recon_chunk_submitted(void *ctx, const struct gpu_submission *s);

/* recon_format.c */
uint64_t recon_coeff_blocks_per_mb(const struct recon_params *p);
/* ChromaArrayType of the records */
uint8_t recon_chroma_format(const struct recon_params *p);
/* Bits of the samples of the chroma planes: those of luma where the three planes are coded alike.
 */
uint8_t recon_chroma_depth(const struct recon_params *p);
/* How often chroma is halved in x and y. */
uint32_t recon_shift_x(enum recon_format format);
uint32_t recon_shift_y(enum recon_format format);

/* recon_pipelines.c */
/* The pipeline of a shader, in the compilation and with the constants of this store. wide NULL: the
 * same for all sample sizes. */
int recon_pipeline(struct recon *r, const uint32_t *spirv, size_t spirv_size, const uint32_t *wide,
                   size_t wide_size, const uint32_t *constants, uint32_t constant_count,
                   const char *name, VkPipeline *out);
int recon_pass_pipeline(struct recon *r, uint32_t index);

/* recon_create.c */
/* Make a flight's buffers hold bytes; it must be idle. */
int recon_flight_grow(struct recon *r, struct recon_flight *f, uint64_t bytes);

/* recon_pack.c */
/* Bytes of an upload of worst.pictures pictures of usual size, one of them of the greatest; 0 where
 * a section of it would exceed the reach of a descriptor. */
uint64_t recon_upload_capacity(const struct recon *r);
/* Coefficient blocks that a picture takes of the upload. */
uint32_t recon_packed_blocks(const struct recon *r, const struct rec_view *view);
/* As many pictures, and then deliveries, as fit one submission. */
void recon_chunk_plan(const struct recon *r, const struct recon_picture *pictures, uint32_t n,
                      const struct recon_delivery *deliveries, uint32_t m,
                      struct recon_chunk *chunk);
void recon_chunk_pack(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk);

/* recon_record.c */
/* Record all parts of a chunk. */
int recon_record(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk);

/* recon_queues.c */
int recon_queues_open(struct recon *r);
void recon_queues_close(struct recon *r);
/* True if the chunk gains by several queues. */
bool recon_chunk_parts(struct recon *r, const struct recon_chunk *chunk);
/* True if plain deliveries of the chunk are copies. */
bool recon_deliver_by_copy(const struct recon *r, const struct recon_chunk *chunk);
/* Declare the dependencies of the part that is being recorded. */
void recon_part_depend(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                       enum recon_part part);
/* The chunk is submitted: its deliveries read slots. */
void recon_parts_submitted(struct recon *r, const struct recon_chunk *chunk);

/* recon_deliver.c */
int recon_deliver_pipelines(struct recon *r);
/* Check one delivery. by_copy: without a shader, where no sample has to be moved by itself. */
int recon_deliver_prepare(const struct recon *r, const struct recon_delivery *d, bool by_copy,
                          struct recon_item *out);
/* Prepare, sort into groups of one dispatch each, and make room in the hosts for their
 * rectangles. Fills chunk->shaded. */
int recon_deliver_plan(struct recon *r, struct recon_chunk *chunk);
void recon_deliver_record(struct recon *r, struct gpu_submission *s,
                          const struct recon_chunk *chunk);
/* The submission went out. */
void recon_deliver_submitted(struct recon *r, const struct recon_chunk *chunk,
                             const struct gpu_point *point);
void recon_copies_record(struct recon *r, struct gpu_submission *s,
                         const struct recon_chunk *chunk);

/* recon_blur.c */
/* Does every rectangle touch the picture? */
bool recon_blur_valid(const struct recon_delivery *d);
/* Make pipelines and buffer for the blurred items. */
int recon_blur_plan(struct recon *r, uint32_t count);
/* The cells of all items that are blurred; leaves them to be read by compute. */
void recon_blur_record(struct recon *r, struct gpu_submission *s, uint32_t count);

/* recon_times.c */
void recon_stamp(struct recon *r, struct recon_flight *f, enum recon_stage stage, uint32_t pass);
/* GPU seconds spent in each pass of the table since creation. */
void recon_pass_times(struct recon *r, double seconds[RECON_MAX_PASSES]);
/* Add up a finished submission; with lock held. */
void recon_times_add(struct recon *r, const struct gpu_submission *s);

/* recon_read.c: for tests, beside recon_read_slot */
int recon_write_slot(struct recon *r, uint32_t slot, const void *y, const void *cb, const void *cr);

#endif
