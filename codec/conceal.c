/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Concealment of macroblocks that no slice covered. Their records continue the motion around them,
 * in space and in time. Without a picture to copy, they predict from the samples to the left and
 * above.
 *
 * The records are data like any other. The macroblocks name a slice record of their own, the last
 * one, whose lists hold the references of the picture's slices. Concealment starts beside decoded
 * macroblocks and goes inwards from all sides.
 */
#include "codec/conceal.h"
#include "codec/h264.h"
#include "codec/h264_error.h"

#include <stdlib.h>
#include <string.h>

/* All macroblocks of a field picture are field macroblocks, and of a pair in an MBAFF frame both
 * are or none. */
static uint8_t field_flag(const struct h264_picture *pic, uint32_t i)
{
    uint32_t other = i / pic->mb_width & 1 ? i - pic->mb_width : i + pic->mb_width;
    if (pic->structure != REC_FRAME)
        return REC_MB_FIELD;
    if (!pic->mbaff || other >= pic->mb_count || !pic->arrays.syntax[other].decoded)
        return 0;
    return pic->arrays.mbs[other].flags & REC_MB_FIELD;
}

/* A slice that failed within a pair leaves its top macroblock beside the bottom one of another
 * slice, where addresses come twice: the pair is what the top one says. */
static void drop_mixed_pairs(struct h264_picture *pic)
{
    for (uint32_t i = 0; i + pic->mb_width < pic->mb_count; i++) {
        uint32_t bottom = i + pic->mb_width;
        if (!(i / pic->mb_width & 1) && pic->arrays.syntax[i].decoded &&
            pic->arrays.syntax[bottom].decoded &&
            ((pic->arrays.mbs[i].flags ^ pic->arrays.mbs[bottom].flags) & REC_MB_FIELD))
            pic->arrays.syntax[bottom].decoded = 0;
    }
}

void h264_conceal_lose(struct h264_picture *pic, uint32_t i)
{
    pic->arrays.syntax[i].decoded = 0;
    pic->arrays.mbs[i] = (struct rec_mb){.slice = pic->slice_count, .flags = field_flag(pic, i)};
    memset(&pic->arrays.motion[i], 0, sizeof(pic->arrays.motion[i]));
    memset(pic->arrays.motion[i].ref_idx, -1, sizeof(pic->arrays.motion[i].ref_idx));
}

uint32_t h264_conceal_find(struct h264_picture *pic)
{
    uint32_t missing = 0;
    if (pic->mbaff)
        drop_mixed_pairs(pic);
    for (uint32_t i = 0; i < pic->mb_count; i++) {
        if (pic->arrays.syntax[i].decoded)
            continue;
        missing++;
        h264_conceal_lose(pic, i);
    }
    atomic_store(&pic->damage.missing_mbs, missing);
    return missing;
}

enum { ROWS_CONTINUED = 2, CHROMA_VERTICAL = 2 };

/* So few concealed macroblocks lie between it and a decoded one above that columns still go on. */
static bool continues_columns(const struct h264_picture *pic, uint32_t i)
{
    for (unsigned n = 0; n < ROWS_CONTINUED && i >= pic->mb_width; n++) {
        i -= pic->mb_width;
        if (pic->arrays.mbs[i].slice < pic->slice_count)
            return true;
    }
    return false;
}

/* Vertical prediction near decoded macroblocks, else DC prediction from the left and from above;
 * mid-grey without both. In MBAFF frames neighbours are not worth their rules. */
static void conceal_intra(struct h264_picture *pic, uint32_t i)
{
    struct rec_mb *mb = &pic->arrays.mbs[i];
    mb->kind = REC_MB_INTRA_16X16;
    mb->intra_mode[0] = 2;
    if (pic->mbaff)
        return;
    mb->intra_avail =
        (uint8_t)((i % pic->mb_width ? REC_AVAIL_A : 0) | (i >= pic->mb_width ? REC_AVAIL_B : 0));
    if (continues_columns(pic, i)) {
        mb->intra_mode[0] = 0;
        mb->intra_chroma_mode = CHROMA_VERTICAL;
    }
}

static void conceal_inter(struct conceal *c, uint32_t i)
{
    c->pic->arrays.mbs[i].kind = REC_MB_INTER;
    h264_conceal_motion(c, i);
}

/* A picture that is mostly intra macroblocks though it could refer to others has nothing to do with
 * them. */
static bool mostly_intra(const struct h264_picture *pic)
{
    uint32_t intra = 0, inter = 0;
    for (uint32_t i = 0; i < pic->mb_count; i++) {
        uint32_t slice = pic->arrays.mbs[i].slice;
        if (slice >= pic->slice_count || pic->slices[slice].hdr.type == H264_I ||
            pic->slices[slice].hdr.type == H264_SI)
            continue;
        intra += pic->arrays.mbs[i].kind != REC_MB_INTER;
        inter += pic->arrays.mbs[i].kind == REC_MB_INTER;
    }
    return intra > 3 * inter;
}

/* Appends the missing neighbours of macroblock i, which are one further than it. */
static uint32_t queue_missing_neighbours(struct conceal *c, uint32_t i, uint32_t *queue,
                                         uint32_t end)
{
    uint32_t width = c->pic->mb_width, x = i % width, next[4], n = 0;
    if (x > 0)
        next[n++] = i - 1;
    if (x + 1 < width)
        next[n++] = i + 1;
    if (i >= width)
        next[n++] = i - width;
    if (i + width < c->pic->mb_count)
        next[n++] = i + width;
    for (uint32_t k = 0; k < n; k++)
        if (c->depth[next[k]] == CONCEAL_MISSING) {
            c->depth[next[k]] = (uint8_t)(c->depth[i] + (c->depth[i] < CONCEAL_FAR));
            queue[end++] = next[k];
        }
    return end;
}

/* From what was decoded inwards; depth tells those whose turn was before. */
static void conceal_inwards(struct conceal *c, uint32_t *queue)
{
    uint32_t begin = 0, end = 0;
    for (uint32_t i = 0; i < c->pic->mb_count; i++)
        c->depth[i] =
            c->pic->arrays.mbs[i].slice < c->pic->slice_count ? CONCEAL_KNOWN : CONCEAL_MISSING;
    for (uint32_t i = 0; i < c->pic->mb_count; i++)
        if (c->depth[i] == CONCEAL_KNOWN)
            end = queue_missing_neighbours(c, i, queue, end);
    if (!end) { /* nothing was decoded */
        memset(c->depth, CONCEAL_FAR, c->pic->mb_count);
        for (uint32_t i = 0; i < c->pic->mb_count; i++)
            queue[end++] = i;
    }
    for (; begin < end; begin++) {
        conceal_inter(c, queue[begin]);
        end = queue_missing_neighbours(c, queue[begin], queue, end);
    }
}

int h264_conceal(struct h264_picture *pic)
{
    struct conceal c = {.pic = pic};
    uint32_t *queue;
    int error;
    if (!h264_conceal_references(&c) || mostly_intra(pic)) {
        for (uint32_t i = 0; i < pic->mb_count; i++)
            if (pic->arrays.mbs[i].slice == pic->slice_count)
                conceal_intra(pic, i);
        return H264_OK;
    }
    c.depth = malloc(pic->mb_count);
    queue = malloc(pic->mb_count * sizeof(*queue));
    error = c.depth && queue ? H264_OK : H264_ERR_NOMEM;
    if (!error)
        conceal_inwards(&c, queue);
    free(queue);
    free(c.depth);
    return error;
}
