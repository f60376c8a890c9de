/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See intra_chains.h. A macroblock begins when those have ended that its workgroup takes before it,
 * and the intra macroblocks above whose samples the shader waits for.
 */
#include "tests/tools/intra_chains.h"

#include "codec/h264_picture.h"

#include <stdbool.h>
#include <stdio.h>

#define MOST_PARTS 8

static const uint32_t parts_of[INTRA_CHAIN_PARTS] = {1, 2, 3, 4, MOST_PARTS, 0};

static bool is_intra(const struct rec_mb *mb)
{
    return mb->kind <= REC_MB_INTRA_PCM;
}

/* As uses_right() of the shader. */
static bool uses_right(const struct rec_mb *mb)
{
    uint32_t corner = mb->kind == REC_MB_INTRA_4X4 ? 5 : 4,
             mode = mb->intra_mode[0] >> 4 * corner & 15;
    if (mb->kind == REC_MB_INTRA_4X4)
        return mode == 3 || mode == 7;
    return mb->kind == REC_MB_INTRA_8X8 && mode != 1 && mode != 6 && mode != 8;
}

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* When the last one of those above has ended. above: by column, with one more on each side; 0 where
 * it is not intra. */
static uint32_t above_ended(const struct rec_mb *mb, const uint32_t *above)
{
    uint32_t ended = mb->intra_avail & REC_AVAIL_B ? above[0] : 0;
    if (mb->intra_avail & REC_AVAIL_D)
        ended = later(ended, above[-1]);
    if (mb->intra_avail & REC_AVAIL_C && uses_right(mb))
        ended = later(ended, above[1]);
    return ended;
}

/* Fills here[width]. */
static void row_ends(const struct rec_mb *mbs, uint32_t width, uint32_t parts,
                     const uint32_t *above, uint32_t *here)
{
    uint32_t ends[MOST_PARTS] = {0}, run = 0;
    for (uint32_t x = 0; x < width; x++) {
        bool follows = x && is_intra(&mbs[x - 1]);
        here[x] = 0;
        if (!is_intra(&mbs[x]))
            continue;
        run += !follows;
        uint32_t before = parts ? ends[run % parts] : follows ? here[x - 1] : 0;
        here[x] = later(before, above_ended(&mbs[x], &above[x])) + 1;
        if (parts)
            ends[run % parts] = here[x];
    }
}

uint32_t intra_chain(const struct rec_mb *mbs, uint32_t width, uint32_t height, uint32_t parts)
{
    uint32_t rows[2][REC_MAX_SIDE_MBS + 2] = {{0}}, longest = 0;
    for (uint32_t y = 0; y < height; y++) {
        uint32_t *here = &rows[y & 1][1];
        row_ends(mbs + (size_t)y * width, width, parts, &rows[~y & 1][1], here);
        for (uint32_t x = 0; x < width; x++)
            longest = later(longest, here[x]);
    }
    return longest;
}

static bool all_intra(const struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->mb_count; i++)
        if (!is_intra(&pic->arrays.mbs[i]))
            return false;
    return true;
}

void intra_chains_add(struct intra_chains *c, const struct h264_picture *pic)
{
    int kind = all_intra(pic) ? 0 : pic->nal_ref_idc ? 1 : 2;
    uint32_t width = pic->sps->mb_width;
    if (!pic->sps->frame_mbs_only_flag)
        return;
    c->pictures[kind]++;
    for (int i = 0; i < INTRA_CHAIN_PARTS; i++)
        c->sums[kind][i] += intra_chain(pic->arrays.mbs, width, pic->mb_count / width, parts_of[i]);
}

void intra_chains_print(const struct intra_chains *c)
{
    static const char *const kinds[INTRA_CHAIN_KINDS] = {"all intra", "reference", "no reference"},
                             *const names[INTRA_CHAIN_PARTS] = {
                                 "1:", "2:", "3:", "4:", "8:", "each run:"};
    for (int kind = 0; kind < INTRA_CHAIN_KINDS; kind++) {
        if (!c->pictures[kind])
            continue;
        printf("intra chain, %s, %llu pictures, workgroups", kinds[kind],
               (unsigned long long)c->pictures[kind]);
        for (int i = 0; i < INTRA_CHAIN_PARTS; i++)
            printf(" %s %.1f", names[i], (double)c->sums[kind][i] / (double)c->pictures[kind]);
        printf("\n");
    }
}
