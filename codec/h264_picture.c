/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures: creation by step 1, arrays, references, end.
 *
 * h264_picture_create, slices are added, h264_picture_complete, h264_picture_alloc; then steps 2
 * and 3, the view, and submission by the caller; then h264_picture_done, which frees arrays that
 * only reconstruction needed; then the last h264_picture_unref.
 *
 * Before step 2, mbs have slice REC_NO_SLICE and kind REC_MB_MISSING, and syntax and rec_slices are
 * zero. motion and coeffs are undefined: read a macroblock's entries only once its syntax says
 * decoded.
 */
#include "codec/arrays.h"
#include "codec/pack_levels.h"
#include "codec/h264_picture.h"
#include "codec/h264_export.h"
#include "codec/parameter_sets.h"
#include "codec/sei.h"
#include "codec/slice_groups.h"

#include <stdlib.h>

static void *default_get(void *ctx, size_t size)
{
    return aligned_alloc(64, (size + 63) & ~(size_t)63);
}

static void default_put(void *ctx, void *memory, size_t size)
{
    free(memory);
}

static const struct h264_allocator default_allocator = {default_get, default_put, NULL, NULL};

void *h264_alloc(const struct h264_allocator *allocator, size_t size)
{
    return allocator->get(allocator->ctx, size);
}

void h264_free(const struct h264_allocator *allocator, void *memory, size_t size)
{
    if (memory)
        allocator->put(allocator->ctx, memory, size);
}

const struct h264_allocator *h264_bytes_allocator(const struct h264_picture *pic)
{
    return pic->holder.allocator->bytes ? pic->holder.allocator->bytes : pic->holder.allocator;
}

struct h264_picture *h264_picture_create(const struct h264_allocator *allocator,
                                         const struct h264_sps *sps, unsigned structure)
{
    struct h264_picture *pic = calloc(1, sizeof(*pic));
    if (!pic)
        return NULL;
    atomic_init(&pic->refs, 1);
    atomic_init(&pic->arrays.coeff_block_count, 0);
    atomic_init(&pic->arrays.packed_words, 0);
    atomic_init(&pic->damage.missing_mbs, 0);
    pic->sps = h264_sps_ref(sps);
    pic->structure = (uint8_t)structure;
    pic->mb_width = sps->mb_width;
    pic->mb_height = sps->mb_height;
    pic->mb_count = pic->mb_width * pic->mb_height / (structure == REC_FRAME ? 1 : 2);
    pic->holder.slot = -1;
    pic->holder.allocator = allocator ? allocator : &default_allocator;
    return pic;
}

struct h264_slice *h264_picture_add_slice(struct h264_picture *pic)
{
    struct h264_slice *slice;
    if (pic->slice_count == pic->slice_capacity) {
        uint32_t capacity = pic->slice_capacity ? pic->slice_capacity * 2 : 1;
        struct h264_slice *slices = realloc(pic->slices, capacity * sizeof(*slices));
        if (!slices)
            return NULL;
        pic->slices = slices;
        pic->slice_capacity = capacity;
    }
    slice = &pic->slices[pic->slice_count];
    memset(slice, 0, sizeof(*slice));
    slice->pic = pic;
    slice->index = pic->slice_count++;
    return slice;
}

void h264_picture_hold(struct h264_picture *pic, struct h264_picture *other)
{
    for (uint32_t i = 0; i < pic->refs_held_count; i++)
        if (pic->refs_held[i] == other)
            return;
    if (pic->refs_held_count < sizeof(pic->refs_held) / sizeof(pic->refs_held[0]))
        pic->refs_held[pic->refs_held_count++] = h264_picture_ref(other);
}

void h264_picture_hold_frame(struct h264_picture *pic, struct h264_picture *other)
{
    for (; other && other != pic; other = other->second_field) {
        h264_picture_hold(pic, other);
        for (unsigned i = 0; i < 2; i++)
            if (other->planes[i])
                h264_picture_hold(pic, other->planes[i]);
    }
}

