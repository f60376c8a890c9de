/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by gpu_motion*.c: batches and their resources.
 */
#ifndef PELTON_GPU_MOTION_INTERNAL_H
#define PELTON_GPU_MOTION_INTERNAL_H

#include "gpu/engine/arena.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"
#include "gpu/h264/gpu_motion.h"
#include "gpu/shaders/lib/motion_args.h"

#define MOTION_SYNTAX_BYTES 8
#define MOTION_MAP_BYTES    2
#define MOTION_USED_BYTES   8
#define MOTION_RESULT_BYTES (MOT_RESULTS * sizeof(uint32_t))
#define MOTION_PUSH_WORDS   2

enum motion_state { MOTION_FREE, MOTION_FILLING, MOTION_WORKING, MOTION_DONE };

/* Sources and targets of the records of a picture. */
enum { MOTION_MBS, MOTION_MOTION, MOTION_SYNTAX, MOTION_INPUTS };
struct motion_picture {
    uint32_t mb_base, mb_count, slice_base, slice_count;
    struct gpu_place from[MOTION_INPUTS];
    bool fetched;        /* the shader reads its rec_motion in host memory; else it is copied */
    uint32_t first_word; /* where that begins in the descriptor's range */
    struct rec_mb *to_mbs;
    struct rec_motion *to_motion;
    uint16_t *to_still;
    struct gpu_place final[2]; /* buffer NULL: nowhere, or where they are */
};

/* A copy from staging that the device leaves to the host. */
struct motion_copy {
    void *to;
    uint64_t from, size;
};

struct gpu_motion_batch {
    struct gpu_motion *m; /* NULL: not made yet */
    enum motion_state state;
    uint32_t picture_count, slice_count, mbs, maps;
    uint32_t mb_width, mb_count; /* of the widest and of the largest picture */
    struct motion_picture *pictures;
    uint32_t *slice_maps; /* of each slice of the picture that is being added */

    struct gpu_buffer up; /* pictures, then slices, then maps, of the host */
    struct gpu_buffer device[MOT_BINDINGS];
    struct gpu_buffer results; /* of pictures, then of slices, for the host */
    struct gpu_buffer input;   /* what does not come from an arena; made when it is needed */
    uint64_t input_used;
    struct gpu_buffer staging; /* what does not go to an arena; made when it is needed */
    uint64_t staged;
    struct motion_copy *copies; /* three a picture at most */
    uint32_t copy_count;
    bool resident; /* some of it goes to arenas of the device */

    struct gpu_work *work; /* one submission: inputs, derivation, copies */
    double seconds;        /* of the dispatches */
    double input_seconds;  /* of what comes from the host */
    VkDescriptorPool descriptors, host_descriptors;
    VkDescriptorSet set;
    VkDescriptorSet *host_sets; /* by picture: its rec_motion in host memory */
};

/* The parts of a batch's work, each on a queue. */
enum { MOTION_PART_INPUT, MOTION_PART_DERIVE, MOTION_PART_COPY };
/* Resources of barriers: bindings of the shaders, and memory that is copied to. */
#define MOTION_BIT(binding) (1u << (binding))
#define MOTION_RESULTS      MOTION_BIT(MOT_BINDINGS)
#define MOTION_TARGETS      MOTION_BIT(MOT_BINDINGS + 1)

struct gpu_motion {
    struct gpu *g;
    struct gpu_motion_params params;
    const struct gpu_layout *layout;
    struct gpu_queue *up, *main, *down;
    bool prepared;
    /* the device's, once prepared; derive: for pictures up to MOT_USUAL_WIDTH, for others */
    VkPipeline derive[2], check, fetch;
    struct gpu_motion_batch *batches;
    uint32_t batch_count; /* less than params.batches where memory was short */
};

/* gpu_motion.c: gpu_work's done() */
void gpu_motion_batch_done(void *ctx, const struct gpu_submission *s);

/* gpu_motion_fetch.c */
int gpu_motion_fetch_create(struct gpu_motion_batch *b);
void gpu_motion_fetch_free(struct gpu_motion_batch *b);
/* Decides how the rec_motion of the picture that is being added comes, once its source is known. */
void gpu_motion_fetch_place(struct gpu_motion_batch *b, struct motion_picture *p);
/* The dispatches that read it, behind all copies of inputs. */
void gpu_motion_record_fetch(struct gpu_motion_batch *b, struct gpu_submission *s);

/* gpu_motion_create.c */
/* bytes of the buffers of a batch */
void gpu_motion_sizes(const struct gpu_motion_params *p, uint64_t sizes[MOT_BINDINGS]);
int gpu_motion_batch_create(struct gpu_motion *m, struct gpu_motion_batch *b);
void gpu_motion_batch_free(struct gpu_motion_batch *b); /* half built or not made: fine */

#endif
