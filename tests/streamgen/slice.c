/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slices of a picture: the macroblocks of each, and slice_data() (7.3.4).
 */
#include "mbw.h"

#include "codec/slice_groups.h"

#include <string.h>

/* Macroblocks, or pairs of an MBAFF frame, of one slice: their addresses in decoding order. */
struct run {
    unsigned first, count; /* of order[] */
};

struct layout {
    uint8_t order[MAX_MBS];
    struct run slices[MAX_MBS];
    unsigned count;
};

/* ---- slice_data() ---- */

static void begin_macroblock(struct mbw *w, unsigned addr, unsigned field)
{
    w->addr = addr;
    w->mb = &w->pic->mbs[addr];
    w->rng = rng_fork(w->pic->rng, addr + 1000u * (unsigned)w->number);
    w->mb->field = (uint8_t)field;
    if (!bin_string_reserve(&w->bins, 4 * BINS_OF_MB))
        w->g->out.failed = true;
}

static void flush_skip_run(struct mbw *w)
{
    if (w->type == H264_I || w->cabac_mode)
        return;
    bit_writer_ue(w->out[0], w->skip_run);
    w->skip_run = 0;
}

static void skip(struct mbw *w)
{
    if (!w->cabac_mode)
        w->skip_run++;
    write_skipped(w);
}

static void single(struct mbw *w, unsigned addr)
{
    bool skipped;
    begin_macroblock(w, addr, w->pic->structure != REC_FRAME);
    skipped = wants_skip(w);
    if (w->cabac_mode && w->type != H264_I)
        put_skip_flag(w, skipped);
    if (skipped) {
        skip(w);
        return;
    }
    flush_skip_run(w);
    write_macroblock(w);
}

/* mb_field_decoding_flag where it is not present (7.4.4) */
static unsigned inferred_field(const struct mbw *w)
{
    const struct mb *a = pair_a(w), *b = pair_b(w);
    return a ? a->field : b ? b->field : 0;
}

/* One macroblock of a pair whose mb_skip_flag, in CABAC, has been written. */
static void half(struct mbw *w, bool skipped, bool with_flag, unsigned field)
{
    if (skipped) {
        skip(w);
        return;
    }
    flush_skip_run(w);
    if (with_flag)
        put_field_flag(w, field);
    write_macroblock(w);
}

/* The flag is sent with the first macroblock that is not skipped. Skipped macroblocks before it are
 * derived with it, but the contexts of their mb_skip_flag see the inferred value (7.3.4). */
static void pair(struct mbw *w, unsigned addr)
{
    struct mb *mbs = &w->pic->mbs[addr];
    unsigned inferred, field;
    bool skipped[2], flags = w->cabac_mode && w->type != H264_I;
    begin_macroblock(w, addr + 1, 0);
    skipped[1] = wants_skip(w);
    begin_macroblock(w, addr, 0);
    skipped[0] = wants_skip(w);
    inferred = inferred_field(w);
    field = skipped[0] && skipped[1] ? inferred : rng_below(&w->rng, 2);
    mbs[0].field = mbs[1].field = (uint8_t)inferred;
    if (flags)
        put_skip_flag(w, skipped[0]);
    if (!skipped[0]) {
        mbs[0].field = mbs[1].field = (uint8_t)field;
        half(w, false, true, field);
        begin_macroblock(w, addr + 1, field);
        wants_skip(w);
        if (flags)
            put_skip_flag(w, skipped[1]);
        half(w, skipped[1], false, field);
        return;
    }
    skip(w);
    begin_macroblock(w, addr + 1, inferred);
    wants_skip(w);
    if (flags)
        put_skip_flag(w, skipped[1]);
    mbs[0].field = mbs[1].field = (uint8_t)field;
    half(w, skipped[1], true, field);
}

static void slice_data(struct mbw *w, const uint8_t *order, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (w->pic->mbaff)
            pair(w, order[i] * 2u);
        else
            single(w, order[i]);
        if (w->cabac_mode)
            bins_terminate(&w->bins, i + 1 == count);
    }
    if (w->skip_run)
        flush_skip_run(w);
    code_bins(w);
}

