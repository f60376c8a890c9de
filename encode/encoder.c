/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures to access units. The failure modes are settings that do not fit, a decider that fails,
 * and no memory.
 */
#include "encode/encoder.h"

#include "encode/analysis.h"
#include "encode/hrd.h"
#include "encode/picture_writer.h"

#include <stdio.h>
#include <stdlib.h>

struct encoder {
    struct encoder_params params;
    struct encoding_limits limits;
    struct h264_sps sps;
    struct h264_pps pps;
    struct rate_control rate;
    struct hrd hrd;
    struct decider_calls decider; /* ctx NULL: none yet */
    struct picture_writer *writer;
    struct analysis *analysis; /* NULL: no setting needs it */
    int8_t *qp_offsets;        /* by macroblock */
    struct bit_writer out, sets;
    uint32_t frame_num, idr_pic_id;
    uint32_t since_key;   /* pictures since the last IDR picture, that one included */
    uint32_t inter_share; /* of the last picture's costs, P of I, in 64ths */
    bool begun;           /* there is a reference */
    bool idr_due;
};

/* ---- life ---- */

static bool encoder_begin_analysis(struct encoder *e)
{
    const struct encoder_params *p = &e->params;
    if (!p->scene_cuts && !p->adaptive && p->rate.mode != RATE_CRF)
        return true;
    e->analysis = analysis_create(&p->encoding, &e->limits);
    e->qp_offsets = calloc((size_t)e->limits.mb_width * e->limits.mb_height, 1);
    return e->analysis && e->qp_offsets;
}

/* Rates that the VUI can tell, and never above the wish */
static struct rate_settings rate_of(const struct rate_settings *wish)
{
    struct rate_settings rate = *wish;
    rate.buffer = rate.buffer ? rate.buffer : rate.bit_rate / 2;
    rate.bit_rate -= rate.bit_rate % HRD_RATE_STEP;
    rate.buffer -= rate.buffer % HRD_BUFFER_STEP;
    return rate;
}

static int encoder_begin(struct encoder *e, decider_begin *begin, void *ctx, char *why)
{
    const struct encoder_params *p = &e->params;
    struct rate_settings rate = rate_of(&p->rate);
    if (p->encoding.constrained_intra) /* its deciders predict from inter macroblocks, too */
        return snprintf(why, ENCODING_WHY, "constrained intra prediction: the encoder has none"),
               -1;
    if (encoding_check(&p->encoding, &e->limits, why) < 0 ||
        rate_begin(&e->rate, &rate, &p->encoding, &e->limits, why) < 0)
        return -1;
    encoding_sets(&p->encoding, &e->limits, &e->sps, &e->pps);
    hrd_begin(&e->hrd, &e->rate, &e->sps.vui);
    write_parameter_sets(&e->sps, &e->pps, e->hrd.present ? &e->hrd.rates : NULL, &e->sets);
    e->writer = picture_writer_create(p->encoding.slices);
    if (!e->writer || e->sets.failed || !encoder_begin_analysis(e))
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    return begin(ctx, &p->encoding, &e->limits, &e->decider, why);
}

int encoder_new(const struct encoder_params *params, decider_begin *begin, void *ctx,
                struct encoder **out, char *why)
{
    struct encoder *e = calloc(1, sizeof(*e));
    if (!e)
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    e->params = *params;
    e->idr_pic_id = params->idr_pic_id;
    if (encoder_begin(e, begin, ctx, why) < 0) {
        encoder_free(e);
        return -1;
    }
    *out = e;
    return 0;
}

static void encoder_end_decider(struct encoder *e)
{
    if (e->decider.ctx)
        e->decider.end(e->decider.ctx);
    e->decider = (struct decider_calls){0};
}

int encoder_restart(struct encoder *e, decider_begin *begin, void *ctx, char *why)
{
    encoder_end_decider(e);
    e->begun = false;
    return begin(ctx, &e->params.encoding, &e->limits, &e->decider, why);
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    encoder_end_decider(e);
    picture_writer_free(e->writer);
    analysis_free(e->analysis);
    free(e->qp_offsets);
    bit_writer_free(&e->out);
    bit_writer_free(&e->sets);
    free(e);
}

const struct encoding_limits *encoder_limits(const struct encoder *e)
{
    return &e->limits;
}

