/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packs the records of several pictures into one upload. Each kind of record is one section,
 * picture after picture. rec_picture holds the start of a picture's records in each section.
 */
#include "gpu/h264/recon_internal.h"

#include "convert/conversion.h"

#include <string.h>

struct counts {
    uint32_t pictures;
    uint64_t mbs, slices, coeff_blocks, packed_words, weights, scaling;
};

static uint64_t align_up(const struct recon *r, uint64_t n)
{
    uint64_t a = r->g->limits.minStorageBufferOffsetAlignment;
    a = a < 16 ? 16 : a;
    return (n + a - 1) / a * a;
}

/* Lay the sections out one after the other; none is empty, as a descriptor may not be. */
static uint64_t sections_lay_out(const struct recon *r, const struct counts *c,
                                 uint64_t deliver_bytes,
                                 struct recon_section sections[BIND_DELIVER + 1])
{
    const uint64_t sizes[BIND_DELIVER + 1] = {
        [BIND_PICTURES] = c->pictures * sizeof(struct rec_picture),
        [BIND_MBS] = c->mbs * sizeof(struct rec_mb),
        [BIND_MOTION] = c->mbs * sizeof(struct rec_motion),
        [BIND_SLICES] = c->slices * sizeof(struct rec_slice),
        [BIND_COEFFS] = c->coeff_blocks * r->coeff_block_bytes,
        [BIND_PACKED] = c->packed_words * sizeof(uint32_t),
        [BIND_WEIGHTS] = c->weights * sizeof(int16_t),
        [BIND_SCALING] = c->scaling * sizeof(struct rec_scaling),
        [BIND_DELIVER] = deliver_bytes,
    };
    uint64_t at = 0;
    for (uint32_t i = 0; i <= BIND_DELIVER; i++) {
        if (!(RECON_UPLOADED & RECON_B(i)))
            continue;
        uint64_t size = sizes[i] ? (sizes[i] + 15) / 16 * 16 : 16;
        sections[i] = (struct recon_section){at, size};
        at = align_up(r, at + size);
    }
    return at;
}

static uint64_t deliveries_bytes(uint32_t count)
{
    return count * sizeof(struct recon_deliver_args);
}

static bool sections_reachable(const struct recon *r,
                               const struct recon_section sections[BIND_DELIVER + 1])
{
    for (uint32_t i = 0; i <= BIND_DELIVER; i++)
        if (sections[i].size > r->g->limits.maxStorageBufferRange)
            return false;
    return true;
}

uint64_t recon_upload_capacity(const struct recon *r)
{
    const struct recon_shape *w = &r->worst;
    uint64_t one = (uint64_t)w->mb_width * w->mb_height;
    struct counts c = {.pictures = w->pictures,
                       .mbs = w->mb_total,
                       .coeff_blocks = w->coeff_block_total,
                       .packed_words = w->has_packed ? w->mb_total + w->coeff_block_total : 0,
                       .slices = one + 64ull * w->pictures,
                       .weights = 65536 + 4096ull * w->pictures,
                       .scaling = 256 + 4ull * w->pictures};
    struct recon_section sections[BIND_DELIVER + 1] = {0};
    uint64_t bytes = sections_lay_out(r, &c, deliveries_bytes(r->delivery_capacity), sections);
    return sections_reachable(r, sections) ? bytes : 0;
}

static bool counts_fit(const struct recon *r, const struct counts *c,
                       const struct recon_section sections[BIND_DELIVER + 1])
{
    if (c->pictures > r->worst.pictures || c->coeff_blocks > r->worst.coeff_block_total)
        return false;
    return sections_reachable(r, sections);
}

static void counts_add_picture(const struct recon *r, struct counts *c, const struct rec_view *view)
{
    c->pictures++;
    c->mbs += view->head.mb_count;
    c->slices += view->slice_count;
    c->coeff_blocks += recon_packed_blocks(r, view);
    c->packed_words += view->packed ? view->packed_words : 0;
    c->weights += view->weight_count;
    c->scaling += view->scaling_count;
}

static bool has_switching_slices(const struct rec_view *view)
{
    for (uint32_t i = 0; i < view->slice_count; i++)
        if (view->slices[i].slice_type >= 3)
            return true;
    return false;
}

static uint32_t first_of_table(const struct recon_item *items, uint32_t i)
{
    uint32_t k = 0;
    while (items[k].delivery->conversion != items[i].delivery->conversion)
        k++;
    return k;
}