static void list_forget(struct h264_slice *slice, unsigned list, const struct h264_picture *ref)
{
    for (unsigned i = 0; i < slice->num_ref[list]; i++) {
        if (slice->ref[list][i].pic == ref) {
            slice->ref[list][i].pic = NULL;
            slice->ref[list][i].id = UINT32_MAX;
        }
    }
}

void h264_picture_forget(struct h264_picture *pic, const struct h264_picture *ref)
{
    for (uint32_t i = 0; i < pic->slice_count; i++)
        for (unsigned list = 0; list < 2; list++)
            list_forget(&pic->slices[i], list, ref);
    for (uint32_t i = 0; i < pic->refs_held_count; i++) {
        if (pic->refs_held[i] == ref) {
            h264_picture_unref(pic->refs_held[i]);
            pic->refs_held[i--] = pic->refs_held[--pic->refs_held_count];
        }
    }
    if (pic->damage.previous == ref) {
        h264_picture_unref(pic->damage.previous);
        pic->damage.previous = NULL;
    }
}

static void copy_identity(struct h264_picture *to, const struct h264_picture *from)
{
    to->idr = from->idr;
    to->nal_ref_idc = from->nal_ref_idc;
    to->mbaff = from->mbaff;
    to->has_b_slices = from->has_b_slices;
    to->recovery = from->recovery;
    to->damage.corrupt = from->damage.corrupt;
    to->damage.latest = from->damage.latest;
    to->damage.clean = from->damage.clean;
    to->damage.missing = from->damage.missing;
    to->damage.anew = from->damage.anew;
    to->damage.doubt = from->damage.doubt;
    to->damage.doubt_id = from->damage.doubt_id;
    to->damage.unrecovered = from->damage.unrecovered;
    to->poc[0] = from->poc[0];
    to->poc[1] = from->poc[1];
    to->output_poc = from->output_poc;
    to->tag = from->tag;
    to->view = from->view;
    if (from->damage.previous)
        to->damage.previous = h264_picture_ref(from->damage.previous);
}

struct h264_picture *h264_picture_take_plane(struct h264_picture *pic, unsigned plane)
{
    struct h264_picture *to = h264_picture_create(pic->holder.allocator, pic->sps, pic->structure);
    uint32_t kept = 0;
    if (!to)
        return NULL;
    copy_identity(to, pic);
    to->colour_plane = (uint8_t)plane;
    to->plane0 = h264_picture_ref(pic);
    if (pic->first_field)
        to->first_field = h264_picture_ref(pic->first_field);
    for (uint32_t i = 0; i < pic->refs_held_count; i++)
        h264_picture_hold(to, pic->refs_held[i]);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct h264_slice *slice = &pic->slices[i], *moved = NULL;
        if (slice->hdr.colour_plane_id == plane && (moved = h264_picture_add_slice(to))) {
            uint32_t index = moved->index;
            *moved = *slice;
            moved->pic = to;
            moved->index = index;
        } else { /* without memory for one, it stays here and repeats an address: the last one wins
                  */
            slice->index = kept;
            pic->slices[kept++] = *slice;
        }
    }
    pic->slice_count = kept;
    return to;
}

static size_t coeffs_size(const struct h264_picture *pic)
{
    return (size_t)pic->arrays.coeff_block_capacity * 16 * h264_coeff_bytes(pic->sps);
}

static size_t rec_slices_size(const struct h264_picture *pic)
{
    return ((size_t)pic->slice_count + 1) * sizeof(struct rec_slice);
}

static size_t packed_size(const struct h264_picture *pic)
{
    return (size_t)pic->arrays.packed_capacity * sizeof(*pic->arrays.packed);
}

