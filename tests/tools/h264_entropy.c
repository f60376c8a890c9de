/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Developer's look at steps 2 and 3 of the decoder. It entropy-decodes every slice of an Annex B
 * file, derives its motion and validates the records. It prints checksums of the records after each
 * step, the macroblocks decoded and missing, and errors. It also prints the processor seconds of
 * h264_slice_decode, and of all the rest (motion).
 *
 *     h264_entropy [-r SEED] [-m SEED] [-w PICTURES] [-g 1] [-p WORDS] [-c 1] FILE
 *
 * - -r decodes all slices of a window of pictures in random order: the checksum must not change. -w
 *   is the window (32).
 * - -m flips bits in the slice data first.
 * - -g 1 takes the code for any processor if there is another one.
 * - -p packs the levels of pictures of one slice, with room for so many words at first.
 * - -c 1 prints how long the chains of intra macroblocks are, too: for so many workgroups of a row.
 *
 * Exit status: 0 every macroblock was decoded without error, 1 not so, 2 usage or file error.
 */
#include "codec/arrays.h"
#include "codec/h264_stream.h"
#include "codec/pack_levels.h"
#include "reference/recon_ref.h"
#include "codec/slice_decode.h"
#include "tests/tools/annexb.h"
#include "tests/tools/intra_chains.h"
#include "tests/tools/read_file.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MAX_WINDOW 256

struct run {
    struct h264_scratch *scratch;
    struct h264_picture *window[MAX_WINDOW];
    bool generic, chained;
    uint32_t packed_room; /* words; 0: levels are in coefficient blocks */
    unsigned count, size;
    uint64_t random, mutate; /* states of generators; 0: off */
    uint64_t checksum, motion_checksum, mbs, missing, slices, errors, feed_errors, refused,
        pictures, bytes, coeff_blocks, packed_words;
    double seconds, motion_seconds;
    struct intra_chains chains;
};

/* xorshift64* */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1du;
}

static uint64_t hash(uint64_t h, const void *data, size_t size)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < size; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h;
}

/* The levels of n coefficient blocks. */
static uint64_t hash_levels(uint64_t h, const struct h264_picture *pic, uint32_t mb, unsigned n)
{
    size_t bytes = 16 * h264_coeff_bytes(pic->sps);
    const struct rec_view view = {.packed = pic->arrays.packed,
                                  .packed_words = pic->arrays.packed_words};
    if (!view.packed)
        return hash(h, (const uint8_t *)pic->arrays.coeffs + pic->arrays.mbs[mb].coeff * bytes,
                    n * bytes);
    for (unsigned i = 0; i < 16 * n; i++) {
        int16_t level = (int16_t)ref_packed_level(&view, mb, n, i / 16, i % 16);
        h = hash(h, &level, sizeof(level));
    }
    return h;
}

/* Where coefficient blocks lie depends on the order of slices; what they hold does not. */
static uint64_t picture_checksum(struct run *run, const struct h264_picture *pic)
{
    uint64_t h = 0xcbf29ce484222325u ^ pic->id;
    run->packed_words += atomic_load(&pic->arrays.packed_words);
    for (uint32_t i = 0; i < pic->mb_count; i++) {
        struct rec_mb mb = pic->arrays.mbs[i];
        unsigned coeff_blocks = 0;
        if (!pic->arrays.syntax[i].decoded) {
            run->missing++;
            continue;
        }
        for (int c = 0; c < 3; c++)
            coeff_blocks += (unsigned)__builtin_popcount(mb.coded[c]);
        h = hash_levels(h, pic, i, coeff_blocks);
        mb.coeff = 0;
        h = hash(h, &mb, sizeof(mb));
        if (pic->arrays.syntax[i].part != H264_PART_DIRECT)
            h = hash(h, &pic->arrays.motion[i], sizeof(pic->arrays.motion[i]));
        h = hash(h, &pic->arrays.syntax[i], sizeof(pic->arrays.syntax[i]));
        run->mbs++;
        run->coeff_blocks += coeff_blocks;
    }
    return h;
}

