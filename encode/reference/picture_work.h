/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A picture while its records are made: what the passes read and write. Each pass handles
 * macroblocks in any order, but for intra reconstruction.
 */
#ifndef PELTON_PICTURE_WORK_H
#define PELTON_PICTURE_WORK_H

#include "encode/encoding.h"
#include "encode/reference/motion_predict.h"
#include "encode/reference/levels.h"
#include "encode/reference/planes.h"
#include "reference/recon_ref.h"

#define WORK_SLOTS (ENCODING_REFERENCES + 1)

/* Levels of a macroblock before they are packed: 16 luma blocks by blkIdx, 4 of Cb, 4 of Cr */
struct mb_levels {
    int16_t block[24][16];
};

/* Intra prediction of a macroblock, chosen from source samples. Costs are of cost_satd. */
struct intra_choice {
    uint32_t cost;         /* of the best kind, with chroma; UINT32_MAX: it was left out */
    uint8_t kind;          /* REC_MB_INTRA_* */
    uint8_t chroma_mode;   /* intra_chroma_pred_mode */
    uint32_t modes[2];     /* as rec_mb.intra_mode */
    uint8_t mode4[16];     /* I: Intra4x4PredMode by blkIdx, for the rates of neighbours */
    uint32_t kind_cost[3]; /* of luma, by kind; UINT32_MAX: was not tried */
    uint32_t kind_modes[3][2];
};

/* The vector that the search found for a partition in one reference, in quarter samples */
struct motion_found {
    int16_t mv[2];
    uint32_t cost; /* of cost_satd, without bits */
};

#define SEARCH_PARTS 9 /* 16x16, two of 16x8, two of 8x16, four of 8x8 */

struct motion_search {
    int16_t coarse[2], half[2]; /* in samples of the reduced planes */
    int16_t predicted[2];       /* rates of the search count from here, in quarter samples */
    struct motion_found part[SEARCH_PARTS];
};

/* One reference frame */
struct reference_frame {
    struct ref_frame *frame; /* filtered */
    struct luma_planes planes;
};

struct picture_work {
    const struct encoding *encoding;
    const struct encoding_limits *limits;
    uint32_t mb_width, mb_height, mb_count;
    int qp, level_max;
    struct rec_picture head;
    uint32_t lambda, lambda_ssd; /* in 16ths */
    struct ref_frame *source;    /* whole macroblocks */
    struct luma_planes source_planes;
    struct rec_slice slices[ENCODING_SLICES];
    uint32_t slice_count;
    struct rec_mb *mbs;
    struct rec_motion *motion, *field; /* of this pass, of the pass before */
    struct mb_levels *levels;
    struct intra_choice *intra;
    struct motion_search *search[ENCODING_REFERENCES]; /* by macroblock */
    struct reference_frame slot[WORK_SLOTS];
    uint32_t ref_count;                    /* in use */
    uint8_t ref_slot[ENCODING_REFERENCES]; /* RefPicList0 */
    uint8_t current_slot;
    struct ref_frame *unfiltered;   /* as the passes reconstruct it */
    struct ref_frame *rebuilt;      /* the same, made by ref_reconstruct from the records */
    struct rec_motion *last_motion; /* of the picture before; ref_idx -1 where there is none */
    struct rec_scaling scaling;
    int16_t (*coeffs)[16];
    uint32_t coeff_block_count;
    struct row_threads *threads; /* NULL: none beside the caller's */
};

/* One step of a pass on all macroblocks, on all threads */
void work_each(struct picture_work *w,
               void (*step)(struct picture_work *w, uint32_t mb, uint32_t ref), uint32_t ref);

/* Where macroblock mb's samples of a component begin */
uint16_t *work_samples(const struct picture_work *w, const struct ref_frame *frame, uint32_t mb,
                       int component);
/* QPC for Cb and Cr (8.5.8) */
int work_chroma_qp(const struct picture_work *w, int qp);
/* The records so far, as the functions of reference/ read them */
struct rec_view work_view(const struct picture_work *w);

/* Vectors that partitions of a macroblock may have, in quarter samples, both ends included */
struct motion_bounds {
    int min[2], max[2];
};
struct motion_bounds work_bounds(const struct picture_work *w, uint32_t mb);
bool work_allows(const struct motion_bounds *bounds, const int16_t mv[2]);

/* SATD between the source and the prediction of a partition's luma by a vector that is allowed
 * (refine_motion.c) */
uint32_t work_vector_cost(const struct picture_work *w, uint32_t ref, uint32_t mb,
                          struct motion_part part, const int16_t mv[2]);
/* Bits of a vector's difference, and of a reference index, about */
uint32_t work_vector_bits(const int16_t mv[2], const int16_t predicted[2]);
uint32_t work_ref_bits(const struct picture_work *w, uint32_t ref);

/* The partitions that are searched, in the order of motion_search.part */
extern const struct motion_part search_parts[SEARCH_PARTS];

/* ---- the passes ---- */

/* Choose intra modes from source samples; in P pictures after the search (choose_intra.c). */
void intra_choose(struct picture_work *w);
/* Vectors of all partitions in one reference: in whole samples (search_motion.c), then in quarter
 * samples (refine_motion.c). */
void motion_search_whole(struct picture_work *w, uint32_t ref);
void motion_search_quarter(struct picture_work *w, uint32_t ref);
/* Partitions, references, and inter against intra: reads field, writes motion and kinds
 * (choose_inter.c). */
void inter_choose(struct picture_work *w);
/* Code inter macroblocks: residual or skip; reads field, writes motion, levels and unfiltered
 * samples (code_inter.c). */
void inter_code(struct picture_work *w);
/* Luma of a macroblock by a motion, with one size of transforms: levels, which blocks have any, the
 * reconstruction; its cost (code_inter.c). */
uint32_t inter_code_luma(struct picture_work *w, uint32_t mb, const struct rec_motion *motion,
                         bool transform_8x8, int16_t level[16][16], unsigned *coded,
                         uint16_t samples[256]);
/* Flags that need all vectors: true P_Skip (code_inter.c). */
void inter_mark_skipped(struct picture_work *w);
/* Intra macroblocks in address order, from unfiltered samples (code_intra.c). */
void intra_code(struct picture_work *w);

#endif
