/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inter part of mb_pred() (7.3.5.1) and sub_mb_pred() (7.3.5.2): ref_idx and mvd go into the motion
 * record as they are parsed.
 */
#include "codec/macroblock.h"

/* ref_idx > 0 of the 8x8 quadrants of one list, as bits of a 3x3 grid with a border above and to
 * the left: A is the bit before, B the third bit before. */
#define REF_BIT(x, y) (((y) + 1) * 3 + (x) + 1)

static unsigned ref_grid(const struct mb_parser *p, unsigned list)
{
    unsigned a = p->near.a->ref_gt0 >> list * 4, b = p->near.b->ref_gt0 >> list * 4;
    return (a >> 1 & 1) << REF_BIT(-1, 0) | (a >> 3 & 1) << REF_BIT(-1, 1) |
           (b >> 2 & 3) << REF_BIT(0, -1);
}

/* Borders of the |mvd| grid of one list; the inside is 0, as for partitions that do not use the
 * list. */
static void mvd_grid(struct mb_parser *p, unsigned list)
{
    memset(p->grid.mvd[list], 0, sizeof(p->grid.mvd[list]));
    memcpy(p->grid.mvd[list][GRID(0, -1)], p->near.b->u.mvd.bottom[list], 8);
    for (int y = 0; y < 4; y++)
        memcpy(p->grid.mvd[list][GRID(-1, y)], p->near.a->u.mvd.right[list][y], 2);
}

static void edge_mvds(struct mb_parser *p, unsigned list)
{
    memcpy(p->edge.u.mvd.bottom[list], p->grid.mvd[list][GRID(0, 3)], 8);
    for (int y = 0; y < 4; y++)
        memcpy(p->edge.u.mvd.right[list][y], p->grid.mvd[list][GRID(3, y)], 2);
}

static void edge_refs(struct mb_parser *p, unsigned list, unsigned refs)
{
    refs = (refs >> REF_BIT(0, 0) & 3) | (refs >> REF_BIT(0, 1) & 3) << 2;
    p->edge.ref_gt0 |= (uint8_t)(refs << list * 4);
}

/* ref_idx > 1 of the list, as far as it is read: pairs of the other kind ask for it. */
static __attribute__((noinline)) void mbaff_refs(struct mb_parser *p, unsigned list)
{
    for (unsigned q = 0; q < 4; q++)
        if (p->motion->ref_idx[list][q] > 1)
            p->mbaff.ref_gt1 |= (uint8_t)(1u << (list * 4 + q));
}

/* ref_idx below num, inferred where num is 1, of w x h quadrants from q on */
static bool read_ref_idx(struct mb_parser *p, unsigned num, unsigned list, unsigned q, unsigned w,
                         unsigned h, unsigned *grid)
{
    unsigned at = REF_BIT(q & 1, q >> 1);
    uint32_t ref = 0;
    if (num > 1) {
        if (p->format.cabac_mode)
            ref = h264_cabac_ref_idx(p, (*grid >> (at - 1) & 1) | (*grid >> (at - 3) & 1) << 1);
        else
            ref = h264_bits_te(&p->bits, num - 1);
        if (ref >= num)
            return false;
    }
    for (unsigned y = 0; y < h; y++) {
        for (unsigned x = 0; x < w; x++) {
            p->motion->ref_idx[list][q + y * 2 + x] = (int8_t)ref;
            *grid |= (unsigned)(ref > 0) << (at + y * 3 + x);
        }
    }
    if (p->format.mbaff_frame)
        mbaff_refs(p, list);
    return true;
}

static unsigned clamp_mvd(int32_t v)
{
    unsigned magnitude = v < 0 ? 0u - (unsigned)v : (unsigned)v;
    return magnitude < 255 ? magnitude : 255;
}

/* x and y as they lie in the grid, in both halves */
static uint32_t pack_mvd(unsigned x, unsigned y)
{
    uint8_t bytes[4] = {(uint8_t)x, (uint8_t)y, (uint8_t)x, (uint8_t)y};
    uint32_t packed;
    memcpy(&packed, bytes, sizeof(packed));
    return packed;
}

/* w: 1 or 2 */
static void mvd_fill(uint8_t (*at)[2], uint32_t packed, unsigned w, unsigned h)
{
    for (; h--; at += GRID_ROW)
        memcpy(at, &packed, w == 1 ? 2 : 4);
}

/* mvd of the partition whose upper left corner is raster block `block`; |mvd| of its neighbours A
 * and B. *packed: its own, as pack_mvd. */
static bool read_mvd(struct mb_parser *p, unsigned list, unsigned block, const uint8_t a[2],
                     const uint8_t b[2], uint32_t *packed)
{
    int16_t *mv = p->motion->mv[list][block];
    int32_t mvd[2];
    if (p->format.cabac_mode) {
        h264_cabac_mvd(p, (unsigned)a[0] + b[0], (unsigned)a[1] + b[1], mvd);
    } else {
        mvd[0] = h264_bits_se(&p->bits);
        mvd[1] = h264_bits_se(&p->bits);
    }
    if (mvd[0] != (int16_t)mvd[0] || mvd[1] != (int16_t)mvd[1])
        return false;
    mv[0] = (int16_t)mvd[0];
    mv[1] = (int16_t)mvd[1];
    *packed = pack_mvd(clamp_mvd(mvd[0]), clamp_mvd(mvd[1]));
    return true;
}

