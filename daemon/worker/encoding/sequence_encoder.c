/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See sequence_encoder.h. The failure modes are settings that do not fit the pictures, which the
 * first picture tells, a device that fails, and no memory.
 */
#include "daemon/worker/encoding/sequence_encoder.h"

#include <libavutil/pixfmt.h>
#include <libavutil/rational.h>
#include <stdio.h>
#include <string.h>

enum { INTRA_LESS = 3, LEAST_QP = 10 /* of a constant bit rate */ };

static struct rate_settings rate_settings_of(const struct pelton_encoding *e)
{
    if (e->rate == PELTON_RATE_BITS)
        return (struct rate_settings){
            .mode = RATE_BITS, .qp = LEAST_QP, .bit_rate = e->bit_rate, .buffer = e->buffer};
    return (struct rate_settings){.mode = e->rate == PELTON_RATE_QP ? RATE_QP : RATE_CRF,
                                  .qp = (int)e->quality,
                                  .bit_rate = e->bit_rate,
                                  .buffer = e->buffer,
                                  .intra_less = INTRA_LESS};
}

struct encoding_colour sequence_colour(const struct pelton_colour *c)
{
    bool told = c->source != PELTON_COLOUR_ASSUMED;
    uint8_t matrix = told ? c->matrix : AVCOL_SPC_UNSPECIFIED;
    return (struct encoding_colour){
        .primaries = told && c->primaries ? c->primaries : AVCOL_PRI_UNSPECIFIED,
        .transfer = told && c->transfer ? c->transfer : AVCOL_TRC_UNSPECIFIED,
        /* RGB became BT.601 */
        .matrix = matrix == AVCOL_SPC_RGB ? (uint8_t)AVCOL_SPC_SMPTE170M : matrix,
        .full_range = told && c->range == PELTON_RANGE_FULL,
        .siting = c->siting};
}

static void shape_fill(struct pelton_rational shape, struct encoding *e)
{
    int num = shape.num, den = shape.den;
    if (num <= 0 || den <= 0 || !av_reduce(&num, &den, num, den, UINT16_MAX))
        return;
    e->sar_width = (uint16_t)num;
    e->sar_height = (uint16_t)den;
}

static void params_fill(const struct sequence_encoder *s, const struct sequence_kind *kind,
                        struct encoder_params *p)
{
    const struct pelton_encoding *o = &s->settings;
    memset(p, 0, sizeof(*p));
    encoding_default(&p->encoding, kind->width, kind->height);
    p->encoding.chroma_format_idc = !kind->gray;
    p->encoding.rate = (uint32_t)s->rate.num;
    p->encoding.rate_scale = (uint32_t)s->rate.den;
    shape_fill(kind->sar, &p->encoding);
    p->encoding.colour = kind->colour;
    p->encoding.profile = (enum encoding_profile)o->profile;
    p->encoding.level_idc = (uint8_t)o->level;
    p->encoding.cabac = o->cabac;
    p->encoding.transform_8x8 = p->encoding.profile == ENCODING_HIGH;
    p->encoding.references = (uint8_t)o->references;
    p->encoding.slices = (uint8_t)o->slices;
    p->encoding.deblocking = o->no_deblocking;
    p->rate = rate_settings_of(o);
    p->encoding.bit_rate = p->rate.bit_rate;
    p->encoding.buffer = p->rate.buffer;
    p->key_interval = o->key_interval;
    p->scene_cuts = o->scene_cuts;
    p->adaptive = o->adaptive;
}

/* All that params_fill takes from a picture. Structures have padding, so they are no bytes. */
static bool same_kind(const struct encoding *a, const struct encoding *b)
{
    return a->width == b->width && a->height == b->height &&
           a->chroma_format_idc == b->chroma_format_idc && a->sar_width == b->sar_width &&
           a->sar_height == b->sar_height && a->colour.primaries == b->colour.primaries &&
           a->colour.transfer == b->colour.transfer && a->colour.matrix == b->colour.matrix &&
           a->colour.full_range == b->colour.full_range && a->colour.siting == b->colour.siting;
}

int sequence_fit(struct sequence_encoder *s, const struct sequence_kind *kind, char *why)
{
    struct encoder_params params;
    params_fill(s, kind, &params);
    if (s->encoder && same_kind(&params.encoding, &s->params.encoding))
        return 0;
    params.encoding.time_codes = kind->time_codes; /* alone it begins no sequence */
    s->params = params;
    params.idr_pic_id = s->encoder ? encoder_idr_pic_id(s->encoder) : 0;
    sequence_end(s);
    s->fresh = true;
    return encoder_new(&params, s->begin, s->ctx, &s->encoder, why);
}

/* The first picture of a sequence is as small as it gets, and larger than the rate allows. */
static int refuse_rate(const struct sequence_encoder *s, const struct encoder_unit *unit, char *why)
{
    snprintf(why, ENCODING_WHY,
             "bit rate %llu: the first picture has %zu bits at QP %d, and its buffer holds fewer; "
             "raise the rate or -bufsize, or scale pictures by -s",
             (unsigned long long)s->params.rate.bit_rate, 8 * unit->size, unit->qp);
    return SEQUENCE_RATE;
}

int sequence_push(struct sequence_encoder *s, const struct encoder_frame *frame,
                  struct encoder_unit *unit, char *why)
{
    int rc = encoder_push(s->encoder, frame, unit, why);
    if (rc < 0)
        return rc;
    if (unit->over && s->fresh)
        return refuse_rate(s, unit, why);
    s->fresh = false;
    return 0;
}

void sequence_end(struct sequence_encoder *s)
{
    encoder_free(s->encoder);
    s->encoder = NULL;
}