static void free_coeffs(struct h264_picture *pic)
{
    const struct h264_allocator *from =
        pic->arrays.coeffs_from ? pic->arrays.coeffs_from : pic->holder.allocator;
    h264_free(from, pic->arrays.packed, packed_size(pic));
    pic->arrays.packed = NULL;
    pic->arrays.packed_capacity = 0;
    h264_free(from, pic->arrays.coeffs, coeffs_size(pic));
    pic->arrays.coeffs = NULL;
    pic->arrays.coeffs_from = NULL;
}

static void free_final(struct h264_picture *pic)
{
    if (pic->arrays.device_records.memory)
        h264_free(pic->arrays.device_records.from, pic->arrays.device_records.memory,
                  pic->arrays.device_records.size);
    pic->arrays.device_records = (struct h264_device_records){0};
}

/* Which the slices name. */
static void free_tables(struct h264_picture *pic)
{
    h264_free(pic->holder.allocator, pic->arrays.weights,
              pic->arrays.weight_count * sizeof(*pic->arrays.weights));
    h264_free(pic->holder.allocator, pic->arrays.scaling,
              pic->arrays.scaling_count * sizeof(*pic->arrays.scaling));
    pic->arrays.weights = NULL;
    pic->arrays.scaling = NULL;
    pic->arrays.weight_count = pic->arrays.scaling_count = 0;
}

bool h264_picture_has_map(const struct h264_picture *pic)
{
    return pic->holder.wants_map && pic->nal_ref_idc && !pic->mbaff;
}

static bool alloc_coeffs(struct h264_picture *pic)
{
    const struct h264_allocator *a =
        pic->arrays.coeffs_from ? pic->arrays.coeffs_from : pic->holder.allocator;
    if (!pic->arrays.packed_capacity)
        return (pic->arrays.coeffs = h264_alloc(a, coeffs_size(pic))) != NULL;
    return (pic->arrays.packed = h264_alloc(a, packed_size(pic))) != NULL;
}

/* The arrays but for their content; rec_slices is zero. Coefficients first: an allocator of their
 * own is the one that may be full. */
static int alloc_arrays(struct h264_picture *pic, uint32_t coeff_blocks,
                        const struct h264_allocator *coeffs_from, bool records)
{
    const struct h264_allocator *a = pic->holder.allocator;
    size_t n = pic->mb_count;
    pic->arrays.coeff_block_capacity = coeff_blocks;
    pic->arrays.coeffs_from = coeffs_from;
    if (!alloc_coeffs(pic) || !(pic->arrays.rec_slices = h264_alloc(a, rec_slices_size(pic))) ||
        (records && (!(pic->arrays.mbs = h264_alloc(a, n * sizeof(*pic->arrays.mbs))) ||
                     !(pic->arrays.motion = h264_alloc(a, n * sizeof(*pic->arrays.motion))) ||
                     !(pic->arrays.syntax = h264_alloc(a, n * sizeof(*pic->arrays.syntax))))) ||
        (h264_picture_has_map(pic) &&
         !(pic->arrays.col_zero = h264_alloc(a, n * sizeof(*pic->arrays.col_zero)))))
        return H264_ERR_NOMEM; /* the picture's end frees what there is */
    memset(pic->arrays.rec_slices, 0, rec_slices_size(pic));
    return H264_OK;
}

static uint32_t most_coeff_blocks(const struct h264_picture *pic)
{
    return pic->mb_count * h264_coeff_blocks_per_mb(pic->sps) +
           pic->slice_count * H264_COEFF_BLOCK_CHUNK;
}

int h264_picture_alloc(struct h264_picture *pic)
{
    return h264_picture_alloc_growing(pic, UINT32_MAX);
}

/* All arrays of a picture of which nothing is decoded. */
static int alloc_empty(struct h264_picture *pic, uint32_t coeff_blocks)
{
    size_t n = pic->mb_count;
    int error = alloc_arrays(pic, coeff_blocks, NULL, true);
    if (error)
        return error;
    for (size_t i = 0; i < n; i++)
        pic->arrays.mbs[i] = (struct rec_mb){.slice = REC_NO_SLICE, .kind = REC_MB_MISSING};
    memset(pic->arrays.syntax, 0, n * sizeof(*pic->arrays.syntax));
    return H264_OK;
}