static void flip_bits(uint8_t *nal, size_t size, size_t from, uint64_t *state)
{
    size_t bits = size * 8;
    unsigned flips = (unsigned)(next_random(state) >> 32) % 4;
    for (unsigned i = 0; i < flips && bits > from; i++) {
        size_t at = from + (next_random(state) >> 24) % (bits - from);
        nal[at >> 3] ^= (uint8_t)(1u << (at & 7));
    }
}

static void mutate_slice(struct h264_slice *slice, uint64_t *state)
{
    flip_bits(slice->nal, slice->nal_size, slice->data_bit_offset, state);
    if (slice->nal_b)
        flip_bits(slice->nal_b, slice->nal_b_size, slice->data_bit_offset_b, state);
    if (slice->nal_c)
        flip_bits(slice->nal_c, slice->nal_c_size, slice->data_bit_offset_c, state);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void decode_slice(struct run *run, struct h264_slice *slice)
{
    double start;
    int error;
    if (run->mutate)
        mutate_slice(slice, &run->mutate);
    start = cpu_seconds();
    if (run->generic && !slice->hdr.redundant_pic_cnt)
        error = h264_slice_parse(slice, run->scratch);
    else
        error = h264_slice_decode(slice, run->scratch);
    run->seconds += cpu_seconds() - start;
    run->slices++;
    run->bytes += slice->nal_size;
    if (error) {
        run->errors++;
        if (!run->mutate)
            fprintf(stderr, "picture %u slice %u: %s after %u macroblocks\n", slice->pic->id,
                    slice->index, h264_error_text(error), slice->mbs_decoded);
    }
}

/* Step 3, and the border to the GPU */
static void derive_motion(struct run *run, struct h264_picture *pic)
{
    double start = cpu_seconds();
    const char *reason = "its records";
    struct rec_view view;
    bool good = !h264_picture_derive_motion(pic);
    if (good) {
        h264_picture_records(pic, &view);
        good = !records_validate_content(&view, &reason);
    }
    run->motion_seconds += cpu_seconds() - start;
    run->motion_checksum = hash(run->motion_checksum, pic->arrays.motion,
                                pic->mb_count * sizeof(pic->arrays.motion[0]));
    if (!good) {
        run->refused++;
        fprintf(stderr, "picture %u: %s\n", pic->id, reason);
    }
}

static bool decode_window(struct run *run)
{
    struct h264_slice **order;
    uint32_t n = 0, at = 0;
    for (unsigned i = 0; i < run->count; i++)
        n += run->window[i]->slice_count;
    order = malloc((n + 1) * sizeof(struct h264_slice *));
    if (!order)
        return false;
    for (unsigned i = 0; i < run->count; i++)
        for (uint32_t j = 0; j < run->window[i]->slice_count; j++)
            order[at++] = &run->window[i]->slices[j];
    for (uint32_t i = n; run->random && i > 1; i--) {
        uint32_t j = (uint32_t)((next_random(&run->random) >> 16) % i);
        struct h264_slice *slice = order[j];
        order[j] = order[i - 1];
        order[i - 1] = slice;
    }
    for (uint32_t i = 0; i < n; i++)
        decode_slice(run, order[i]);
    free(order);
    for (unsigned i = 0; i < run->count; i++) {
        run->checksum += picture_checksum(run, run->window[i]);
        derive_motion(run, run->window[i]);
        if (run->chained)
            intra_chains_add(&run->chains, run->window[i]);
        h264_picture_done(run->window[i]);
        h264_picture_unref(run->window[i]);
    }
    run->count = 0;
    return true;
}

static bool drain(struct run *run, struct h264_stream *s)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_output(s)))
        h264_picture_unref(pic);
    while ((pic = h264_stream_next_decode(s))) {
        if (pic->non_existing) {
            h264_picture_done(pic);
            h264_picture_unref(pic);
            continue;
        }
        if (run->packed_room && h264_picture_alloc_packed(pic, run->packed_room))
            return false;
        run->pictures++;
        run->window[run->count++] = pic;
        if (run->count == run->size && !decode_window(run))
            return false;
    }
    return true;
}