/* Words of the tables that so many items need, each once; places[i] is that of item i, from 0 on.
 * places NULL: only the number. */
static uint64_t tables_place(const struct recon_item *items, uint32_t count, uint32_t *places)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct conversion *c = items[i].delivery->conversion;
        if (!c)
            continue;
        uint32_t first = first_of_table(items, i);
        if (places)
            places[i] = first < i ? places[first] : (uint32_t)words;
        words += first < i ? 0 : c->words;
    }
    return words;
}

bool recon_takes_rows(const struct recon *r, const struct rec_view *view)
{
    return !view->packed && !has_switching_slices(view) && !r->worst.generic_format &&
           recon_packed_blocks(r, view) == view->coeff_block_count;
}

/* Rows that the batch before this one has done are not done again. */
static void rows_plan(const struct recon *r, const struct recon_picture *p,
                      struct recon_chunk *chunk)
{
    if (p->end_row)
        chunk->row_end = p->end_row;
    if (p->first_row && p->first_row == r->begun.rows && p->slot == r->begun.slot &&
        recon_takes_rows(r, p->view))
        chunk->row_first = p->first_row;
}

void recon_chunk_plan(const struct recon *r, uint64_t room, const struct recon_picture *pictures,
                      uint32_t n, struct recon_item *items, uint32_t m, struct recon_chunk *chunk)
{
    struct counts c = {0};
    struct recon_shape shape = r->worst;
    uint32_t taken = 0, copies = 0;
    shape.has_intra = shape.has_inter = shape.has_deblock = shape.has_mbaff = shape.has_switching =
        shape.has_packed = false;
    for (; taken < n; taken++) {
        const struct rec_view *view = pictures[taken].view;
        struct counts more = c;
        struct recon_section sections[BIND_DELIVER + 1] = {0};
        copies += !view;
        if (!view)
            continue;
        counts_add_picture(r, &more, view);
        /* a single picture that exceeds the usual size makes its flight grow instead */
        if (c.pictures &&
            (sections_lay_out(r, &more, deliveries_bytes(r->delivery_capacity), sections) > room ||
             !counts_fit(r, &more, sections)))
            break;
        c = more;
        shape.has_intra |= view->head.has_intra;
        shape.has_inter |= view->head.has_inter;
        shape.has_deblock |= view->head.has_deblock;
        shape.has_mbaff |= view->head.mbaff;
        shape.has_switching |= has_switching_slices(view);
        shape.has_packed |= view->packed != NULL;
    }
    shape.generic_format |= shape.has_switching;
    shape.pictures = c.pictures;
    shape.unfinished = taken == 1 && pictures->view && pictures->end_row;
    shape.has_deblock |= shape.unfinished; /* for the strengths, which later rows may want */
    shape.mb_total = (uint32_t)c.mbs;
    shape.coeff_block_total = (uint32_t)c.coeff_blocks;
    shape.deliveries = taken < n ? 0 : m < r->delivery_capacity ? m : r->delivery_capacity;
    *chunk = (struct recon_chunk){.pictures = pictures,
                                  .picture_count = taken,
                                  .items = items,
                                  .delivery_count = shape.deliveries,
                                  .shape = shape,
                                  .row_end = r->params.mb_height,
                                  .copies = copies};
    if (taken == 1 && pictures->view)
        rows_plan(r, pictures, chunk);
    uint64_t tables = 4 * tables_place(items, shape.deliveries, NULL);
    chunk->bytes =
        sections_lay_out(r, &c, deliveries_bytes(shape.deliveries) + tables, chunk->sections);
}

/* Records to entry `at` of a section of small ones. */
static void section_put(const struct recon *r, struct recon_flight *f,
                        const struct recon_chunk *chunk, uint32_t section, uint64_t at,
                        const void *from, uint64_t count, uint64_t size)
{
    uint64_t to = chunk->sections[section].offset + at * size, bytes = count * size;
    uint64_t staged = r->g->unified ? to : f->staged[section];
    if (!bytes)
        return;
    f->staged[section] += bytes;
    memcpy(f->staging.map + staged, from, bytes);
    recon_section_staged(f, section, &(VkBufferCopy){staged, to, bytes});
}

/* Macroblocks and their coefficient blocks without gaps; to and coefficient blocks are written in
 * order. Of packed levels only the numbers of the blocks change. */
