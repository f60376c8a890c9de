/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu builds records without a bitstream. The shaders and the slow reference reconstruct them,
 * and checkgpu compares every sample of the unfiltered and the filtered pictures.
 *
 * Groups are lists of built inputs (build_*.c). env.c owns the device, the frame stores and the
 * comparison.
 */
#ifndef PELTON_CHECKGPU_H
#define PELTON_CHECKGPU_H

#include "codec/abi/records.h"
#include "gpu/h264/recon.h"
#include "reference/recon_ref.h"

#include <stdbool.h>
#include <stdint.h>

#define CHECK_SLOTS        24
#define CHECK_MOST_THREADS 64
#define CHECK_KINDS        2 /* wavefront kinds: one dispatch per diagonal, persistent */

struct check_env {
    const char *group;
    uint64_t seed;
    uint64_t random; /* state of the generator */
    struct gpu *gpu;
    int wavefront;   /* 0: both kinds, else the one */
    bool flow;       /* of a clip: with deliveries, as fast as it goes */
    unsigned beside; /* of a clip with flow: batches of entropy decoding in the background */
    int flight;      /* of a clip: batches in flight; 0: as many as recon takes */
    /* slots 0..refs-1 are read, refs..refs+width-1 are written */
    uint32_t mb_width, mb_height, refs, width;
    struct check_format { /* of the frame stores that check_open makes */
        uint8_t chroma_format_idc, bit_depth[2];
        bool interlaced, separate_planes;
    } format;
    uint8_t structure, mbaff, colour_plane; /* of the pictures that check_picture_create makes */
    bool switching;                         /* slices may be SP and SI */
    bool rows;                              /* batches of one picture come in rows */
    struct recon *recons[CHECK_KINDS];
    struct ref_frame *frames[CHECK_SLOTS], *unfiltered[CHECK_SLOTS];
    void *got[3];            /* samples of 8 or 16 bits */
    struct check_host *host; /* delivered.c; NULL: slots are read one by one */
    unsigned long batches, pictures, mbs;
    unsigned failures;
};

double check_seconds(void); /* of a clock that only goes on */
/* Uniform in 0..n-1; in lo..hi. */
uint32_t check_random(struct check_env *env, uint32_t n);
int check_range(struct check_env *env, int lo, int hi);
bool check_chance(struct check_env *env, int percent);

/* A frame store of w x h macroblocks whose first refs slots hold painted pictures. 0 or -1
 * (reported). */
int check_open(struct check_env *env, uint32_t mb_width, uint32_t mb_height, uint32_t refs,
               uint32_t width);
void check_close(struct check_env *env); /* half-built is fine */
/* A line of the data as words, for what differs. */
void check_print_words(const char *what, const void *data, size_t bytes);

/* A picture that is being built: a view over arrays it owns. Macroblocks start as inter without
 * residual, vector 0, index 0. */
struct check_picture {
    struct rec_view view;
    struct rec_mb *mbs;
    struct rec_motion *motion;
    struct rec_slice *slices;
    int16_t *coeffs; /* [mb_count * 48][16]; NULL where they are wide */
    int32_t *wide;
    int16_t *weights;
    struct rec_scaling *scaling;
};

/* slices: macroblocks are split into that many runs. All are B slices with all reference slots in
 * both lists, in random order.
 */
struct check_picture *check_picture_create(struct check_env *env, uint32_t index, uint32_t slices);
void check_picture_free(struct check_picture *p);
/* Random weights for a slice; mode is REC_WEIGHT_*. */
void check_slice_weights(struct check_env *env, struct check_picture *p, uint32_t slice, int mode);

enum check_levels { LEVELS_NONE, LEVELS_SPARSE, LEVELS_DENSE, LEVELS_EXTREME };
/* Coefficients for macroblock addr, whose kind and flags are set; percent of the blocks are coded.
 */
void check_mb_residual(struct check_env *env, struct check_picture *p, uint32_t addr,
                       enum check_levels levels, int percent);
void check_mb_pcm(struct check_env *env, struct check_picture *p, uint32_t addr);
/* An intra macroblock of the kind with random valid modes for what avail offers (which is first cut
 * to what the place has). */
void check_mb_intra(struct check_env *env, struct check_picture *p, uint32_t addr, int kind,
                    unsigned avail);

/* Inter: partition sizes, vectors. */
enum check_reach { REACH_NEAR, REACH_BORDER, REACH_FAR };
struct check_motion {
    int width, height; /* of a partition: 16, 8, 4 */
    int lists;         /* 1: list 0, 2: list 1, 3: both; 0: random per quadrant */
    int fraction[2];   /* x + 4 * y per list; -1: random */
    enum check_reach reach;
};
void check_mb_inter(struct check_env *env, struct check_picture *p, uint32_t addr,
                    const struct check_motion *m);
/* QP, and which edges are filtered, at random. */
void check_mb_filter(struct check_env *env, struct check_picture *p, uint32_t addr);
/* Neighbours that the picture has for a macroblock: REC_AVAIL_* and REC_DEBLOCK_* that may be set.
 */
struct check_place {
    unsigned avail, deblock;
    bool split_left, mixed_left; /* records_validate.c: position */
};
struct check_place check_place_of(const struct check_picture *p, uint32_t addr);

/* A picture of everything mixed: progressive 8-bit 4:2:0; or any format, as env says, where `own`
 * is a field that may be referred to beside those of the painted frames, or -1. */
struct check_picture *check_build_plain(struct check_env *env, uint32_t index);
struct check_picture *check_build_any(struct check_env *env, uint32_t index, int own);