const uint8_t *encoder_sets(const struct encoder *e, size_t *size)
{
    *size = e->sets.bits / 8;
    return e->sets.data;
}

uint32_t encoder_idr_pic_id(const struct encoder *e)
{
    return e->idr_pic_id;
}

void *encoder_decider(const struct encoder *e)
{
    return e->decider.ctx;
}

/* ---- a picture's bytes ---- */

/* Numbers of a picture that is about to be written; every picture is a reference (7.4.3). */
struct picture_numbers {
    uint32_t frame_num, idr_pic_id;
    bool idr;
};

static struct picture_numbers numbers_of(const struct encoder *e, bool idr)
{
    return (struct picture_numbers){
        .frame_num = idr ? 0 : (e->frame_num + 1) % (1u << e->sps.log2_max_frame_num),
        .idr_pic_id = idr ? e->idr_pic_id ^ 1 : e->idr_pic_id,
        .idr = idr};
}

static int write_slices(struct encoder *e, const struct rec_view *view,
                        const struct picture_numbers *n, char *why)
{
    struct slice_stream stream = {&e->sps, &e->pps, &e->limits};
    struct h264_slice_header header = {.nal_unit_type = n->idr ? 5 : 1,
                                       .nal_ref_idc = 1,
                                       .idr = n->idr,
                                       .frame_num = n->frame_num,
                                       .idr_pic_id = n->idr_pic_id};
    const struct slice_data *data = e->decider.data ? e->decider.data(e->decider.ctx) : NULL;
    return picture_write(e->writer, &stream, view, data, &header, &e->out, why);
}

static int decide(const struct encoder *e, const struct encoder_frame *frame,
                  const struct decider_wish *wish, struct rec_view *view, char *why)
{
    struct decider_source source = frame->source;
    if (!e->analysis)
        source.next = NULL;
    int err =
        e->decider.ctx ? e->decider.decide(e->decider.ctx, &source, wish, view) : DECIDER_LOST;
    if (err == 0)
        return 0;
    snprintf(why, ENCODING_WHY, "%s",
             err == DECIDER_LOST    ? "the device was lost"
             : err == DECIDER_NOMEM ? "the device has no memory left"
                                    : "the picture's records are not valid");
    return err == DECIDER_INVALID ? -1 : ENCODER_DEVICE;
}

/* A buffering period is the first message of its access unit (7.4.1.2.3). */
static void write_messages(struct encoder *e, const struct encoder_frame *frame, bool key)
{
    struct bit_writer unit = {0};
    hrd_write(&e->hrd, &e->rate, &e->sps.vui, key, frame->clock, &unit);
    if (frame->messages)
        sei_append(&unit, frame->messages);
    sei_end(&unit, &e->out);
}

/* One try of a picture, into e->out */
static int write_unit(struct encoder *e, const struct encoder_frame *frame,
                      const struct decider_wish *wish, char *why)
{
    struct picture_numbers n = numbers_of(e, wish->idr);
    struct rec_view view;
    int err = decide(e, frame, wish, &view, why);
    if (err < 0)
        return err;
    e->out.bits = 0;
    if (wish->idr)
        bit_writer_bytes(&e->out, e->sets.data, e->sets.bits / 8);
    write_messages(e, frame, wish->idr);
    return write_slices(e, &view, &n, why);
}

static size_t unit_bytes(const struct encoder *e)
{
    return e->out.bits / 8;
}

/* ---- the rate ---- */

/* Tries until the unit is within its cap; unit->over where QP 51 was not enough. */
static int write_within_cap(struct encoder *e, const struct encoder_frame *frame,
                            struct decider_wish *wish, struct encoder_unit *unit, char *why)
{
    uint64_t cap = rate_cap(&e->rate);
    int next = rate_qp(&e->rate, wish->idr ? RATE_INTRA : RATE_INTER), err;
    do {
        wish->qp = next;
        err = write_unit(e, frame, wish, why);
        if (err < 0)
            return err;
        unit->tries++;
        unit->over = unit_bytes(e) > cap;
        next = unit->over ? rate_again(&e->rate, wish->qp, unit_bytes(e)) : -1;
    } while (next >= 0);
    return 0;
}

