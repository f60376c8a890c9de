/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by motion.c (checks), motion_build.c (inputs), motion_source.c (where they lie) and
 * motion_time.c: pictures of a stream between step 2 and step 3.
 */
#ifndef PELTON_CHECKGPU_MOTION_H
#define PELTON_CHECKGPU_MOTION_H

#include "codec/h264.h"
#include "gpu/h264/gpu_motion.h"
#include "tests/gpu/h264/checkgpu.h"

/* Arrays of a picture in one piece of memory: mbs, motion, syntax. */
struct motion_arrays {
    struct rec_mb *mbs;
    struct rec_motion *motion;
    struct h264_mb_syntax *syntax;
};
#define MOTION_MB_BYTES                                                                            \
    (sizeof(struct rec_mb) + sizeof(struct rec_motion) + sizeof(struct h264_mb_syntax))
struct motion_arrays motion_arrays_at(void *memory, uint32_t mb_count);

/* A picture that the GPU can do, and what of it was there before step 3. The CPU has done that. */
struct motion_case {
    struct h264_picture *pic;
    uint8_t *raw;             /* motion_arrays */
    struct der_slice *slices; /* [slice_count] */
    const uint16_t **maps;    /* the same */
    uint32_t coeff_blocks;
};

/* Where a batch has a case's arrays: in memory of the device, in two arenas of the host, or in
 * other memory of the host. */
enum motion_source {
    MOTION_FROM_DEVICE,
    MOTION_FROM_ARENA,
    MOTION_FROM_OTHER_ARENA,
    MOTION_FROM_HOST,
    MOTION_SOURCES
};
#define MOTION_SHAPES 8 /* enum h264_part, and others */

struct motion_placed {
    enum motion_source source;
    uint8_t *at;
};

struct motion_check {
    struct check_env *env;
    struct gpu_motion *gpu;
    struct h264_scratch *scratch;
    struct motion_case *cases;
    uint32_t count, capacity, most, most_mbs; /* most_mbs: of a picture */
    /* what is done with the cases when there are `capacity`, and in the end */
    int (*flush)(struct motion_check *p);
    struct gpu_arena *arena, *device_arena;
    struct gpu_arena *host_arena[2];
    uint8_t *arena_memory, *device_memory, *memory, *scrap, *host_memory[2];
    unsigned damage; /* rounds */
    unsigned batches;
    unsigned long equal, built, refused, passed;
    uint64_t shapes[MOTION_SHAPES];                /* macroblocks */
    uint64_t counted, copied_bytes, fetched_bytes; /* pictures; what either way takes of them */
};

/* Pictures of the file in order of decoding, steps 2 and 3 by the CPU; of those that the GPU can do
 * cases are made. */
int motion_read_stream(struct motion_check *p, const char *path);
void motion_drop_cases(struct motion_check *p);
/* The case's picture into a batch, its arrays where `device` says. */
int motion_add_case(struct gpu_motion_batch *b, const struct motion_case *c, uint8_t *device,
                    struct rec_mb *to_mbs, struct rec_motion *to_motion, uint16_t *to_still);
/* Puts the arrays at raw where `source` says; so many macroblocks of the batch are before them. */
int motion_place(struct motion_check *p, enum motion_source source, uint8_t *raw, uint32_t before,
                 uint32_t mb_count, uint8_t **at);
/* Whether the device has read what it needs of valid arrays in host memory, and no more. */
bool motion_bytes_right(const struct motion_placed *placed, const uint8_t *raw, uint32_t mb_count,
                        uint64_t bytes);
/* Changes arrays that are not valid into what the device takes them for: it does not look at all.
 */
void motion_mend(const struct motion_placed *placed, struct motion_arrays *a, uint32_t mb_count);
void motion_count_shapes(struct motion_check *p, const struct motion_case *c);
void motion_print_shapes(const struct motion_check *p);
int motion_wait(struct gpu_motion_batch *b);
void motion_close(struct motion_check *p); /* half built is fine */

/* motion_build.c: any shapes, references and differences that the slices' types allow, into arrays
 * that hold a picture's own. */
void motion_build(struct check_env *env, const struct motion_case *c, struct motion_arrays *a);
/* A few bytes of them become others. */
void motion_damage(struct check_env *env, const struct motion_case *c, struct motion_arrays *a);
/* Any bytes; half of the macroblocks have a shape that there is. */
void motion_scramble(struct check_env *env, const struct motion_case *c, struct motion_arrays *a);

#endif