int h264_picture_alloc_growing(struct h264_picture *pic, uint32_t coeff_blocks)
{
    uint32_t most = most_coeff_blocks(pic);
    bool grows = pic->slice_count == 1 && coeff_blocks && coeff_blocks < most;
    return alloc_empty(pic, grows ? coeff_blocks : most);
}

/* A word for each macroblock, and all that they can have; of several slices with the rests of
 * chunks. */
static uint64_t most_packed_words(const struct h264_picture *pic)
{
    uint64_t a_mb = REC_PACKED_WORDS(h264_coeff_blocks_per_mb(pic->sps)) + H264_PACKED_SLACK,
             all = pic->mb_count * a_mb;
    if (pic->slice_count > 1)
        all += all / (H264_PACKED_MBS - 1) + pic->slice_count * H264_PACKED_MBS * a_mb;
    return pic->mb_count + all;
}

uint32_t h264_picture_packed_room(const struct h264_picture *pic, uint32_t words)
{
    uint64_t most = most_packed_words(pic), first = (uint64_t)pic->mb_count + words;
    if (h264_coeff_bytes(pic->sps) != 2)
        return 0;
    return (uint32_t)(pic->slice_count == 1 && first < most ? first : most);
}

int h264_picture_alloc_packed(struct h264_picture *pic, uint32_t words)
{
    pic->arrays.packed_capacity = h264_picture_packed_room(pic, words);
    if (!pic->arrays.packed_capacity)
        return h264_picture_alloc(pic);
    atomic_store_explicit(&pic->arrays.packed_words, pic->mb_count, memory_order_relaxed);
    return alloc_empty(pic, most_coeff_blocks(pic));
}

bool h264_picture_grow_packed(struct h264_picture *pic, uint32_t used)
{
    struct h264_arrays *a = &pic->arrays;
    uint64_t most = most_packed_words(pic), capacity = a->packed_capacity;
    if (pic->slice_count != 1 || capacity >= most)
        return false;
    capacity = 2 * capacity < most ? 2 * capacity : most;
    uint32_t *grown = h264_alloc(pic->holder.allocator, capacity * sizeof(*grown));
    if (!grown)
        return false;
    memcpy(grown, a->packed, (size_t)used * sizeof(*grown));
    h264_free(pic->holder.allocator, a->packed, packed_size(pic));
    a->packed = grown;
    a->packed_capacity = (uint32_t)capacity;
    return true;
}

bool h264_picture_grow_coeffs(struct h264_picture *pic, uint32_t used)
{
    struct h264_arrays *a = &pic->arrays;
    size_t block = (size_t)16 * h264_coeff_bytes(pic->sps);
    uint32_t most = most_coeff_blocks(pic), capacity = a->coeff_block_capacity;
    if (pic->slice_count != 1 || capacity >= most)
        return false;
    capacity = capacity < most / 2 ? 2 * capacity : most;
    void *grown = h264_alloc(pic->holder.allocator, capacity * block);
    if (!grown)
        return false;
    memcpy(grown, a->coeffs, used * block);
    free_coeffs(pic);
    a->coeffs = grown;
    a->coeff_block_capacity = capacity;
    return true;
}

int h264_picture_alloc_blocks(struct h264_picture *pic, uint32_t coeff_blocks,
                              uint32_t packed_words, const struct h264_allocator *coeffs_from,
                              bool records)
{
    pic->arrays.packed_capacity = packed_words;
    atomic_store_explicit(&pic->arrays.packed_words, packed_words, memory_order_relaxed);
    return alloc_arrays(pic, coeff_blocks ? coeff_blocks : 1, coeffs_from, records);
}

