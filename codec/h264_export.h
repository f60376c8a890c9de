/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Steps 2 and 3 on the GPU: which pictures they take, their input, and the way back of the results.
 * Any thread, one at a time for each picture.
 */
#ifndef PELTON_H264_EXPORT_H
#define PELTON_H264_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct h264_allocator;
struct h264_device_records;
struct h264_picture;
struct h264_scratch;
struct h264_slice;

/* ---- step 2 on the GPU (entropy_export.c, codec/abi/entropy_abi.h) ----
 */

struct ent_slice;
struct ent_tables;

/* Whether the GPU can decode all slices of pic: I, P and B slices, 8 bits, 4:2:0 or 4:0:0, within
 * ENT_MIN_WIDTH, ENT_MAX_WIDTH and ENT_MAX_BYTES. They cover the picture in order. MBAFF, slice
 * groups, redundant slices and data partitions are excluded. */
bool h264_picture_exports_entropy(const struct h264_picture *pic);
/* Most bytes that h264_slice_export_entropy writes. */
size_t h264_slice_entropy_size(const struct h264_slice *slice);
/* Exports a slice of such a picture. bytes: its RBSP, H264_BITS_PADDING zeros and its scaling
 * lists, *size in all, written in order. *out: all but word, mb_base, coeff_block_base,
 * coeff_block_count, picture and those of packed levels. Returns H264_ERR_TRUNCATED where there is
 * no slice data. */
int h264_slice_export_entropy(const struct h264_slice *slice, struct ent_slice *out, uint8_t *bytes,
                              size_t *size);
/* Tables of 9.2 and 9.3 for the shader. */
void h264_entropy_tables(struct ent_tables *out);

/* Instead of h264_picture_alloc. The content of all arrays is undefined: it comes from the GPU.
 * coeff_blocks: exact size of coeffs, at least one. packed_words: not 0: packed levels instead of
 * coeffs, and their size. coeffs_from: allocator of either, which outlives the picture; NULL: the
 * picture's. The codec never reads them. records: mbs, motion and syntax are allocated too; without
 * them h264_picture_import_motion has to follow. Returns H264_ERR_NOMEM: then call
 * h264_picture_free_arrays. */
int h264_picture_alloc_blocks(struct h264_picture *pic, uint32_t coeff_blocks,
                              uint32_t packed_words, const struct h264_allocator *coeffs_from,
                              bool records);
/* The arrays hold all macroblocks of all slices, decoded without an error. Afterwards the picture
 * is as h264_slice_decode leaves it. False: step 3 could not take the content, and the picture is
 * as before. A device's memory is not trusted more than a bitstream. */
bool h264_picture_import_entropy(struct h264_picture *pic, uint32_t coeff_blocks);
/* The same piece by piece, so that h264_slice_follow can go on with each piece. First
 * h264_picture_import_entropy_begin, then macroblocks [from, to) of each slice, from its first one
 * on. After false only h264_picture_free_arrays may follow. */
void h264_picture_import_entropy_begin(struct h264_picture *pic, uint32_t coeff_blocks);
bool h264_slice_import_entropy(struct h264_slice *slice, uint32_t from, uint32_t to);

/* ---- step 3 on the GPU (motion_export.c, codec/abi/motion_abi.h) ----
 *
 * Step 2 of the picture is done, by CPU or GPU. */

struct der_slice;

/* Whether the GPU can do step 3 of pic: h264_picture_exports_entropy holds, no slice uses temporal
 * direct prediction, and each colocated picture has a map and is a field where pic is one. */
bool h264_picture_exports_motion(const struct h264_picture *pic);
/* Whether step 3 of a B slice reads records of the first picture in list 1, where a map does not
 * do: temporal direct prediction, and where frames and fields meet. Before step 3, any time. */
bool h264_slice_reads_records(const struct h264_slice *slice);
/* Whether pic has or gets arrays.col_zero: wants_map is set, and it is a reference picture and no
 * MBAFF frame. */
bool h264_picture_has_map(const struct h264_picture *pic);
/* Exports a slice once the motion of the colocated pictures is done. *out: all but the place of its
 * map. *map: the map of its colocated picture, valid as long as pic; NULL: no colZeroFlag is 1. */
void h264_slice_export_motion(const struct h264_slice *slice, struct der_slice *out,
                              const uint16_t **map);
/* After step 3: entries of list 0 and 1 that macroblocks of the slice refer to, bit i for entry i;
 * of field macroblocks in MBAFF frames the frame's. Those in direct mode count. */
void h264_slice_used(const struct h264_slice *slice, uint32_t used[2]);
/* Imports a picture whose motion the GPU derived. In: arrays.col_zero, and mbs and motion where
 * they are allocated, and the slices' used. coeff_blocks: coefficient blocks in use. kinds: DER_*
 * flags without DER_BAD.
 * device_records: the same records on the device, which the picture owns from now on; NULL: none.
 * host: records are kept in host memory too, for pictures that read them there. Without them a
 * reference picture keeps what h264_picture_restore_motion needs. Afterwards the picture is as
 * h264_picture_derive_motion leaves it. Returns H264_ERR_NOMEM: the picture is as before, and
 * device_records are the caller's. */
int h264_picture_import_motion(struct h264_picture *pic, uint32_t coeff_blocks, unsigned kinds,
                               const struct h264_device_records *device_records, bool host);

/* ---- records that only a device had (motion_restore.c) ---- */

/* What the picture would keep takes no more memory than its records. Any time after step 1. */
bool h264_picture_may_restore(const struct h264_picture *pic);
/* After step 3: the picture had no records in host memory then. Any thread, any time. */
bool h264_picture_is_kept(const struct h264_picture *pic);
/* Before step 3 of pic: writes up to 32 distinct pictures whose records it reads, as far as they
 * are h264_picture_is_kept. Borrowed. Returns their number. The source of concealment is not among
 * them. h264_picture_colocated have finished their step 3. */
uint32_t h264_picture_reads_records(const struct h264_picture *pic, struct h264_picture *out[32]);
/* Decodes the slices of such a picture again: arrays.mbs and arrays.motion, as they would have been
 * on the host. Does nothing if they are there. One thread at a time for each picture. Meanwhile
 * others may view the picture and end it, but not read these two arrays. Returns H264_ERR_NOMEM or
 * H264_ERR_DATA: the picture is as before. */
int h264_picture_restore_motion(struct h264_picture *pic, struct h264_scratch *scratch);

#endif
