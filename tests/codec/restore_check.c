/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Records that are dropped once they are derived, and restored when another picture reads them, or
 * when nothing else of their picture is left. They must be those of a decoder that drops none.
 * Where memory is short, a picture stays as it is.
 *
 *   restore_check [--mutate SEED] FILE
 *
 * Prints how many reference pictures were restored for a reader, and at the end: I, P, B, fields;
 * and how often memory was short.
 * Exit codes: 0, 1: others than the ones dropped, 2: cannot run.
 */
#include "codec/arrays.h"
#include "codec/h264.h"
#include "codec/h264_export.h"
#include "codec/h264_stream.h"
#include "tests/tools/annexb.h"
#include "tests/tools/read_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many pictures later a picture is restored that nobody reads; every SHORT-th one meets a lack
 * of memory at each allocation. */
enum { LATER = 24, SHORT = 8 };

static unsigned allocations_left = UINT32_MAX;

static void *get(void *ctx, size_t size)
{
    if (!allocations_left)
        return NULL;
    allocations_left -= allocations_left != UINT32_MAX;
    return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void put(void *ctx, void *memory, size_t size)
{
    free(memory);
}

static const struct h264_allocator allocator = {get, put, NULL, NULL};

struct kept {
    struct h264_picture *pic;
    uint64_t hash;
};

struct run {
    bool drops;
    uint64_t mutate; /* state of the random numbers; 0: whole slices */
    struct h264_scratch *scratch;
    uint64_t *hashes; /* of each picture's records, in decoding order */
    uint32_t count, capacity;
    struct kept kept[LATER];
    uint32_t at;
    unsigned readers, intra, p, b, fields; /* pictures that were restored */
    unsigned shortages;                    /* how often memory was too short for that */
    bool failed;
};

static uint64_t add(uint64_t h, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

/* Places of coefficients do not count: nobody reads them in another picture. */
static uint64_t records_hash(const struct h264_picture *pic)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < pic->mb_count; i++) {
        struct rec_mb mb = pic->arrays.mbs[i];
        mb.coeff = 0;
        h = add(h, &mb, sizeof(mb));
        h = add(h, &pic->arrays.motion[i], sizeof(pic->arrays.motion[i]));
    }
    return h;
}

static bool restore(struct run *r, struct h264_picture *pic)
{
    bool good = !h264_picture_restore_motion(pic, r->scratch) && pic->arrays.motion;
    if (!good)
        printf("picture %u: cannot be restored\n", pic->id);
    r->failed |= !good;
    return good;
}

/* As a coder does before step 3. */
static void restore_read(struct run *r, const struct h264_picture *pic)
{
    struct h264_picture *read[33];
    uint32_t n = h264_picture_reads_records(pic, read);
    n += h264_picture_conceal_source(pic, &read[n]);
    for (uint32_t i = 0; i < n; i++) {
        bool missing = !read[i]->arrays.motion;
        if (h264_picture_is_kept(read[i]) && restore(r, read[i]))
            r->readers += missing;
    }
}

static void count_kind(struct run *r, const struct h264_picture *pic)
{
    bool p = false;
    for (uint32_t i = 0; i < pic->slice_count; i++)
        p |= pic->slices[i].hdr.type == H264_P;
    r->intra += !p && !pic->has_b_slices;
    r->p += p && !pic->has_b_slices;
    r->b += pic->has_b_slices;
    r->fields += pic->structure != REC_FRAME;
}

/* With room for ever more allocations, until it is restored. */
static void restore_short(struct run *r, struct h264_picture *pic)
{
    int error = -1;
    for (unsigned n = 0; error && n < 64; n++) {
        allocations_left = n;
        error = h264_picture_restore_motion(pic, r->scratch);
        allocations_left = UINT32_MAX;
        r->shortages += error != 0;
        r->failed |= (error != 0) != (!pic->arrays.motion && !pic->arrays.mbs);
    }
}

/* The oldest one that was kept makes room. */
static void compare_oldest(struct run *r)
{
    struct kept *k = &r->kept[r->at++ % LATER];
    if (!k->pic)
        return;
    bool missing = !k->pic->arrays.motion;
    if (missing && r->at % SHORT == 0)
        restore_short(r, k->pic);
    if (restore(r, k->pic) && records_hash(k->pic) != k->hash) {
        printf("picture %u: other records\n", k->pic->id);
        r->failed = true;
    }
    if (missing)
        count_kind(r, k->pic);
    h264_picture_unref(k->pic);
    *k = (struct kept){0};
}

