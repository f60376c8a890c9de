/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The generator's state, from stream to macroblock. Contexts, neighbours and predictions are
 * derived from the clauses of the standard and not with the decoder's functions. So no mistake is
 * made twice. Tables of numbers and the structs that hold parameter sets and slice headers are the
 * decoder's. Bits, headers, levels and binarizations are written by encode/.
 *
 *   streamgen.c  command line; retries with smaller vectors after check.c found one out of range
 *   stream.c     frames, access units, output order
 *   sets.c, sets_write.c  parameter sets: choice, those of a second view
 *   dpb.c        marking, reference lists
 *   header.c     slice header: choice
 *   slice.c      slices of a picture, slice_data()
 *   mb.c         macroblock_layer(): choice
 *   pred.c       intra modes, partitions, references, vectors
 *   element.c    syntax elements in CAVLC, or bins with their increments
 *   residual.c   levels, their bounds, neighbours of residual_block()
 *   sei.c, vui.c SEI messages, choice of the VUI
 *   neighbour.c  6.4.8 to 6.4.12
 */
#ifndef PELTON_STREAMGEN_GEN_H
#define PELTON_STREAMGEN_GEN_H

#include "encode/cabac_coder.h"
#include "features.h"
#include "encode/bit_writer.h"
#include "codec/h264_params.h"
#include "encode/cavlc_writer.h"
#include "encode/header_writer.h"

#include <stdio.h>

#define MAX_MBS        256
#define SECOND_VIEW_ID 5 /* view_id of a stereo stream's second view; the base view has 0 */

/* What the command line and retries impose. */
struct limits {
    unsigned frames;        /* 0: chosen */
    unsigned width, height; /* macroblocks of the frame; 0: chosen */
    unsigned slices;        /* most per picture; 0: no limit */
    bool no_residual;
    unsigned mvd_shift; /* vectors are this many times halved */
};

enum mb_kind { MB_I4X4, MB_I8X8, MB_I16X16, MB_PCM, MB_SI, MB_INTER, MB_DIRECT, MB_SKIP };

/* What later macroblocks of the slice ask of one. Blocks of 4x4 are in raster order: y * 4 + x, in
 * every component. */
struct mb {
    int32_t slice; /* number of the slice that it belongs to; -1: not coded yet */
    uint8_t kind;  /* enum mb_kind */
    uint8_t field, t8x8;
    uint8_t cbp; /* CodedBlockPatternLuma | CodedBlockPatternChroma << 4 */
    uint8_t chroma_mode;
    int8_t mode[16];      /* Intra4x4PredMode, Intra8x8PredMode */
    uint8_t total[3][16]; /* total_coeff */
    uint8_t cbf_dc;       /* bit per component */
    uint16_t cbf[3];      /* coded_block_flag, bit per block */
    int8_t ref[2][4];     /* ref_idx by quadrant; -1: none, or direct */
    int16_t mvd[2][16][2];
};

/* A frame of the decoded picture buffer: fields by parity, 0 top. */
struct dpb_frame {
    uint32_t id; /* counts frames; of the one being coded g->frame_count */
    uint32_t frame_num;
    uint8_t short_term, long_term; /* bit per field */
    uint8_t long_term_idx;
    uint8_t non_existing;
    uint8_t reset;   /* memory_management_control_operation 5 */
    uint8_t sliced;  /* coded in more than one slice */
    uint64_t refers; /* frames that its motion may refer to: bit id % 64 */
};

struct dpb {
    struct dpb_frame frames[18];
    unsigned count;
    int max_long_term_idx; /* MaxLongTermFrameIdx; -1: no long-term frame indices */
};

/* An entry that a list may hold. */
struct ref_choice {
    uint8_t long_term, parity; /* parity: 0 top, 1 bottom; of a frame 0 */
    int32_t pic_num;           /* PicNum or LongTermPicNum */
};

/* The picture being coded: a frame or a field. */
struct picture {
    struct rng rng;
    uint8_t structure; /* REC_FRAME, REC_TOP, REC_BOTTOM */
    uint8_t mbaff, idr, nal_ref_idc, second_field;
    uint32_t frame_num, idr_pic_id;
    int32_t poc[2]; /* of the frame */
    uint32_t poc_lsb;
    int32_t delta_poc_bottom, delta_poc[2];
    unsigned width, height, mb_count;
    /* slice types that may, and do, occur: bit per enum h264_slice_type */
    uint8_t types, types_used;
    bool predicts, several_slices; /* of the base view */
    /* dec_ref_pic_marking, the same in every slice */
    uint8_t long_term_reference, adaptive_marking;
    uint8_t mmco_count, mmco5, no_output_of_prior_pics;
    struct h264_mmco mmco[16];
    /* those that its slices choose from: they agree in what a picture shares */
    const struct h264_pps *pps[2];
    unsigned pps_count;
    uint32_t group_cycle;
    uint8_t groups[MAX_MBS]; /* slice group by macroblock address */
    uint8_t plane;           /* colour_plane_id */
    /* anchor_pic_flag of both views: IDR, or a frame that refers to nothing before and ends all
     * marking */
    uint8_t anchor;
    uint8_t view, inter_view_flag; /* the second view may refer to this picture of the base view */
    struct ref_choice refs[36];
    /* with the base view's picture at the end of a second view's initial lists */
    unsigned ref_count, list_length[2];
    bool list_gaps; /* initial lists hold frames that must not be referred to */
    int32_t slice_count;
    struct mb mbs[MAX_MBS];
};

