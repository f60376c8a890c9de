/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The model of pelton bench --encode, for P pictures with one reference.
 *
 * Bytes: the least that a pass moves through device memory, as in bench_model.c. Operations: those
 * on samples, by the formulas of docs/design/encode.md. Additions, multiplications, shifts and
 * comparisons count alike. A predicted sample of the grid of half samples takes 2 for the mean of
 * two others. SATD takes 8 a sample: a difference, six additions of a 4x4 Hadamard transform, and
 * the sum. A difference and its sum take 2. A 4x4 or 8x8 transform with quantiser, scaling and the
 * way back takes 24.
 *
 * What depends on the picture has no floor: intra macroblocks of P pictures, and coefficients.
 */
#include "client/bench_encode.h"

#include <string.h>

/* By macroblock: struct rec_mb, rec_motion, enc_search of a reference, enc_intra, strengths */
enum { RECORD = 32, MOTION = 136, SEARCH = 84, INTRA = 68, STRENGTHS = 32, ANALYSIS = 8 };

/* Bytes and operations of a macroblock. A macroblock has 256 samples of luma. */
static const struct pass_cost {
    const char *name;
    double bytes, operations;
} costs[] = {
    /* both of the source and of the reconstruction */
    {"encode_load", 2 * (256 + 256), 0},
    {"encode_reduce", 2 * (256 + 64 + 64 + 16), 2 * (64 + 16) * 5},
    /* b, h and j: six taps take 11 and rounding 3; j has another six taps */
    {"encode_half_samples", 256 + 3 * 256, 256 * (3 * 14)},
    /* the blocks of half of the size: six modes of I and one vector of P, by SATD */
    {"encode_analyse", 2 * 64 + ANALYSIS, 64 * 7 * 8},
    {"encode_begin", 1 + RECORD + MOTION, 0},
    /* nine modes of 4x4 blocks: a prediction of 3, and SATD */
    {"encode_intra_first", 256 + INTRA, 256 * 9 * 11},
    /* nine modes of 4x4 and of 8x8 blocks, four of 16x16 and of chroma */
    {"encode_intra_choose", 384 + 2 * INTRA, 256 * (9 + 9 + 4 + 2) * 11},
    /* 33 x 33 vectors in a quarter of the size */
    {"encode_search_coarse", 2 * 16 + SEARCH, 16 * 1089 * 2},
    /* 7 x 7 vectors in half of the size; twice in whole samples: from both predictions */
    {"encode_search_half", 2 * 64 + 2 * SEARCH, 64 * 49 * 2},
    {"encode_search_whole", 2 * 256 + 2 * SEARCH + MOTION, 256 * 49 * 2},
    /* 17 vectors for each of 16x16, 16x8, 8x16 and 8x8 */
    {"encode_refine", 5 * 256 + 2 * SEARCH, 256 * 17 * 4 * (2 + 8)},
    {"encode_field", SEARCH + MOTION, 0},
    /* twice: the prediction of all partitions is a cost that is known */
    {"encode_choose", 2 * (SEARCH + INTRA + 2 * MOTION + RECORD), 0},
    /* two motions: a prediction, and both transforms */
    {"encode_inter", 384 * 3 + 2 * (2 * MOTION + RECORD), 2 * 384 * (2 + 2 * 24)},
    {"encode_mark", MOTION + INTRA + 2 * RECORD, 0},
    {"encode_scan", 2 * RECORD, 0},
    {"encode_strength", RECORD + MOTION + STRENGTHS, 0},
    {"encode_deblock", 2 * 384 + STRENGTHS, 384 * (2.0 / 4 * 20)},
};

static const struct pass_cost *cost_of(const char *name)
{
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
        if (!strcmp(costs[i].name, name))
            return &costs[i];
    return NULL;
}

static struct encode_row *row_of(struct bench_encode *b, const char *name)
{
    for (unsigned i = 0; i < b->n_rows; i++)
        if (!strcmp(b->rows[i].name, name))
            return &b->rows[i];
    b->rows[b->n_rows] = (struct encode_row){.name = name};
    return &b->rows[b->n_rows++];
}

/* Macroblocks of a picture: the mean of all streams, which have inputs in turn */
static double mean_mbs(const struct bench_encode *b)
{
    double sum = 0;
    for (unsigned i = 0; i < b->streams; i++) {
        const struct encode_clip *c = &b->clips[i % b->o->n_inputs];
        const uint64_t columns = (c->width + 15) / 16, rows = (c->height + 15) / 16;
        sum += (double)(columns * rows);
    }
    return sum / b->streams;
}

static double floor_of(const struct bench_encode *b, const struct encode_row *row)
{
    double by_bytes = b->bandwidth > 0 ? row->bytes / b->bandwidth : 0;
    double by_operations = b->operations > 0 ? row->operations / b->operations : 0;
    return by_bytes > by_operations ? by_bytes : by_operations;
}

void encode_model(struct bench_encode *b)
{
    const struct gpu_encoder_counts *c = &b->figures.counts;
    double mbs = mean_mbs(b);
    if (!c->pictures)
        return;
    for (int i = 0; c->pass[i]; i++) {
        if (c->pass_s[i] <= 0) /* it did not run, or there are no timestamps */
            continue;
        const struct pass_cost *cost = cost_of(c->pass[i]);
        struct encode_row *row = row_of(b, c->pass[i]);
        row->seconds += c->pass_s[i] / (double)c->pictures;
        row->bytes = cost ? cost->bytes * mbs : 0;
        row->operations = cost ? cost->operations * mbs : 0;
        row->floor = floor_of(b, row);
    }
}