/* The picture before again, which takes a few bytes. The first picture has none before it. */
static int write_repeated(struct encoder *e, const struct encoder_frame *frame,
                          struct decider_wish *wish, struct encoder_unit *unit, char *why)
{
    int err;
    e->idr_due |= wish->idr;
    *wish = (struct decider_wish){.skip = true, .qp = wish->qp};
    unit->repeated = true;
    err = write_unit(e, frame, wish, why);
    if (err < 0)
        return err;
    unit->over = unit_bytes(e) > rate_cap(&e->rate);
    return 0;
}

/* ---- pictures ---- */

/* Another scene: P would cost at least seven eighths of I, and an eighth more than in the picture
 * before. Noise alone is dear in every picture. */
static bool is_cut(struct encoder *e, const struct analysis_costs *a)
{
    uint32_t before = e->inter_share;
    e->inter_share = a->intra ? (uint32_t)(64 * a->inter / a->intra) : 0;
    return e->params.scene_cuts && e->inter_share >= 56 && e->inter_share >= before + 8;
}

static bool is_key(struct encoder *e, const struct encoder_frame *frame,
                   const struct analysis_costs *a)
{
    uint32_t interval = e->params.key_interval;
    bool cut = is_cut(e, a);
    return !e->begun || frame->force_idr || e->idr_due || (interval && e->since_key >= interval) ||
           cut;
}

/* Looks at the picture where settings need it: costs, and offsets of QP. A decider that cannot
 * leaves it to the C, where the samples are in host memory. */
static int analyse(struct encoder *e, const struct encoder_frame *frame, struct decider_wish *wish,
                   struct analysis_costs *costs, char *why)
{
    uint32_t mbs = e->limits.mb_width * e->limits.mb_height;
    *costs = (struct analysis_costs){0};
    if (!e->analysis)
        return 0;
    bool failed = !e->decider.analyse ||
                  e->decider.analyse(e->decider.ctx, &frame->source, costs, e->qp_offsets) < 0;
    if (failed && frame->source.device)
        return snprintf(why, ENCODING_WHY, "the device was lost"), ENCODER_DEVICE;
    if (failed)
        *costs = analysis_picture(e->analysis, &frame->source, e->qp_offsets);
    if (!e->params.adaptive)
        return 0;
    for (uint32_t i = 0; i < mbs && frame->qp_offsets; i++) {
        int sum = e->qp_offsets[i] + frame->qp_offsets[i];
        e->qp_offsets[i] = (int8_t)(sum < -51 ? -51 : sum > 51 ? 51 : sum);
    }
    wish->qp_offsets = e->qp_offsets;
    return 0;
}

static int picture_done(struct encoder *e, const struct encoder_frame *frame,
                        const struct decider_wish *wish, struct encoder_unit *unit, char *why)
{
    struct picture_numbers n = numbers_of(e, wish->idr);
    unsigned kind = unit->repeated ? RATE_SKIPPED : wish->idr ? RATE_INTRA : RATE_INTER;
    unit->filler = rate_done(&e->rate, kind, wish->qp, unit_bytes(e));
    if (unit->filler)
        write_filler(unit->filler, &e->out);
    if (e->out.failed)
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    e->decider.accept(e->decider.ctx);
    hrd_done(&e->hrd, wish->idr);
    e->frame_num = n.frame_num;
    e->idr_pic_id = n.idr_pic_id;
    e->begun = true;
    e->since_key = wish->idr ? 1 : e->since_key + 1;
    e->idr_due = e->idr_due && !wish->idr;
    unit->data = e->out.data;
    unit->size = unit_bytes(e);
    unit->sets = wish->idr ? e->sets.bits / 8 : 0;
    unit->pts = frame->pts;
    unit->key = wish->idr;
    unit->qp = wish->qp;
    return 0;
}

int encoder_push(struct encoder *e, const struct encoder_frame *frame, struct encoder_unit *unit,
                 char *why)
{
    struct decider_wish wish = {.qp_offsets = frame->qp_offsets};
    struct analysis_costs a;
    int err = analyse(e, frame, &wish, &a, why);
    if (err < 0)
        return err;
    *unit = (struct encoder_unit){0};
    wish.idr = is_key(e, frame, &a);
    if (!wish.idr)
        rate_complexity(&e->rate, a.inter, e->limits.mb_width * e->limits.mb_height);
    err = write_within_cap(e, frame, &wish, unit, why);
    if (err == 0 && unit->over && e->begun)
        err = write_repeated(e, frame, &wish, unit, why);
    return err < 0 ? err : picture_done(e, frame, &wish, unit, why);
}