static void pack_compact(const struct recon *r, uint8_t *to, uint8_t *coeff_blocks,
                         const struct rec_view *view)
{
    uint32_t next = 0, most = recon_packed_blocks(r, view);
    for (uint64_t i = 0; i < view->head.mb_count; i++) {
        struct rec_mb mb = view->mbs[i];
        uint32_t n = recon_mb_blocks(&mb);
        if (view->coeffs && n <= most - next && n <= view->coeff_block_count &&
            mb.coeff <= view->coeff_block_count - n)
            memcpy(coeff_blocks + (uint64_t)next * r->coeff_block_bytes,
                   (const uint8_t *)view->coeffs + (uint64_t)mb.coeff * r->coeff_block_bytes,
                   (uint64_t)n * r->coeff_block_bytes);
        mb.coeff = next;
        next += n;
        memcpy(to + i * sizeof(mb), &mb, sizeof(mb));
    }
}

static void pack_picture(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk,
                         const struct recon_picture *picture, struct counts *c)
{
    const struct rec_view *view = picture->view;
    struct rec_picture head = view->head;
    head.slot = picture->slot;
    head.work = c->pictures;
    head.mb_base = (uint32_t)c->mbs;
    head.slice_base = (uint32_t)c->slices;
    head.coeff_base = (uint32_t)c->coeff_blocks;
    head.weight_base = (uint32_t)c->weights;
    head.scaling_base = (uint32_t)c->scaling;
    head.row_first = chunk->row_first;
    head.row_end = chunk->row_end;
    head.packed = view->packed ? 1 + (uint32_t)c->packed_words : 0;
    head.has_deblock |= chunk->shape.unfinished;
    section_put(r, f, chunk, BIND_PICTURES, c->pictures, &head, 1, sizeof(head));
    section_put(r, f, chunk, BIND_SLICES, c->slices, view->slices, view->slice_count,
                sizeof(struct rec_slice));
    section_put(r, f, chunk, BIND_WEIGHTS, c->weights, view->weights, view->weight_count,
                sizeof(int16_t));
    section_put(r, f, chunk, BIND_SCALING, c->scaling, view->scaling, view->scaling_count,
                sizeof(struct rec_scaling));
    counts_add_picture(r, c, view);
}

static void pieces_put(const struct recon *r, struct recon_flight *f)
{
    uint8_t *staging = f->staging.map;
    for (uint32_t i = 0; i < f->piece_count; i++) {
        const struct recon_piece *p = &f->pieces[i];
        if (p->from)
            memcpy(staging + p->staged, p->from, p->bytes);
        else if (p->section == BIND_MBS)
            pack_compact(r, staging + p->staged, staging + p[1].staged, p->view);
        recon_section_staged(f, p->section, &(VkBufferCopy){p->staged, p->to, p->bytes});
    }
}

/* The deliveries, then each of their tables once, in the order of the items. */
static void deliveries_pack(struct recon *r, struct recon_flight *f,
                            const struct recon_chunk *chunk)
{
    uint32_t count = chunk->delivery_count, base = (uint32_t)deliveries_bytes(count) / 4, next = 0;
    tables_place(chunk->items, count, r->table_places);
    for (uint32_t i = 0; i < count; i++) {
        struct recon_deliver_args *args = &chunk->items[i].args;
        args->convert = chunk->items[i].delivery->conversion ? base + r->table_places[i] : 0;
        section_put(r, f, chunk, BIND_DELIVER, i, args, 1, sizeof(*args));
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct conversion *c = chunk->items[i].delivery->conversion;
        if (!c || r->table_places[i] != next)
            continue;
        section_put(r, f, chunk, BIND_DELIVER, base + next, c->table, c->words, 4);
        next += (uint32_t)c->words;
    }
}

void recon_chunk_pack(struct recon *r, struct recon_flight *f, const struct recon_chunk *chunk)
{
    struct counts c = {0};
    f->region_count = 0;
    for (uint32_t i = 0; i < chunk->picture_count; i++)
        if (chunk->pictures[i].view)
            pack_picture(r, f, chunk, &chunk->pictures[i], &c);
    deliveries_pack(r, f, chunk);
    pieces_put(r, f);
    for (uint32_t i = 0; i <= BIND_DELIVER; i++)
        recon_section_close(f, &f->open[i]);
}
