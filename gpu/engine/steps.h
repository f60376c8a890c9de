/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Work as data: a list of steps, which gpu_work_play records and submits in one go. Pointers in
 * steps stay valid until then. Thread: that of the list.
 */
#ifndef PELTON_GPU_STEPS_H
#define PELTON_GPU_STEPS_H

#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"

#include <stdlib.h>

#define GPU_STEP_PUSH 64 /* most bytes of push constants */

enum gpu_step_kind {
    GPU_STEP_PART,       /* begin a part */
    GPU_STEP_AFTER,      /* the part starts after the point */
    GPU_STEP_AFTER_PART, /* after an earlier part of this submission */
    GPU_STEP_AFTER_LAST, /* after the part as the last submission had it */
    GPU_STEP_ACCESS,     /* of the next commands: the barrier that follows from it */
    GPU_STEP_STAMP,
    GPU_STEP_BIND,
    GPU_STEP_PIPELINE,
    GPU_STEP_GROUP, /* dispatch */
    GPU_STEP_FILL,  /* with zeros */
    GPU_STEP_UPDATE,
    GPU_STEP_COPY,
    GPU_STEP_COPY_IMAGE,
    GPU_STEP_NAME /* of the steps that follow, for the audit of barriers */
};

struct gpu_step_group {
    VkPipeline pipeline;      /* 0: the one before */
    VkPipelineLayout layout;  /* of the pipeline */
    VkDescriptorSet host_set; /* 0: the one before */
    uint32_t push_size, xyz[3];
    uint8_t push[GPU_STEP_PUSH];
    VkBuffer indirect; /* 0: xyz */
    uint64_t offset;   /* of the arguments */
};

struct gpu_step_bind {
    const struct gpu_layout *layout;
    VkDescriptorSet set;
};

struct gpu_step_fill {
    VkBuffer buffer;
    uint64_t offset, size;
    const void *data; /* of an update */
};

struct gpu_step_copy {
    VkBuffer from, to;
    uint32_t count;
    const VkBufferCopy *regions;
};

struct gpu_step_image {
    VkImage from;
    VkBuffer to;
    VkBufferImageCopy region;
};

struct gpu_step {
    enum gpu_step_kind kind;
    union {
        struct barrier_access access;
        uint32_t part, stamp;
        const char *name;
        VkPipeline pipeline;
        struct gpu_point point;
        struct gpu_step_bind bind;
        struct gpu_step_group group;
        struct gpu_step_fill fill;
        struct gpu_step_copy copy;
        struct gpu_step_image image;
    };
};

struct gpu_steps {
    struct gpu_step *all;
    uint32_t count, capacity;
    bool failed;         /* no memory for a step */
    struct gpu_step out; /* takes the steps for which there is none */
};

/* The next step. The caller sets all that its kind reads; the rest is not initialized. */
static inline struct gpu_step *gpu_steps_next(struct gpu_steps *steps, enum gpu_step_kind kind)
{
    struct gpu_step *step = &steps->out;
    if (steps->count == steps->capacity && !steps->failed) {
        uint32_t capacity = 2 * steps->capacity + 256;
        struct gpu_step *grown = realloc(steps->all, capacity * sizeof(*grown));
        steps->failed = !grown;
        steps->all = grown ? grown : steps->all;
        steps->capacity = grown ? capacity : steps->capacity;
    }
    if (steps->count < steps->capacity)
        step = &steps->all[steps->count++];
    step->kind = kind;
    return step;
}

static inline void gpu_steps_access(struct gpu_steps *steps, enum barrier_access_kind kind,
                                    enum barrier_stage stage, uint32_t reads, uint32_t writes)
{
    gpu_steps_next(steps, GPU_STEP_ACCESS)->access =
        (struct barrier_access){kind, stage, reads, writes, 0};
}

static inline void gpu_steps_name(struct gpu_steps *steps, const char *name)
{
    gpu_steps_next(steps, GPU_STEP_NAME)->name = name;
}

static inline void gpu_steps_pipeline(struct gpu_steps *steps, VkPipeline pipeline)
{
    gpu_steps_next(steps, GPU_STEP_PIPELINE)->pipeline = pipeline;
}

/* Record the steps and submit them. After an error nothing of the submission is running. */
int gpu_work_play(struct gpu_submission *s, const struct gpu_steps *steps);

#endif