static bool decode_file(struct run *run, struct h264_stream *s, const uint8_t *data, size_t size)
{
    for (size_t from = 0, at; from < size; from = at) {
        struct h264_diag diag;
        at = annexb_start(data, size, from + 3);
        run->feed_errors += h264_stream_feed(s, data + from, at - from, 0, &diag) < 0;
        if (!drain(run, s))
            return false;
    }
    h264_stream_flush(s);
    return drain(run, s) && decode_window(run);
}

static bool parse_arguments(int argc, char **argv, struct run *run)
{
    int i = 1;
    for (; i + 2 < argc && argv[i][0] == '-'; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 0);
        if (argv[i][1] == 'r')
            run->random = value + 0x9e3779b97f4a7c15u;
        else if (argv[i][1] == 'm')
            run->mutate = value * 2 + 0x9e3779b97f4a7c15u;
        else if (argv[i][1] == 'g')
            run->generic = value != 0;
        else if (argv[i][1] == 'c')
            run->chained = value != 0;
        else if (argv[i][1] == 'p' && value <= UINT32_MAX)
            run->packed_room = (uint32_t)value;
        else if (argv[i][1] == 'w' && value > 0 && value <= MAX_WINDOW)
            run->size = (unsigned)value;
        else
            return false;
    }
    return i + 1 == argc;
}

static void print_run(const struct run *run)
{
    printf("checksum %016llx pictures %llu slices %llu mbs %llu missing %llu errors %llu units "
           "%llu bytes %llu seconds %.4f "
           "motion %.4f motion-checksum %016llx",
           (unsigned long long)run->checksum, (unsigned long long)run->pictures,
           (unsigned long long)run->slices, (unsigned long long)run->mbs,
           (unsigned long long)run->missing, (unsigned long long)(run->errors + run->feed_errors),
           (unsigned long long)run->coeff_blocks, (unsigned long long)run->bytes, run->seconds,
           run->motion_seconds, (unsigned long long)run->motion_checksum);
    if (run->mbs)
        printf(" ns/mb %.1f Mbit/s %.1f", run->seconds * 1e9 / (double)run->mbs,
               (double)run->bytes * 8e-6 / run->seconds);
    if (run->packed_words)
        printf(" packed-words %llu", (unsigned long long)run->packed_words);
    printf("\n");
    intra_chains_print(&run->chains);
}

int main(int argc, char **argv)
{
    struct h264_stream_params params = {0};
    struct run run = {.size = 32};
    struct h264_stream *s = NULL;
    uint8_t *data = NULL;
    size_t size = 0;
    bool good;
    /* Keep freed pictures' memory, as the programs' pools do, so that page faults are not timed
     * with every picture. */
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    if (!parse_arguments(argc, argv, &run)) {
        fprintf(stderr, "usage: h264_entropy [-r SEED] [-m SEED] [-w PICTURES] [-g 1] [-p WORDS] "
                        "[-c 1] FILE\n");
        return 2;
    }
    params.late_arrays = run.packed_room > 0;
    data = read_file(argv[argc - 1], &size);
    run.scratch = h264_scratch_create();
    good =
        data && run.scratch && !h264_stream_create(&params, &s) && decode_file(&run, s, data, size);
    if (good)
        print_run(&run);
    else
        fprintf(stderr, "%s: cannot be read, or no memory\n", argv[argc - 1]);
    h264_stream_free(s);
    h264_scratch_free(run.scratch);
    free(data);
    if (!good)
        return 2;
    return run.missing || run.errors || run.feed_errors || run.refused;
}