struct slice {
    struct h264_slice_header hdr;
    const struct h264_pps *pps;
    unsigned usable[2]; /* ref_idx below this names a picture */
};

struct gen {
    struct rng rng;
    const struct profile *profile;
    struct limits limits;
    uint64_t on, used; /* features */
    /* one stream in four has what FFmpeg gets wrong though it has the feature; else it is left out
     */
    bool odd;
    /* what it holds that FFmpeg is known not to decode by the standard; NULL: nothing */
    const char *not_ffmpeg;
    struct cavlc_codes codes;
    struct bit_writer out;
    FILE *notes; /* what "refdec --sei" is to print */

    struct h264_sps sps; /* active */
    struct scaling_lists sps_lists, pps_lists[4];
    struct h264_pps pps[4];
    unsigned pps_count;
    unsigned max_weight; /* of all scaling lists that may be in force */

    /* order */
    uint32_t frame_count; /* written */
    struct dpb dpb;
    uint32_t prev_ref_frame_num, prev_frame_num, frame_num_offset;
    bool prev_mmco5, prev_was_non_ref;
    int32_t next_slot; /* output order goes on from here: slots of poc_step */
    int32_t group_end; /* the first slot behind the frames that are shuffled now */
    int32_t prev_ref_poc;
    int poc_step;
    unsigned reorder; /* frames whose decoding order is shuffled */
    bool delimiters;  /* access unit delimiters */
    bool prefixes;    /* a prefix NAL unit before each slice of the base view */
    /* [anchor_pic_flag]: bit X: the second view refers to the base view in list X */
    uint8_t view_refs[2];
    bool may_reset;  /* memory_management_control_operation 5 fits the output order here */
    bool must_reset; /* and is what tells the next field from the second one of lone_field */
    bool was_reset;  /* the frame has one in either field */
    /* the last picture was a reference field that stands alone: its parity, else 0 */
    uint8_t lone_field;
    uint32_t idr_pic_id;

    struct picture pic;
};

static inline void gen_not_ffmpeg(struct gen *g, bool holds, const char *what)
{
    if (holds && !g->not_ffmpeg)
        g->not_ffmpeg = what;
}

static inline bool gen_has(const struct gen *g, uint64_t feature)
{
    return (g->on & feature) != 0;
}

/* Whether to make use of a feature here, one time in n; counts as used. */
static inline bool gen_use(struct gen *g, struct rng *r, uint64_t feature, unsigned n)
{
    bool use = gen_has(g, feature) && rng_one_in(r, n);
    if (use)
        g->used |= feature;
    return use;
}

/* stream.c */
void gen_stream(struct gen *g);
/* sets.c: at a later IDR picture the format stays, and the size unless resize. */
void sets_choose(struct gen *g, bool resize);
void sets_free(struct gen *g);
/* The largest vector component in quarter samples: 0 horizontal; 1 vertical, in frames, of a level
 * that is written (A.3.1) */
unsigned sets_vector_limit(unsigned component, unsigned level_idc);
/* sets_write.c */
void sets_write(struct gen *g);
/* sei.c */
void sei_write(struct gen *g);
void vui_choose(struct gen *g);
/* dpb.c: prepare fills pic.refs and the marking syntax before a picture, finish marks it. */
void dpb_prepare(struct gen *g);
void dpb_finish(struct gen *g);
void dpb_gap(struct gen *g, unsigned frames);
/* Whether the frame that comes can unmark all others. */
bool dpb_can_clear(const struct gen *g);
bool dpb_allows_temporal(const struct gen *g);
/* Whether a picture that may be referred to was reset, or coded in several slices. */
bool dpb_has_reset(const struct gen *g);
bool dpb_has_sliced(const struct gen *g);
/* header.c */
void header_choose(struct gen *g, struct rng *r, struct slice *s, unsigned type,
                   const struct h264_pps *pps);
/* Up to and including slice_id of a data partition; a prefix NAL unit goes to g->out before. */
void header_write(struct gen *g, const struct slice *s, struct bit_writer *out);
/* slice.c */
void picture_write(struct gen *g);

#endif