void h264_picture_drop_records(struct h264_picture *pic)
{
    const struct h264_allocator *a = pic->holder.allocator;
    size_t n = pic->mb_count;
    h264_free(a, pic->arrays.mbs, n * sizeof(*pic->arrays.mbs));
    h264_free(a, pic->arrays.motion, n * sizeof(*pic->arrays.motion));
    h264_free(a, pic->arrays.syntax, n * sizeof(*pic->arrays.syntax));
    pic->arrays.mbs = NULL;
    pic->arrays.motion = NULL;
    pic->arrays.syntax = NULL;
}

void h264_picture_drop_kept(struct h264_picture *pic)
{
    h264_free(pic->holder.allocator, pic->kept.maps, pic->kept.map_count * h264_map_bytes(pic));
    pic->kept = (struct h264_kept){0};
}

void h264_picture_free_arrays(struct h264_picture *pic)
{
    const struct h264_allocator *a = pic->holder.allocator;
    h264_picture_drop_kept(pic);
    h264_picture_drop_records(pic);
    h264_free(a, pic->arrays.col_zero, h264_map_bytes(pic));
    free_coeffs(pic);
    free_final(pic);
    h264_free(a, pic->arrays.rec_slices, rec_slices_size(pic));
    free_tables(pic);
    pic->arrays.col_zero = NULL;
    pic->arrays.rec_slices = NULL;
    pic->arrays.used_known = 0;
    pic->follows = 0;
    atomic_store_explicit(&pic->arrays.coeff_block_count, 0, memory_order_relaxed);
    for (uint32_t i = 0; i < pic->slice_count; i++)
        pic->slices[i].motion_lost = 0;
}

/* One map for all slices of the same PPS: slice_group_change_cycle is equal in all slices of a
 * picture. */
static int make_group_maps(struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct h264_slice *slice = &pic->slices[i];
        struct h264_group_map *map = pic->group_maps;
        size_t size = sizeof(*map) + pic->mb_count;
        if (slice->pps->num_slice_groups == 1)
            continue;
        while (map && map->pps != slice->pps)
            map = map->next;
        if (!map) {
            map = h264_alloc(pic->holder.allocator, size);
            if (!map)
                return H264_ERR_NOMEM;
            *map =
                (struct h264_group_map){.next = pic->group_maps, .pps = slice->pps, .size = size};
            pic->group_maps = map;
            h264_slice_group_map(pic->sps, slice->pps, &slice->hdr, map->groups);
        }
        slice->slice_group_map = map->groups;
    }
    return H264_OK;
}

/* Slices of one group in order of addresses: each ends before the next one. */
static void end_in_order(struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct h264_slice *slice = &pic->slices[i];
        slice->end_mb = i + 1 < pic->slice_count ? slice[1].hdr.first_mb : pic->mb_count;
    }
}

/* Any order, any groups: from the last address down, the start of the slice that follows in each
 * group. Redundant slices end nothing and end by themselves. */
static int end_by_address(struct h264_picture *pic)
{
    uint32_t *starts = calloc(pic->mb_count, sizeof(*starts)), next[8];
    if (!starts)
        return H264_ERR_NOMEM;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        pic->slices[i].end_mb = pic->mb_count;
        if (!pic->slices[i].hdr.redundant_pic_cnt)
            starts[pic->slices[i].hdr.first_mb] = i + 1;
    }
    for (unsigned group = 0; group < 8; group++)
        next[group] = pic->mb_count;
    for (uint32_t mb = pic->mb_count; mb-- > 0;) {
        struct h264_slice *slice = starts[mb] ? &pic->slices[starts[mb] - 1] : NULL;
        unsigned group = slice && slice->slice_group_map ? slice->slice_group_map[mb] : 0;
        if (slice) {
            slice->end_mb = next[group];
            next[group] = mb;
        }
    }
    free(starts);
    return H264_OK;
}

static int set_ends(struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (pic->group_maps || pic->slices[i].hdr.redundant_pic_cnt ||
            (i && pic->slices[i].hdr.first_mb <= pic->slices[i - 1].hdr.first_mb))
            return end_by_address(pic);
    end_in_order(pic);
    return H264_OK;
}