/* As the GPU's motion leaves a reference picture. */
static void drop_records(struct run *r, struct h264_picture *pic, uint64_t hash)
{
    uint32_t blocks;
    if (!pic->nal_ref_idc || !h264_picture_intact(pic, &blocks) ||
        !h264_picture_exports_motion(pic) || !h264_picture_may_restore(pic))
        return;
    compare_oldest(r);
    r->failed |= h264_picture_keep(pic) != 0;
    h264_picture_drop_records(pic);
    r->kept[(r->at - 1) % LATER] = (struct kept){h264_picture_ref(pic), hash};
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* A wrong bit in one of eight slices behind the first picture. */
static void mutate_slice(struct run *r, struct h264_slice *slice)
{
    size_t from = slice->data_bit_offset / 8 + 1;
    if (!r->mutate || !slice->pic->id || next_random(&r->mutate) % 8 || slice->nal_size <= from)
        return;
    slice->nal[from + next_random(&r->mutate) % (slice->nal_size - from)] ^=
        (uint8_t)(1u << next_random(&r->mutate) % 8);
}

static void take_hash(struct run *r, uint64_t hash)
{
    if (r->count == r->capacity) {
        r->capacity = r->capacity ? 2 * r->capacity : 64;
        r->hashes = realloc(r->hashes, r->capacity * sizeof(*r->hashes));
        if (!r->hashes)
            abort();
    }
    r->hashes[r->count++] = hash;
}

static void decode(struct run *r, struct h264_picture *pic)
{
    uint64_t hash;
    pic->holder.wants_map = 1;
    if (pic->non_existing || !pic->slice_count || h264_picture_alloc(pic))
        return;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        mutate_slice(r, &pic->slices[i]);
        h264_slice_decode(&pic->slices[i], r->scratch);
    }
    if (r->drops)
        restore_read(r, pic);
    r->failed |= h264_picture_derive_motion(pic) < 0;
    hash = records_hash(pic);
    take_hash(r, hash);
    if (r->drops)
        drop_records(r, pic, hash);
}

static void drain(struct run *r, struct h264_stream *s)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(s))) {
        decode(r, pic);
        h264_picture_done(pic);
        h264_picture_unref(pic);
    }
    while ((pic = h264_stream_next_output(s)))
        h264_picture_unref(pic);
}

static bool run_stream(struct run *r, const uint8_t *data, size_t size)
{
    struct h264_stream *s = NULL;
    struct h264_diag diag = {0};
    r->scratch = h264_scratch_create();
    if (!r->scratch ||
        h264_stream_create(
            &(struct h264_stream_params){.allocator = &allocator, .late_arrays = true, .views = 1},
            &s))
        return false;
    for (size_t at = annexb_start(data, size, 0), end; at < size; at = end) {
        end = annexb_start(data, size, at + 3);
        h264_stream_feed(s, data + at, end - at, 0, &diag);
        drain(r, s);
    }
    h264_stream_flush(s);
    drain(r, s);
    h264_stream_free(s);
    for (unsigned i = 0; i < LATER; i++) /* all others are gone */
        compare_oldest(r);
    h264_scratch_free(r->scratch);
    return true;
}

int main(int argc, char **argv)
{
    uint64_t seed = argc == 4 && !strcmp(argv[1], "--mutate") ? strtoull(argv[2], NULL, 0) : 0;
    struct run whole = {.mutate = seed}, drops = {.mutate = seed, .drops = true};
    size_t size = 0;
    uint8_t *data = argc > 1 ? read_file(argv[argc - 1], &size) : NULL;
    if (!data || !run_stream(&whole, data, size) || !run_stream(&drops, data, size))
        return 2;
    bool same = whole.count == drops.count &&
                !memcmp(whole.hashes, drops.hashes, whole.count * sizeof(*whole.hashes));
    if (!same)
        printf("pictures that read others have other records\n");
    printf("%u pictures, %u restored for readers, later I %u P %u B %u, fields %u, short %u\n",
           drops.count, drops.readers, drops.intra, drops.p, drops.b, drops.fields,
           drops.shortages);
    free(whole.hashes);
    free(drops.hashes);
    free(data);
    return same && !whole.failed && !drops.failed ? 0 : 1;
}