/* ---- NAL units ---- */

static void end_nal(struct gen *g, struct bit_writer *s, bool cabac)
{
    if (cabac) /* the engine's last bit is rbsp_stop_one_bit */
        bit_writer_zero_align(s);
    else
        bit_writer_trailing(s);
    bit_writer_nal(&g->out, s);
}

/* Data partition B or C: slice_id, and what stands with it (7.3.2.9.2). */
static void begin_partition(struct gen *g, const struct slice *s, unsigned type,
                            struct bit_writer *out)
{
    bit_writer_u(out, 8, (unsigned)s->hdr.nal_ref_idc << 5 | type);
    bit_writer_ue(out, s->hdr.slice_id);
    if (g->sps.separate_colour_plane_flag)
        bit_writer_u(out, 2, s->hdr.colour_plane_id);
    if (s->pps->redundant_pic_cnt_present_flag)
        bit_writer_ue(out, s->hdr.redundant_pic_cnt);
}

static void write_slice(struct gen *g, struct slice *s, const uint8_t *order, unsigned count)
{
    static const uint8_t plain_type[5] = {H264_P, H264_B, H264_I, H264_P, H264_I};
    struct bit_writer sinks[3] = {0};
    size_t empty[3];
    struct mbw w = {.g = g,
                    .pic = &g->pic,
                    .slice = s,
                    .sps = &g->sps,
                    .pps = s->pps,
                    .number = g->pic.slice_count++};
    w.type = plain_type[s->hdr.type];
    w.si = s->hdr.type == H264_SI;
    w.partitioned = s->hdr.nal_unit_type == 2;
    w.cabac_mode = s->pps->entropy_coding_mode_flag;
    w.chroma_array_type = g->sps.separate_colour_plane_flag ? 0 : g->sps.chroma_format_idc;
    w.qp = s->hdr.qp;
    g->used |= w.cabac_mode ? F_CABAC : F_CAVLC;
    s->hdr.first_mb = (uint32_t)order[0] << g->pic.mbaff;
    header_write(g, s, &sinks[0]);
    for (unsigned i = 0; i < 3; i++) {
        w.out[i] = &sinks[i];
        if (i && w.partitioned)
            begin_partition(g, s, 2 + i, &sinks[i]);
        empty[i] = sinks[i].bits;
    }
    if (w.cabac_mode) {
        while (sinks[0].bits & 7) /* cabac_alignment_one_bit */
            bit_writer_u(&sinks[0], 1, 1);
        cabac_coder_contexts(&w.cabac, w.type == H264_I ? 0 : 1 + s->hdr.cabac_init_idc, s->hdr.qp);
        cabac_coder_begin(&w.cabac);
    }
    slice_data(&w, order, count);
    end_nal(g, &sinks[0], w.cabac_mode);
    for (unsigned i = 1; i < 3; i++)
        if (w.partitioned && sinks[i].bits > empty[i])
            end_nal(g, &sinks[i], false);
    for (unsigned i = 0; i < 3; i++)
        bit_writer_free(&sinks[i]);
    bin_string_free(&w.bins);
}

/* ---- layout ---- */

static void cut_group(struct gen *g, struct layout *l, unsigned first, unsigned count,
                      unsigned most)
{
    struct rng *r = &g->pic.rng;
    while (count) {
        unsigned n =
            most > 1 && count > 1 && gen_use(g, r, F_SLICES, 2) ? 1 + rng_below(r, count) : count;
        l->slices[l->count++] = (struct run){first, n};
        first += n;
        count -= n;
        most--;
    }
}

/* In order of their first macroblocks, or any. */
static void order_slices(struct gen *g, struct layout *l)
{
    bool any = l->count > 1 && gen_use(g, &g->pic.rng, F_ASO, 1);
    for (unsigned i = 1; i < l->count; i++) {
        for (unsigned k = i; k > 0; k--) {
            struct run *a = &l->slices[k - 1], *b = &l->slices[k], t = *a;
            if (any ? !rng_one_in(&g->pic.rng, 2) : l->order[a->first] < l->order[b->first])
                break;
            *a = *b;
            *b = t;
        }
    }
}

