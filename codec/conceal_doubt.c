/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which macroblocks before an error of CABAC are wrong as well. Wrong bits are read as likely
 * syntax, often for many macroblocks. But their QP and their vectors do not follow the picture
 * before, nor the macroblocks around them.
 *
 * Each macroblock has a score, which is near the logarithm of how likely it is wrong. It is
 * positive where that is likelier. Of all ends of the slice the one with the largest sum is lost:
 * the estimate of a change point (Page, "Continuous inspection schemes", Biometrika 41, 1954).
 */
#include "codec/conceal.h"
#include "codec/h264_picture.h"

/* Fitted to 775 damaged slices (docs/damage.md). One unit is 1/64. */
enum {
    DOUBT_NONE = -74,     /* a macroblock that has QP and vectors as expected */
    DOUBT_QP = 15,        /* a step of QP */
    DOUBT_QP_STEPS = 6,   /* no more of them count */
    DOUBT_VECTOR_MAX = 64 /* quarter samples; larger ones tell no more */
};

struct doubt {
    const struct h264_picture *pic, *col; /* col NULL: there is none */
    int64_t distance;                     /* to the nearest reference, in POC */
};

/* Lengths of vectors, or of their differences. */
struct doubt_sum {
    uint64_t length;
    unsigned count;
};

static void sum_add(struct doubt_sum *sum, int64_t x, int64_t y)
{
    sum->length += (uint64_t)((x < 0 ? -x : x) + (y < 0 ? -y : y));
    sum->count++;
}

/* Their mean in quarter samples, for the distance of the slice's reference */
static int32_t sum_mean(const struct doubt *d, const struct doubt_sum *sum)
{
    uint64_t mean =
        sum->count ? sum->length / sum->count * (uint64_t)d->distance / CONCEAL_UNIT : 0;
    return mean < DOUBT_VECTOR_MAX ? (int32_t)mean : DOUBT_VECTOR_MAX;
}

/* Four blocks of macroblock i against those of macroblock k of another or the same picture */
static int32_t vectors_differ(const struct doubt *d, uint32_t i, const uint8_t blocks[4],
                              const struct h264_picture *other, uint32_t k,
                              const uint8_t other_blocks[4])
{
    struct doubt_sum sum = {0};
    for (int n = 0; n < 4; n++) {
        int32_t a[2], b[2];
        if (h264_conceal_vector(d->pic, i, blocks[n], a) &&
            h264_conceal_vector(other, k, other_blocks[n], b))
            sum_add(&sum, (int64_t)a[0] - b[0], (int64_t)a[1] - b[1]);
    }
    return sum_mean(d, &sum);
}

static int32_t vector_length(const struct doubt *d, uint32_t i, const uint8_t blocks[4])
{
    struct doubt_sum sum = {0};
    for (int n = 0; n < 4; n++) {
        int32_t v[2] = {0, 0};
        h264_conceal_vector(d->pic, i, blocks[n], v);
        sum_add(&sum, v[0], v[1]);
    }
    return sum_mean(d, &sum);
}

static bool known(const struct h264_picture *pic, uint32_t i)
{
    return pic->arrays.mbs[i].slice < pic->slice_count;
}

static int32_t qp_doubt(const struct doubt *d, uint32_t i)
{
    int steps = d->pic->arrays.mbs[i].qp[0] - d->col->arrays.mbs[i].qp[0];
    steps = steps < 0 ? -steps : steps;
    return DOUBT_QP * (steps < DOUBT_QP_STEPS ? steps : DOUBT_QP_STEPS);
}

/* Positive: it is rather wrong. Fast motion differs more in sound slices, too. */
static int32_t macroblock_doubt(const struct doubt *d, uint32_t i)
{
    static const uint8_t inner[4] = {0, 2, 8, 10}, top[4] = {0, 1, 2, 3}, left[4] = {0, 4, 8, 12},
                         bottom[4] = {12, 13, 14, 15}, right[4] = {3, 7, 11, 15};
    uint32_t width = d->pic->mb_width;
    int32_t doubt = DOUBT_NONE - vector_length(d, i, inner) * 3 / 2;
    if (d->col && known(d->col, i))
        doubt += qp_doubt(d, i) + vectors_differ(d, i, inner, d->col, i, inner);
    if (i % width && known(d->pic, i - 1))
        doubt += vectors_differ(d, i, left, d->pic, i - 1, right);
    if (i >= width && known(d->pic, i - width))
        doubt += vectors_differ(d, i, top, d->pic, i - width, bottom);
    return doubt;
}

/* 1: it is not known. Long-term references have no distance. */
static int64_t slice_distance(const struct h264_slice *slice)
{
    int64_t distance = (int64_t)slice->pic->output_poc - slice->ref[0][0].poc;
    if (!slice->num_ref[0] || slice->ref[0][0].long_term || !distance)
        return 1;
    return distance < 0 ? -distance : distance;
}

/* The first macroblock of those at the slice's end that are lost. Step 2 took CONCEAL_DOUBTED. */
static uint32_t first_doubted(const struct doubt *d, const struct h264_slice *slice, uint32_t end)
{
    uint32_t from = end, most_mbs = CONCEAL_DOUBTED_MOST - CONCEAL_DOUBTED,
             begin = end > slice->hdr.first_mb + most_mbs ? end - most_mbs : slice->hdr.first_mb;
    int32_t sum = 0, most = 0;
    for (uint32_t i = end; i > begin && d->pic->arrays.mbs[i - 1].slice == slice->index; i--) {
        sum += macroblock_doubt(d, i - 1);
        if (sum > most) {
            most = sum;
            from = i - 1;
        }
    }
    return from;
}

/* Returns how many macroblocks of the slice are lost. */
static uint32_t slice_doubt(struct h264_slice *slice)
{
    struct doubt d = {.pic = slice->pic,
                      .col = h264_conceal_colocated(slice->pic),
                      .distance = slice_distance(slice)};
    uint32_t end = slice->hdr.first_mb + slice->mbs_decoded, from = first_doubted(&d, slice, end);
    for (uint32_t i = from; i < end; i++)
        h264_conceal_lose(slice->pic, i);
    slice->mbs_decoded -= end - from;
    return end - from;
}

uint32_t h264_conceal_doubt(struct h264_picture *pic)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        lost += pic->slices[i].doubted ? slice_doubt(&pic->slices[i]) : 0;
    atomic_fetch_add(&pic->damage.missing_mbs, lost);
    return lost;
}