/* Reconstruct n pictures as a batch both ways and compare. Frees them. 0, or -1 after a mismatch or
 * an error (reported). */
int check_run(struct check_env *env, struct check_picture **pictures, uint32_t n);

/* Coefficient blocks of a macroblock */
static inline unsigned check_mb_blocks(const struct rec_mb *mb)
{
    return (unsigned)(__builtin_popcount(mb->coded[0]) + __builtin_popcount(mb->coded[1]) +
                      __builtin_popcount(mb->coded[2]));
}

/* The view of a picture, by chance with packed levels, which the caller frees; NULL: with its
 * coefficient blocks. any: words of them are changed at random. */
uint32_t *check_pack(struct check_env *env, const struct check_picture *p, bool any,
                     struct rec_view *out);
/* One picture of 4:2:0 by one way, some rows after others. As recon_wait. */
int check_submit_rows(struct check_env *env, struct recon *r, const struct check_picture *picture);

/* Reconstruct them both ways without any comparison. Frees them. 0, or -1 (reported). */
int check_submit(struct check_env *env, struct check_picture **pictures, uint32_t n);

/* From now on batches deliver what they write, and only filtered pictures are compared. */
int check_host_open(struct check_env *env);
void check_host_close(struct check_env *env);
/* A whole slot, to a place of its own. */
void check_delivery(const struct check_env *env, uint32_t slot, struct recon_delivery *out);
/* A delivered slot to env->got. GPU_ERR_INVALID: bytes around it were changed (reported). */
int check_host_load(struct check_env *env, uint32_t slot);

/* Compare all slots with the reference's frames. 0, or -1 (reported). */
int check_slots(struct check_env *env);

/* Change bytes of a picture's records; frames_patch.c. own: as for check_build_any. */
struct frames_patches {
    unsigned long passed, refused; /* changes */
};
void frames_patch(struct check_env *env, struct check_picture *p, int own, bool free,
                  struct frames_patches *patches);
/* Random records: so many pictures by so many threads; none is begun after so many seconds (0: no
 * limit). 0, or -1. */
int check_frames(struct check_env *env, unsigned long frames, unsigned threads, double seconds);

/* has_intra and so on, as a decoder would say them. */
void check_finish_head(struct check_picture *p);

/* Time per stage of batches of 1, 2, 4.. up to most pictures of 1080p of a format (timing.c has
 * their names), printed. 0, or -1. */
int check_timing(struct check_env *env, uint32_t most, const char *format);

/* Time per stage of the pictures of a clip (its first `most`; 0: all), in batches of 1, 4, 8.. up
 * to widest; env->wavefront as in recon_params. 0, or -1. */
int check_replay(struct check_env *env, const char *path, uint32_t widest, uint32_t most);

/* Step 2 of the streams (at most `most` pictures of each; 0: all) on the GPU against the CPU's,
 * then as many times with damage. 0, or -1. */
int check_entropy(struct check_env *env, const char *const *paths, unsigned count, uint32_t most,
                  unsigned damage_rounds);
/* Its time, of 1, 16, 64.. up to most pictures of the stream at once. 0, or -1. */
int check_entropy_timing(struct check_env *env, const char *path, uint32_t most);

/* Step 3 of the streams, likewise; then as many times with macroblocks that are built, and with
 * damage. 0, or -1. */
int check_motion(struct check_env *env, const char *const *paths, unsigned count, uint32_t most,
                 unsigned damage_rounds);
/* Its time, of 1, 16, 64.. up to most pictures of the stream at once. 0, or -1. */
int check_motion_timing(struct check_env *env, const char *path, uint32_t most);

#define CHECK_CLIP_WIDTH 64

/* The pictures of a clip, which are in slots of their own numbers, in some order, and the sums of
 * their frames. */
struct check_clip {
    const struct rec_view *views;
    const uint32_t *order;
    const uint64_t *sums;
    uint32_t count;
};

/* Entropy decoding of a clip's pictures in the background, until it is stopped. 0, or a negative
 * value. */
struct check_beside;
int check_beside_start(struct check_env *env, const char *path, unsigned batches,
                       struct check_beside **out);
double check_beside_rate(struct check_beside *b); /* pictures a second since the last time */
int check_beside_stop(struct check_beside *b); /* NULL allowed; 0, or what went wrong meanwhile */

/* FNV-1a over words. */
uint64_t check_frame_sum(const uint8_t *frame, size_t size);
/* Pictures per second with deliveries, in batches of width pictures (at most CHECK_CLIP_WIDTH);
 * what is delivered is compared. 0, or a negative value. */
int check_flow(struct gpu *g, struct recon *r, uint32_t width, const struct check_clip *clip);

/* Groups: 0, or -1. */
int check_group_residual(struct check_env *env);
int check_group_bypass(struct check_env *env);
int check_group_inter(struct check_env *env);
int check_group_intra(struct check_env *env);
int check_group_deblock(struct check_env *env);
int check_group_random(struct check_env *env);
int check_group_sizes(struct check_env *env);
int check_group_formats(struct check_env *env);
int check_group_fields(struct check_env *env);
int check_group_mbaff(struct check_env *env);
int check_group_switching(struct check_env *env);
int check_group_growth(struct check_env *env);
int check_group_convert(struct check_env *env);
int check_group_rows(struct check_env *env);

/* Report a case that no input exercised. */
int check_uncovered(struct check_env *env, const char *what, unsigned a, unsigned b, unsigned c);

#endif