int h264_picture_complete(struct h264_picture *pic, const uint8_t *bytes, size_t size)
{
    if (make_group_maps(pic) || set_ends(pic))
        return H264_ERR_NOMEM;
    pic->bytes = h264_alloc(h264_bytes_allocator(pic), size + H264_BITS_PADDING);
    if (!pic->bytes)
        return H264_ERR_NOMEM;
    pic->bytes_size = size + H264_BITS_PADDING;
    if (size)
        memcpy(pic->bytes, bytes, size);
    memset(pic->bytes + size, 0, H264_BITS_PADDING);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        struct h264_slice *slice = &pic->slices[i];
        slice->nal = pic->bytes + slice->nal_at[0];
        slice->nal_b = slice->nal_b_size ? pic->bytes + slice->nal_at[1] : NULL;
        slice->nal_c = slice->nal_c_size ? pic->bytes + slice->nal_at[2] : NULL;
    }
    return H264_OK;
}

struct h264_picture *h264_picture_ref(struct h264_picture *pic)
{
    atomic_fetch_add_explicit(&pic->refs, 1, memory_order_relaxed);
    return pic;
}

/* Pictures whose last reference goes are chained to *dead: a chain of pictures that hold each other
 * must not become a recursion. */
static void picture_drop(struct h264_picture *pic, struct h264_picture **dead)
{
    if (atomic_fetch_sub_explicit(&pic->refs, 1, memory_order_acq_rel) != 1)
        return;
    pic->next_free = *dead;
    *dead = pic;
}

static void free_bytes(struct h264_picture *pic)
{
    h264_free(h264_bytes_allocator(pic), pic->bytes, pic->bytes_size);
    pic->bytes = NULL;
}

static void release_transient(struct h264_picture *pic, struct h264_picture **dead)
{
    const struct h264_allocator *a = pic->holder.allocator;
    free_coeffs(pic);
    free_final(pic);
    h264_free(a, pic->arrays.rec_slices, rec_slices_size(pic));
    free_tables(pic);
    if (!pic->kept.bytes)
        free_bytes(pic);
    while (pic->group_maps) {
        struct h264_group_map *map = pic->group_maps;
        pic->group_maps = map->next;
        h264_free(a, map, map->size);
    }
    pic->arrays.rec_slices = NULL;
    if (pic->damage.previous)
        picture_drop(pic->damage.previous, dead);
    pic->damage.previous = NULL;
    for (uint32_t i = 0; i < pic->refs_held_count; i++)
        picture_drop(pic->refs_held[i], dead);
    pic->refs_held_count = 0;
}

static void free_dead(struct h264_picture *dead)
{
    while (dead) {
        struct h264_picture *pic = dead;
        const struct h264_allocator *a = pic->holder.allocator;
        dead = pic->next_free;
        if (pic->holder.on_free)
            pic->holder.on_free(pic);
        h264_picture_drop_kept(pic);
        release_transient(pic, &dead);
        h264_picture_drop_records(pic);
        h264_free(a, pic->arrays.col_zero, h264_map_bytes(pic));
        for (uint32_t i = 0; i < pic->slice_count; i++) {
            h264_sps_unref(pic->slices[i].sps);
            h264_pps_unref(pic->slices[i].pps);
        }
        if (pic->first_field)
            picture_drop(pic->first_field, &dead);
        if (pic->plane0)
            picture_drop(pic->plane0, &dead);
        free(pic->slices);
        h264_sei_free(pic->sei);
        h264_sps_unref(pic->sps);
        free(pic);
    }
}

void h264_picture_unref(struct h264_picture *pic)
{
    struct h264_picture *dead = NULL;
    if (!pic)
        return;
    picture_drop(pic, &dead);
    free_dead(dead);
}

void h264_picture_done(struct h264_picture *pic)
{
    struct h264_picture *dead = NULL;
    release_transient(pic, &dead);
    free_dead(dead);
}