static void choose_layout(struct gen *g, struct layout *l)
{
    struct picture *p = &g->pic;
    unsigned units = p->mb_count >> p->mbaff, n = 0;
    struct h264_slice_header h = {.field_pic_flag = p->structure != REC_FRAME};
    if (p->pps[0]->num_slice_groups > 1 && p->pps[0]->slice_group_map_type >= 3 &&
        p->pps[0]->slice_group_map_type <= 5) {
        unsigned rate = p->pps[0]->slice_group_change_rate,
                 map_units = g->sps.mb_width * g->sps.map_height;
        p->group_cycle = rng_below(&p->rng, (map_units + rate - 1) / rate + 1);
        g->used |= F_GROUPCHANGE;
    }
    h.slice_group_change_cycle = p->group_cycle;
    memset(p->groups, 0, sizeof(p->groups));
    if (p->pps[0]->num_slice_groups > 1)
        h264_slice_group_map(&g->sps, p->pps[0], &h, p->groups);
    l->count = 0;
    for (unsigned group = 0; group < p->pps[0]->num_slice_groups; group++) {
        unsigned first = n;
        for (unsigned i = 0; i < units; i++)
            if (p->groups[i << p->mbaff] == group)
                l->order[n++] = (uint8_t)i;
        cut_group(g, l, first, n - first, g->limits.slices ? g->limits.slices : MAX_MBS);
    }
    order_slices(g, l);
}

static unsigned choose_type(struct gen *g, struct rng *r)
{
    unsigned type;
    do {
        type = rng_below(r, 5);
    } while (!(g->pic.types >> type & 1));
    g->pic.types_used |= (uint8_t)(1u << type);
    g->used |= type == H264_P ? F_P : type == H264_B ? F_B : type == H264_SP ? F_SP : 0;
    return type;
}

static void one_slice(struct gen *g, const struct layout *l, unsigned i, unsigned redundant)
{
    struct picture *p = &g->pic;
    struct rng r = rng_fork(p->rng, 77 + i + 500u * redundant);
    struct slice s;
    unsigned k;
    k = rng_below(&r, p->pps_count);
    /* it decodes macroblocks with the set of the first slice */
    gen_not_ffmpeg(g, k > 0, "sets-in-a-picture");
    header_choose(g, &r, &s, choose_type(g, &r), p->pps[k]);
    s.hdr.redundant_pic_cnt = redundant;
    s.hdr.slice_id = i;
    if (!p->idr && !s.pps->entropy_coding_mode_flag && gen_use(g, &r, F_PARTITIONS, 2))
        s.hdr.nal_unit_type = 2;
    write_slice(g, &s, &l->order[l->slices[i].first], l->slices[i].count);
}

static void write_plane(struct gen *g, unsigned plane)
{
    struct picture *p = &g->pic;
    struct layout l;
    p->plane = (uint8_t)plane;
    for (unsigned i = 0; i < MAX_MBS; i++)
        p->mbs[i].slice = -1;
    choose_layout(g, &l);
    for (unsigned i = 0; i < l.count; i++)
        one_slice(g, &l, i, 0);
    for (unsigned i = 0; i < l.count && gen_has(g, F_REDUNDANT); i++)
        if (gen_use(g, &p->rng, F_REDUNDANT, 2))
            one_slice(g, &l, i, 1);
}

void picture_write(struct gen *g)
{
    struct picture *p = &g->pic;
    p->slice_count = 0;
    p->types_used = 0;
    p->group_cycle = 0;
    for (unsigned plane = 0; plane < (g->sps.separate_colour_plane_flag ? 3u : 1u); plane++)
        write_plane(g, plane);
    if (p->types_used & (p->types_used - 1))
        g->used |= F_MIXED;
    gen_not_ffmpeg(g, p->types_used & 1 << H264_P && p->types_used & 1 << H264_B,
                   "edges-between-p-and-b");
}