/* mvd of one list of the partitions of type, and what they leave at the edges: that needs no grid.
 */
static bool read_mvds(struct mb_parser *p, const struct mb_inter_type *type, unsigned list)
{
    const uint8_t(*a)[2] = p->near.a->u.mvd.right[list], (*b)[2] = p->near.b->u.mvd.bottom[list];
    uint32_t edge[2] = {0, 0}; /* of each partition; not read: 0 */
    uint8_t own[4];
    if (type->lists[0] >> list & 1 && !read_mvd(p, list, 0, a[0], b[0], &edge[0]))
        return false;
    memcpy(own, &edge[0], sizeof(own));
    if (type->part == H264_PART_16X16)
        edge[1] = edge[0];
    else if (type->lists[1] >> list & 1 &&
             !(type->part == H264_PART_16X8 ? read_mvd(p, list, 8, a[2], own, &edge[1])
                                            : read_mvd(p, list, 2, own, b[2], &edge[1])))
        return false;
    /* the last column is of part 1, and above it of part 0 in 16x8; the last row likewise in 8x16
     */
    if (p->format.cabac_mode) {
        memcpy(p->edge.u.mvd.right[list][0], &edge[type->part != H264_PART_16X8], 4);
        memcpy(p->edge.u.mvd.right[list][2], &edge[1], 4);
        memcpy(p->edge.u.mvd.bottom[list][0], &edge[type->part != H264_PART_8X16], 4);
        memcpy(p->edge.u.mvd.bottom[list][2], &edge[1], 4);
    }
    return true;
}

/* 16x16, 16x8, 8x16 */
bool h264_inter_partitions(struct mb_parser *p, const struct mb_inter_type *type)
{
    unsigned parts = type->part == H264_PART_16X16 ? 1 : 2;
    /* quadrants */
    unsigned w = type->part == H264_PART_8X16 ? 1 : 2, h = type->part == H264_PART_16X8 ? 1 : 2;
    unsigned second = type->part == H264_PART_16X8 ? 2 : 1, used = type->lists[0] | type->lists[1];

    for (unsigned list = 0; list < 2; list++) {
        unsigned grid;
        if (!(used >> list & 1))
            continue;
        grid = ref_grid(p, list);
        for (unsigned i = 0; i < parts; i++)
            if (type->lists[i] >> list & 1 &&
                !read_ref_idx(p, p->num_ref[list], list, i * second, w, h, &grid))
                return false;
        edge_refs(p, list, grid);
    }
    for (unsigned list = 0; list < 2; list++)
        if (used >> list & 1 && !read_mvds(p, type, list))
            return false;
    return true;
}

static bool read_sub_types(struct mb_parser *p, bool *transform_8x8)
{
    bool b_slice = p->format.slice_type == H264_B;
    for (unsigned q = 0; q < 4; q++) {
        uint32_t code = p->format.cabac_mode ? h264_cabac_sub_mb_type(p) : h264_bits_ue(&p->bits);
        const struct mb_sub_type *type;
        if (code >= (b_slice ? 13 : 4))
            return false;
        type = b_slice ? &h264_sub_mb_type_b[code] : &h264_sub_mb_type_p[code];
        p->syntax->sub[q] = type->sub;
        p->sub_lists[q] = type->lists;
        if (type->sub == H264_SUB_DIRECT ? !p->sps->direct_8x8_inference_flag
                                         : type->sub != H264_SUB_8X8)
            *transform_8x8 = false;
    }
    return true;
}

static bool read_sub_mvds(struct mb_parser *p, unsigned list, unsigned q)
{
    unsigned sub = p->syntax->sub[q], x = (q & 1) * 2, y = q & 2;
    unsigned w = sub == H264_SUB_8X8 || sub == H264_SUB_8X4 ? 2 : 1,
             h = sub == H264_SUB_8X8 || sub == H264_SUB_4X8 ? 2 : 1;
    for (unsigned i = 0; i < 2; i += h) {
        for (unsigned j = 0; j < 2; j += w) {
            uint8_t(*at)[2] = &p->grid.mvd[list][GRID((int)(x + j), (int)(y + i))];
            uint32_t packed;

            if (!read_mvd(p, list, (y + i) * 4 + x + j, at[-1], at[-GRID_ROW], &packed))
                return false;
            mvd_fill(at, packed, w, h);
        }
    }
    return true;
}

bool h264_inter_sub_partitions(struct mb_parser *p, bool ref0, bool *transform_8x8)
{
    unsigned lists = p->format.slice_type == H264_B ? 2 : 1;
    *transform_8x8 = true;
    if (!read_sub_types(p, transform_8x8))
        return false;
    for (unsigned list = 0; list < lists; list++) {
        unsigned grid = ref_grid(p, list);
        for (unsigned q = 0; q < 4; q++)
            if (p->sub_lists[q] >> list & 1 &&
                !read_ref_idx(p, ref0 ? 1 : p->num_ref[list], list, q, 1, 1, &grid))
                return false;
        edge_refs(p, list, grid);
    }
    for (unsigned list = 0; list < lists; list++) {
        if (p->format.cabac_mode)
            mvd_grid(p, list);
        for (unsigned q = 0; q < 4; q++)
            if (p->sub_lists[q] >> list & 1 && !read_sub_mvds(p, list, q))
                return false;
        if (p->format.cabac_mode)
            edge_mvds(p, list);
    }
    return true;
}
