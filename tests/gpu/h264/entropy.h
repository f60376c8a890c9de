/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by entropy.c (checks), its parts and entropy_time.c: the pictures of a stream, and step 2
 * of them on the CPU and the GPU.
 */
#ifndef PELTON_CHECKGPU_ENTROPY_H
#define PELTON_CHECKGPU_ENTROPY_H

#include "codec/h264.h"
#include "gpu/h264/gpu_entropy.h"
#include "tests/gpu/h264/checkgpu.h"

#define ENTROPY_PICTURES 32  /* of a batch that is checked */
#define ENTROPY_SLACK    216 /* units that a slice may reserve beyond those that it has */

struct entropy {
    struct check_env *env;
    struct gpu_entropy *gpu;
    struct h264_scratch *scratch;
    struct h264_picture **pictures; /* that the GPU can decode */
    uint32_t count, capacity, most;
    bool keep;                          /* all of them, else a batch at a time */
    unsigned damage;                    /* rounds */
    unsigned long equal;                /* pictures that both have decoded */
    unsigned long refused, passed;      /* damaged pictures */
    unsigned long scaled, out_of_range; /* pictures with other scaling lists: as the CPU, refused */
    unsigned long longer; /* pictures with bytes behind slice data: both refuse them */
    /* one picture of two is fetched into the first, coefficients of some of these into the other */
    struct gpu_arena *arena, *device_arena;
    uint8_t *arena_memory, *device_memory;
    size_t arena_size;
    uint8_t *memory;
    uint32_t packed_rooms[ENTROPY_PICTURES]; /* of the pictures of a batch */
    unsigned long packed;                    /* pictures that came with packed levels */
};

/* All pictures of the file that are wanted are taken. */
int entropy_read_stream(struct entropy *p, const char *path);
/* Step 2 of all slices, from scratch; whether all macroblocks came without an error. */
bool entropy_decode_cpu(struct entropy *p, struct h264_picture *pic);
/* The picture and its slices into a batch, as its next picture. */
int entropy_add_picture(struct gpu_entropy_batch *b, const struct h264_picture *pic, uint32_t units,
                        uint32_t packed_words);
/* So many batches of n pictures each, of any of the stream's, which the CPU has decoded. gpu is to
 * be freed by entropy_close. */
int entropy_open(struct entropy *p, uint32_t batches, uint32_t n);
/* n pictures of the stream, round and round, from that one on. *out is to be ended, whatever is
 * returned. */
int entropy_submit(struct entropy *p, uint32_t first, uint32_t n, struct gpu_entropy_batch **out);
/* Wait for the one batch that is submitted. */
int entropy_finish(struct gpu_entropy *e, struct gpu_entropy_batch *b);
void entropy_close(struct entropy *p); /* half built is fine */

enum entropy_inputs { ENTROPY_WHOLE, ENTROPY_DAMAGED, ENTROPY_LONGER, ENTROPY_SCALED };
/* n pictures in one batch, by the CPU and by the GPU. 0, or negative after a message. */
int entropy_run_batch(struct entropy *p, struct h264_picture **pictures, uint32_t n,
                      enum entropy_inputs inputs);

/* ---- entropy_inputs.c: the same with other inputs ---- */

int entropy_run_damaged(struct entropy *p, struct h264_picture **pictures, uint32_t n);
int entropy_run_longer(struct entropy *p, struct h264_picture **pictures, uint32_t n);
int entropy_run_scaled(struct entropy *p, struct h264_picture **pictures, uint32_t n);

/* ---- entropy_packed.c ---- */

/* The most words of packed levels of so many macroblocks. */
uint32_t entropy_most_words(uint32_t mbs);
/* Room for those of a picture: enough, or perhaps too little, or 0. */
uint32_t entropy_packed_room(struct check_env *env, const struct h264_picture *pic);
/* Words of the packed levels of a picture that the CPU has decoded. */
uint32_t entropy_words(const struct h264_picture *pic);
/* coeffs holds packed levels, and coefficient blocks after it. 0, or -1 after a message. */
int entropy_unpack(const struct h264_picture *pic, const struct rec_mb *mbs, int16_t *coeffs,
                   uint32_t coeff_blocks, uint32_t words);

#endif
