/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the files of gpu_entropy: batches and their resources.
 */
#ifndef PELTON_GPU_ENTROPY_INTERNAL_H
#define PELTON_GPU_ENTROPY_INTERNAL_H

#include "gpu/engine/arena.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"
#include "gpu/h264/gpu_entropy.h"
#include "gpu/shaders/lib/entropy_args.h"

#define ENTROPY_COEFF_BLOCK_BYTES 32
#define ENTROPY_SYNTAX_BYTES      8
#define ENTROPY_EDGE_BYTES        24 /* of a macroblock, for the one below */
#define ENTROPY_COUNTS_BYTES      (ENT_COUNTS * sizeof(uint32_t)) /* of a picture */
/* Rounds in flight: the device goes on while the thread that submits them does other things. A
 * power of two. */
#define ENTROPY_ROUNDS 2
/* Part of a round's time that passes before the next one begins: what is left is longer than the
 * thread takes to fill a batch. */
#define ENTROPY_ROUND_DONE 0.6

enum entropy_state {
    BATCH_FREE,
    BATCH_FILLING,
    BATCH_DECODING, /* takes part in rounds */
    BATCH_DECODED,
    BATCH_FETCHING,
    BATCH_FETCHED
};

enum entropy_coding { ENTROPY_CABAC, ENTROPY_CAVLC, ENTROPY_CODINGS };

/* What a batch can hold. */
struct entropy_room {
    uint32_t pictures, slices, mbs, coeff_blocks, packed_words, bytes;
};

/* Where a round's results of the slices are in a batch's results, and its counts of the pictures.
 */
static inline uint64_t gpu_entropy_results(const struct entropy_room *room, uint32_t turn)
{
    return turn *
           (room->slices * sizeof(struct ent_result) + room->pictures * ENTROPY_COUNTS_BYTES);
}

static inline uint64_t gpu_entropy_counts(const struct entropy_room *room, uint32_t turn)
{
    return gpu_entropy_results(room, turn) + room->slices * sizeof(struct ent_result);
}

struct batch_picture {
    uint32_t mb_base, mb_count, coeff_block_base, coeff_block_most, packed_base, packed_most;
    uint32_t next_mb;      /* slices cover the picture up to here */
    bool gap;              /* but not all of it */
    uint32_t coeff_blocks; /* once decoded */
    uint32_t packed_words; /* the same; 0: none */
    bool failed;
};

struct batch_slice {
    struct ent_slice slice;
    uint32_t weight; /* see ENT_MB_WEIGHT */
};

/* A copy that a fetch leaves to the host. */
struct entropy_copy {
    void *to;
    uint64_t from, size;
};

struct gpu_entropy_batch {
    struct gpu_entropy *e; /* NULL: not made yet */
    struct entropy_room room;
    enum entropy_state state;
    uint32_t picture_count, slice_count, mbs, coeff_blocks, packed_words, bytes, lines;
    struct batch_picture *pictures;
    struct batch_slice *slices; /* once submitted, the heaviest first */
    uint32_t reserved;          /* by gpu_entropy_slice_bytes */
    uint32_t first, rounds;     /* its first round, and in how many it took part */
    uint32_t weight;            /* that they decode of each slice which is not complete */
    uint32_t live;              /* slices that weigh more, which are the first ones */
    uint32_t codings;           /* 1 << enum entropy_coding of its slices */

    struct gpu_buffer up; /* slices, then bytes, of the host */
    struct gpu_buffer device[ENT_BINDINGS];
    struct gpu_buffer results; /* for the host: of each round in flight */
    struct gpu_buffer staging; /* fetched arrays that do not go to an arena; grows */
    uint64_t staged;
    struct entropy_copy *copies;
    uint32_t copy_count, copy_capacity;

    struct gpu_point decoded; /* its last round */
    struct gpu_queue *down;
    struct gpu_work *work;        /* fetching */
    struct gpu_submission *fetch; /* that is being recorded, or NULL */
    bool resident;                /* some of it goes into an arena of the device */
    double seconds;               /* of its rounds */
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
};

/* Resources of barriers: bindings of the shader, and memory that is copied to. */
#define ENTROPY_BIT(binding) (1u << (binding))
#define ENTROPY_RESULTS      ENTROPY_BIT(ENT_BINDINGS)
#define ENTROPY_TARGETS      ENTROPY_BIT(ENT_BINDINGS + 1)

struct gpu_entropy {
    struct gpu *g;
    struct gpu_entropy_params params;
    struct gpu_buffer tables;
    const struct gpu_layout *layout;
    /* the device's; when they are needed; by the logarithm of the slices of a subgroup */
    VkPipeline pipelines[ENTROPY_CODINGS][ENT_SHARES];
    VkPipeline ranges;
    uint32_t threads; /* of a workgroup */
    uint32_t share;   /* gpu_entropy_share */
    struct gpu_queue *queue;
    struct gpu_work *work;           /* rounds */
    uint32_t begun, ended;           /* rounds, modulo 2^32 */
    uint32_t pieces[ENTROPY_ROUNDS]; /* of the rounds in flight */
    int64_t since_ns;                /* the oldest of them is at work */
    double piece_ns;                 /* that the last round took for a unit of weight */
    struct gpu_entropy_batch *batches;
    uint32_t batch_count; /* less than params.batches where memory was short */
};

/* gpu_entropy_fetch.c: gpu_work's done() */
void gpu_entropy_fetched(void *ctx, const struct gpu_submission *s);

/* gpu_entropy_round.c. Begin the rounds that are due. */
int gpu_entropy_rounds(struct gpu_entropy *e);
/* Until one more may begin, as long as no round ends; UINT64_MAX: none will. */
uint64_t gpu_entropy_due_ns(const struct gpu_entropy *e);
void gpu_entropy_round_done(void *ctx, const struct gpu_submission *s); /* gpu_work's done() */

/* gpu_entropy_create.c. share: the logarithm */
int gpu_entropy_pipeline(struct gpu_entropy *e, enum entropy_coding coding, uint32_t share);
struct entropy_room gpu_entropy_room(const struct gpu_entropy *e, uint32_t pictures);
uint64_t gpu_entropy_room_bytes(const struct entropy_room *room); /* of device memory */
int gpu_entropy_batch_create(struct gpu_entropy *e, const struct entropy_room *room,
                             struct gpu_entropy_batch *b);
void gpu_entropy_batch_free(struct gpu_entropy_batch *b); /* half built or not made: fine */

#endif
