/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The state of a slice that its macroblocks change: QP, room for coefficient blocks, and the next
 * address.
 */
#include "codec/arrays.h"
#include "codec/macroblock.h"
#include "codec/pack_levels.h"

/* 7.4.5, 8.5.8 */
void h264_set_qp(struct mb_parser *p, int qp)
{
    p->qp = (int8_t)qp;
    for (int i = 0; i < 2; i++) {
        int index = qp + p->pps->chroma_qp_offset[i]; /* qPI, 8-311 */
        index = index < -p->format.qp_bd_offset[1] ? -p->format.qp_bd_offset[1]
                : index > 51                       ? 51
                                                   : index;
        p->qpc[i] = (int8_t)(index < 0 ? index : h264_chroma_qpc[index]);
    }
}

/* Words of the picture's only slice: it has all there are. */
static bool packed_grow(struct mb_parser *p, uint32_t need)
{
    struct h264_arrays *a = &p->pic->arrays;
    while (a->packed_capacity - p->chunk.packed_next < need) {
        if (!h264_picture_grow_packed(p->pic, p->chunk.packed_next))
            return false;
        p->to.packed = a->packed;
    }
    p->chunk.packed_end = a->packed_capacity;
    return true;
}

/* The next chunk. Of the last one so little is left that no macroblock may fit. Another slice may
 * have written behind what it used and given it back: that comes before. */
static bool packed_take(struct mb_parser *p, uint32_t need)
{
    struct h264_arrays *a = &p->pic->arrays;
    uint32_t chunk = H264_PACKED_MBS * need,
             start = atomic_fetch_add_explicit(&a->packed_words, chunk, memory_order_acquire);
    if (start > a->packed_capacity || a->packed_capacity - start < chunk)
        return false;
    if (start != p->chunk.packed_end)
        p->chunk.packed_next = start;
    p->chunk.packed_end = start + chunk;
    return true;
}

/* Packed levels of one macroblock more. */
static bool packed_reserve(struct mb_parser *p)
{
    uint32_t need = REC_PACKED_WORDS(p->chunk.per_mb) + H264_PACKED_SLACK;
    if (p->chunk.packed_end - p->chunk.packed_next >= need)
        return true;
    return p->pic->slice_count == 1 ? packed_grow(p, need) : packed_take(p, need);
}

/* What the slice has not used goes back, unless another one has taken words since. */
static void packed_return(struct mb_parser *p)
{
    atomic_uint *words = &p->pic->arrays.packed_words;
    uint32_t end = p->chunk.packed_end;
    if (p->pic->slice_count == 1)
        atomic_store_explicit(words, p->chunk.packed_next, memory_order_relaxed);
    else if (p->chunk.packed_next < end)
        atomic_compare_exchange_strong_explicit(words, &end, p->chunk.packed_next,
                                                memory_order_release, memory_order_relaxed);
}

void h264_coeff_blocks_done(struct mb_parser *p)
{
    const uint16_t *coded = p->mb->coded;
    unsigned n = (unsigned)(__builtin_popcount(coded[0]) + __builtin_popcount(coded[1]) +
                            __builtin_popcount(coded[2]));
    if (p->to.packed && n)
        p->chunk.packed_next =
            h264_pack_levels(p->to.packed, p->chunk.packed_next, p->index, p->to.coeffs, n);
}

/* The picture's only slice. */
static bool reserve_alone(struct mb_parser *p)
{
    struct h264_arrays *a = &p->pic->arrays;
    while (a->coeff_block_capacity - p->chunk.next < p->chunk.per_mb) {
        if (!h264_picture_grow_coeffs(p->pic, p->chunk.next))
            return false;
        p->to.coeffs = a->coeffs;
    }
    p->chunk.end = a->coeff_block_capacity;
    atomic_store_explicit(&a->coeff_block_count, p->chunk.end, memory_order_relaxed);
    return true;
}

static bool blocks_reserve(struct mb_parser *p)
{
    /* end_mb - addr counts other groups too */
    uint32_t mbs = p->groups ? 1 : p->end_mb - p->addr, n, start;

    if (p->chunk.end - p->chunk.next >= p->chunk.per_mb)
        return true;
    if (p->pic->slice_count == 1)
        return reserve_alone(p);
    if (mbs > COEFF_BLOCK_CHUNK_MBS)
        mbs = COEFF_BLOCK_CHUNK_MBS;
    n = mbs * p->chunk.per_mb;
    start = atomic_load_explicit(&p->pic->arrays.coeff_block_count, memory_order_relaxed);
    do {
        if (start > p->pic->arrays.coeff_block_capacity ||
            n > p->pic->arrays.coeff_block_capacity - start)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&p->pic->arrays.coeff_block_count, &start,
                                                    start + n, memory_order_acquire,
                                                    memory_order_relaxed));
    if (start != p->chunk.end) /* else the rest of the last chunk goes on in the new one */
        p->chunk.next = start;
    p->chunk.end = start + n;
    return true;
}

bool h264_coeff_blocks_reserve(struct mb_parser *p)
{
    if (!blocks_reserve(p))
        return false;
    if (!p->to.packed)
        return true;
    p->chunk.base = p->chunk.next; /* scratch has the blocks of this macroblock alone */
    return packed_reserve(p);
}

void h264_coeff_blocks_return(struct mb_parser *p)
{
    uint32_t end = p->chunk.end;
    if (p->to.packed)
        packed_return(p);
    if (p->chunk.next < end)
        atomic_compare_exchange_strong_explicit(&p->pic->arrays.coeff_block_count, &end,
                                                p->chunk.next, memory_order_release,
                                                memory_order_relaxed);
}

/* 8.2.2.9. Not inline: few streams have slice groups. */
void h264_next_in_group(struct mb_parser *p, uint32_t step)
{
    uint8_t group = p->groups[p->addr];
    do {
        mb_next_in_row(p, step);
    } while (p->addr < p->end_mb && p->groups[p->addr] != group);
}
