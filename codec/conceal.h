/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Concealment of the macroblocks of a picture that no slice covered.
 */
#ifndef PELTON_CODEC_CONCEAL_H
#define PELTON_CODEC_CONCEAL_H

#include "codec/abi/records.h"

#include <stdbool.h>
#include <stdint.h>

struct h264_picture;

/* Macroblocks before an error that are lost as well: always, and at most. Rows that are
 * reconstructed while later ones are decoded keep as far away from the end. */
enum { CONCEAL_DOUBTED = 10, CONCEAL_DOUBTED_MOST = 60 };

/* conceal.c */
/* Marks them: they name slice slice_count. Returns their number, which is also in missing_mbs. */
uint32_t h264_conceal_find(struct h264_picture *pic);
/* The same for macroblocks that are likely wrong though their syntax is right: the last ones before
 * errors of CABAC, beyond those that step 2 took. Motion is derived. Returns their number.
 * conceal_doubt.c */
uint32_t h264_conceal_doubt(struct h264_picture *pic);
/* Fills their records, when those of all others are complete. Returns H264_ERR_NOMEM. */
int h264_conceal(struct h264_picture *pic);

/* ---- shared by conceal.c, conceal_doubt.c and conceal_motion.c ---- */

/* Marks macroblock i, which is decoded no more. */
void h264_conceal_lose(struct h264_picture *pic, uint32_t i);

/* Parts of a quarter sample in vectors to a reference one unit of POC before */
enum { CONCEAL_UNIT = 256 };

/* A frame or field that concealed macroblocks may refer to: an entry of the lists of their own
 * slice record. */
struct conceal_ref {
    uint32_t id; /* as h264_slice.ref.id */
    /* POC of the current picture less that of the reference; 0: unknown, or long-term */
    int64_t distance;
};

/* How far a macroblock is from what was decoded. */
enum { CONCEAL_KNOWN = 0, CONCEAL_FAR = 254, CONCEAL_MISSING = 255 };

struct conceal {
    struct h264_picture *pic;
    struct conceal_ref refs[REC_MAX_REFS];
    unsigned count;
    int target[2]; /* by list: the reference that concealed macroblocks use, -1: none */
    const struct h264_picture *col; /* its motion goes on in time; NULL: none */
    uint8_t *depth; /* [mb_count] CONCEAL_KNOWN, macroblocks on the way there, or CONCEAL_MISSING */
};

/* conceal_motion.c: the picture whose motion goes on in pic, NULL: none. */
const struct h264_picture *h264_conceal_colocated(const struct h264_picture *pic);
/* The vector of a 4x4 block of a decoded macroblock, to a reference one unit of POC before, by list
 * 0 if it has one. False: the block has none. */
bool h264_conceal_vector(const struct h264_picture *pic, uint32_t mb, int block, int32_t v[2]);
/* The references that slices of the picture name, which of them serve, and the
 * picture whose motion goes on. False: there is none to copy. */
bool h264_conceal_references(struct conceal *c);
/* Vectors of macroblock mb from those around it and those at its place in c->col. */
void h264_conceal_motion(struct conceal *c, uint32_t mb);

#endif
