/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who entropy-decodes: which pictures of the queue the GPU takes.
 *
 * Cost model. CPU: proportional to the bytes of all slices. GPU: proportional to the weight of the
 * largest slice, which is its bytes and SPLIT_MB_WEIGHT bytes for each of its macroblocks.
 *
 * Thread: any, with the engine's lock.
 */
#ifndef PELTON_SPLIT_H
#define PELTON_SPLIT_H

#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/schedule.h"

/* Records of a macroblock. */
#define SPLIT_MB_BYTES                                                                             \
    (sizeof(struct rec_mb) + sizeof(struct rec_motion) + sizeof(struct h264_mb_syntax))

/* Room of one batch, and how many batches there are. pictures 0: the device decodes none.
 * picture_blocks: coefficient blocks of one picture's part of it. */
struct split_capacity {
    uint32_t batches, pictures, mbs, coeff_blocks, packed_words, bytes, slices, picture_blocks;
};
/* A batch with room for so many pictures. */
struct split_capacity split_part(const struct split_capacity *c, uint32_t pictures);
/* Pictures that the next batch is to have room for. */
uint32_t split_room(const struct schedule *s, const struct split_capacity *c);
struct split_capacity split_capacity_of(const struct schedule_setting *setting, bool background);
/* Batches that may be in work now; held: pictures of one that is, on average, 0 if none is. One
 * stream leaves the GPU less to choose from. */
uint32_t split_batches(const struct schedule *s, const struct split_capacity *c, uint32_t held);
/* The most blocks of coefficients that the picture may take of a batch. */
uint32_t split_blocks(const struct split_capacity *c, const struct picture *p);
/* Words of packed levels that so many macroblocks and bytes of slices have room for. */
uint32_t split_words(uint32_t mbs, uint32_t bytes);
/* They were too few: later pictures of the stream may take twice as many. */
void split_note_full(struct picture *p);
/* The blocks that a picture of one slice has room for before a coder decodes it; and the words of
 * packed levels. */
uint32_t split_coder_blocks(const struct h264_picture *pic);
uint32_t split_coder_words(const struct h264_picture *pic);
/* Slices that share a subgroup of the device; 0: by how many are in work (gpu_entropy_share). */
uint32_t split_share(const struct schedule *s);
/* Pictures of so many macroblocks that a batch holds. */
uint32_t split_batch_pictures(const struct split_capacity *c, uint32_t mb_count);
/* The same of the next batch: a few will do before one is measured. */
uint32_t split_next_pictures(const struct schedule *s, const struct split_capacity *c,
                             uint32_t mb_count);
uint64_t split_batch_bytes(const struct split_capacity *c); /* of device memory, about */
/* So few bytes of video that the GPU is not worth its memory. 0: unknown. */
bool split_is_short(uint64_t bytes, unsigned coders);
/* Bytes of device memory for coefficients that wait for reconstruction. */
uint64_t split_resident_limit(const struct schedule_setting *setting);

uint64_t split_slice_weight(const struct h264_slice *slice);
void split_rate_add(struct split_rate *r, double seconds, double bytes);
/* It is decoded: so many bytes of levels are in host memory, and its records where `records` says.
 * The device may have had no room. */
void split_keep_results(struct schedule *s, struct picture *p, uint64_t levels);
/* The coders had begun so much behind it that they were too far ahead. */
bool split_is_late(const struct schedule *s, const struct picture *p);
/* A batch came back with so many late pictures: how far the estimates can be trusted. */
void split_learn(struct schedule *s, uint32_t late);
/* The queue is so long that the GPU may be of use, and encoders do not need it more. */
bool split_worth(const struct schedule *s);
/* There is no memory for a batch: the coders decode what waits for the GPU. */
void split_leave(struct schedule *s);
/* Pictures for one batch leave the queue: at most c->pictures. *largest: the largest weight of a
 * slice. */
uint32_t split_choose(struct schedule *s, const struct split_capacity *c, int64_t now_ns,
                      struct picture *out[SPLIT_PICTURES], uint64_t *largest);

/* ---- split_small.c ---- */

/* The GPU could take the picture as far as it is concerned. */
bool split_may_take(const struct picture *p);
/* Pictures of many streams wait, and are small on average: the GPU takes them, in time or not. */
bool split_is_small(const struct schedule *s);
/* So many of them that this is worth a batch; fewer are the coders'. */
bool split_small_enough(const struct schedule *s);
/* They are small, and the GPU works: a coder leaves them to that and to the others, if so many of
 * these work. Never if none does. */
bool split_leaves(const struct schedule *s, uint32_t others);

#endif
