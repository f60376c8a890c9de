/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures to access units.
 */
#include "encode/reference/ref_encoder.h"

#include "encode/slice_writer.h"

#include <stdio.h>
#include <stdlib.h>

struct ref_encoder {
    struct encoding_limits limits;
    struct h264_sps sps;
    struct h264_pps pps;
    struct decider *decider;
    struct slice_scratch *scratch;
    struct bit_writer out;
    uint32_t frame_num, idr_pic_id;
    bool begun;
};

struct ref_encoder *ref_encoder_create(const struct encoding *settings, char *why)
{
    struct ref_encoder *e = calloc(1, sizeof(*e));
    if (!e) {
        snprintf(why, ENCODING_WHY, "no memory");
        return NULL;
    }
    if (encoding_check(settings, &e->limits, why) < 0) {
        free(e);
        return NULL;
    }
    encoding_sets(settings, &e->limits, &e->sps, &e->pps);
    e->decider = decider_create(settings, &e->limits);
    e->scratch = slice_scratch_create();
    if (!e->decider || !e->scratch) {
        snprintf(why, ENCODING_WHY, "no memory");
        ref_encoder_free(e);
        return NULL;
    }
    return e;
}

void ref_encoder_free(struct ref_encoder *e)
{
    if (!e)
        return;
    decider_free(e->decider);
    slice_scratch_free(e->scratch);
    bit_writer_free(&e->out);
    free(e);
}

/* Every picture is a reference (7.4.3). */
static void count_picture(struct ref_encoder *e, bool idr)
{
    e->frame_num = idr ? 0 : (e->frame_num + 1) % (1u << e->sps.log2_max_frame_num);
    e->idr_pic_id = idr ? e->idr_pic_id ^ 1 : e->idr_pic_id;
    e->begun = true;
}

static int write_picture(struct ref_encoder *e, const struct rec_view *view, bool idr, char *why)
{
    struct slice_stream stream = {&e->sps, &e->pps, &e->limits};
    struct slice_sums sums = {0};
    for (uint32_t i = 0; i < view->slice_count; i++) {
        struct h264_slice_header h = {.nal_unit_type = idr ? 5 : 1,
                                      .nal_ref_idc = 1,
                                      .idr = idr,
                                      .frame_num = e->frame_num,
                                      .idr_pic_id = e->idr_pic_id};
        if (slice_header_of(&stream, view, i, &h, why) < 0 ||
            slice_write(e->scratch, &stream, view, &h, &e->out, &sums, why) < 0)
            return -1;
    }
    picture_end(view, &sums, &e->out);
    return 0;
}

/* The picture that was counted, as an access unit in e->out */
static int unit_write(struct ref_encoder *e, const struct decider_source *source,
                      const struct decider_wish *wish, char *why)
{
    struct rec_view view;
    if (decider_decide(e->decider, source, wish, &view) < 0) {
        snprintf(why, ENCODING_WHY, "the records are not valid");
        return -1;
    }
    e->out.bits = 0;
    if (wish->idr)
        write_parameter_sets(&e->sps, &e->pps, &e->out);
    return write_picture(e, &view, wish->idr, why);
}

static int unit_finish(struct ref_encoder *e, const uint8_t **unit, size_t *size, char *why)
{
    if (e->out.failed) {
        snprintf(why, ENCODING_WHY, "no memory");
        return -1;
    }
    decider_accept(e->decider);
    *unit = e->out.data;
    *size = e->out.bits / 8;
    return 0;
}

int ref_encoder_picture(struct ref_encoder *e, const struct decider_source *source,
                        const struct decider_wish *wish, const uint8_t **unit, size_t *size,
                        char *why)
{
    struct decider_wish own = *wish;
    own.idr = wish->idr || !e->begun;
    count_picture(e, own.idr);
    return unit_write(e, source, &own, why) < 0 ? -1 : unit_finish(e, unit, size, why);
}

/* QP 51 was not enough: the picture repeats the one before. It was counted as it began. */
static int unit_skip(struct ref_encoder *e, const struct decider_source *source,
                     struct decider_wish *wish, uint32_t frame_num, uint32_t idr_pic_id, char *why)
{
    e->frame_num = frame_num;
    e->idr_pic_id = idr_pic_id;
    *wish = (struct decider_wish){.skip = true, .qp = wish->qp};
    count_picture(e, false);
    return unit_write(e, source, wish, why);
}

int ref_encoder_rated(struct ref_encoder *e, struct rate_control *rate,
                      const struct decider_source *source, bool idr, const uint8_t **unit,
                      size_t *size, struct ref_encoder_rate *outcome, char *why)
{
    struct decider_wish wish = {.idr = idr || !e->begun};
    unsigned kind = wish.idr ? RATE_INTRA : RATE_INTER;
    uint32_t frame_num = e->frame_num, idr_pic_id = e->idr_pic_id;
    uint64_t cap = rate_cap(rate);
    int next = rate_qp(rate, kind);
    bool first = !e->begun;
    *outcome = (struct ref_encoder_rate){0};
    count_picture(e, wish.idr);
    do {
        wish.qp = next;
        if (unit_write(e, source, &wish, why) < 0)
            return -1;
        outcome->tries++;
        outcome->over = e->out.bits / 8 > cap;
        next = outcome->over ? rate_again(rate, wish.qp, e->out.bits / 8) : -1;
    } while (next >= 0);
    outcome->skipped = outcome->over && !first;
    if (outcome->skipped && unit_skip(e, source, &wish, frame_num, idr_pic_id, why) < 0)
        return -1;
    outcome->over = e->out.bits / 8 > cap;
    outcome->filler =
        rate_done(rate, outcome->skipped ? RATE_SKIPPED : kind, wish.qp, e->out.bits / 8);
    if (outcome->filler)
        write_filler(outcome->filler, &e->out);
    return unit_finish(e, unit, size, why);
}

const struct decider *ref_encoder_decider(const struct ref_encoder *e)
{
    return e->decider;
}
