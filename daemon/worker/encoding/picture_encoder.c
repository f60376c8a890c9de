/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See picture_encoder.h. The failure modes are no memory, a size that no level allows, and a device
 * that fails. The CPU is slow, so it has fewer tools: one transform, one reference.
 */
#include "daemon/worker/encoding/picture_encoder.h"

#include "daemon/log.h"
#include "daemon/worker/clock.h"
#include "encode/reference/ref_decider.h"
#include "gpu/encode/gpu_encoder.h"

#include <stdio.h>
#include <stdlib.h>

enum { INTRA_LESS = 3 };
#define ASKED_NS (NS_PER_S / 2) /* between two IDR pictures that readers ask for */

struct picture_encoder {
    struct encoder *encoder;
    bool gpu;
    unsigned threads;
    int64_t interval_ns, key_ns; /* of IDR pictures; when the last one was captured, 0: none */
    uint64_t plane_offset[3];
    uint32_t stride[3];
};

static void params_fill(const struct picture_encoder_params *p, struct encoder_params *out)
{
    const struct feed_format *f = p->format;
    *out = (struct encoder_params){.scene_cuts = true, .adaptive = true};
    encoding_default(&out->encoding, f->width, f->height);
    out->encoding.rate = (uint32_t)p->rate.num;
    out->encoding.rate_scale = (uint32_t)p->rate.den;
    out->encoding.colour =
        (struct encoding_colour){.primaries = (uint8_t)f->colour.primaries,
                                 .transfer = (uint8_t)f->colour.transfer,
                                 .matrix = (uint8_t)f->colour.matrix,
                                 .full_range = f->colour.range == PELTON_RANGE_FULL,
                                 .siting = f->colour.siting};
    out->encoding.profile = p->gpu ? ENCODING_HIGH : ENCODING_MAIN;
    out->encoding.cabac = true;
    out->encoding.transform_8x8 = p->gpu != NULL;
    out->encoding.references = 1;
    out->encoding.slices = 1;
    out->rate = (struct rate_settings){.mode = RATE_CRF,
                                       .qp = (int)p->quality,
                                       .bit_rate = p->rate.num ? p->bit_rate : 0,
                                       .intra_less = INTRA_LESS};
    out->encoding.bit_rate = out->rate.bit_rate;
}

static int encoder_make(struct picture_encoder *e, const struct picture_encoder_params *p,
                        char *why)
{
    struct encoder_params params;
    params_fill(p, &params);
    e->gpu = p->gpu != NULL;
    if (e->gpu && encoder_new(&params, gpu_decider_begin, p->gpu, &e->encoder, why) == 0)
        return 0;
    if (e->gpu)
        log_line(LOG_LEVEL_WARNING, "encoding: %s; the CPU encodes", why);
    e->gpu = false;
    return encoder_new(&params, ref_decider_begin, &e->threads, &e->encoder, why);
}

int picture_encoder_new(const struct picture_encoder_params *params, struct picture_encoder **out,
                        char *why)
{
    struct picture_encoder *e = calloc(1, sizeof(*e));
    if (!e)
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    e->threads = params->threads;
    e->interval_ns = params->key_ns;
    for (int i = 0; i < 3; i++) {
        e->plane_offset[i] = params->format->plane_offset[i];
        e->stride[i] = params->format->stride[i];
    }
    if (encoder_make(e, params, why) < 0) {
        free(e);
        return -1;
    }
    *out = e;
    return 0;
}

void picture_encoder_free(struct picture_encoder *e)
{
    if (!e)
        return;
    encoder_free(e->encoder);
    free(e);
}

bool picture_encoder_on_gpu(const struct picture_encoder *e)
{
    return e->gpu;
}

static bool key_is_due(const struct picture_encoder *e, int64_t captured_ns, bool wants_key)
{
    int64_t since = captured_ns - e->key_ns;
    return since >= e->interval_ns || (wants_key && since >= ASKED_NS);
}

int picture_encoder_push(struct picture_encoder *e, const uint8_t *samples, int64_t captured_ns,
                         bool wants_key, struct encoder_unit *unit, char *why)
{
    struct encoder_frame in = {.pts = captured_ns / 1000,
                               .force_idr = key_is_due(e, captured_ns, wants_key)};
    int rc;
    for (int i = 0; i < 3; i++) {
        in.source.plane[i] = samples + e->plane_offset[i];
        in.source.stride[i] = e->stride[i];
    }
    while ((rc = encoder_push(e->encoder, &in, unit, why)) == ENCODER_DEVICE) {
        log_line(LOG_LEVEL_WARNING, "encoding: %s; the CPU encodes", why);
        e->gpu = false;
        if (encoder_restart(e->encoder, ref_decider_begin, &e->threads, why) < 0)
            return -1;
    }
    if (rc == 0 && unit->key)
        e->key_ns = captured_ns;
    return rc;
}
