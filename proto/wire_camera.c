/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cameras and named sources to and from messages.
 */
#include "proto/wire.h"

#include <string.h>

#define CAMERA_FIELDS(X)                                                                           \
    X(exposure_us)                                                                                 \
    X(analogue_gain)                                                                               \
    X(digital_gain)                                                                                \
    X(red_gain)                                                                                    \
    X(blue_gain)                                                                                   \
    X(mean)                                                                                        \
    X(clipped)

void wire_camera_from(const struct pelton_camera *in, Pelton__Camera *out)
{
    pelton__camera__init(out);
#define CAMERA_COPY(field) out->field = in->field;
    CAMERA_FIELDS(CAMERA_COPY)
    out->ae_state = (uint32_t)in->ae_state;
    out->crop_x = in->crop.x;
    out->crop_y = in->crop.y;
    out->crop_width = in->crop.width;
    out->crop_height = in->crop.height;
}

void wire_camera_to(const Pelton__Camera *in, struct pelton_camera *out)
{
    memset(out, 0, sizeof(*out));
    if (!in)
        return;
    CAMERA_FIELDS(CAMERA_COPY)
#undef CAMERA_COPY
    out->ae_state =
        in->ae_state <= PELTON_AE_LOCKED ? (enum pelton_ae_state)in->ae_state : PELTON_AE_SEARCHING;
    out->crop = (struct pelton_rect){in->crop_x, in->crop_y, in->crop_width, in->crop_height};
    out->present = true;
}

void wire_controls_from(const struct pelton_control *in, uint32_t n, struct wire_controls *out)
{
    for (uint32_t i = 0; i < n; i++) {
        pelton__control__init(&out->msg[i]);
        out->msg[i].name = (char *)in[i].name;
        out->msg[i].n_values = in[i].n;
        out->msg[i].values = (double *)in[i].value;
        out->msg[i].least = in[i].least;
        out->msg[i].most = in[i].most;
        out->list[i] = &out->msg[i];
    }
}

int wire_controls_to(Pelton__Control *const *in, size_t n,
                     struct pelton_control out[PELTON_MAX_CONTROLS])
{
    if (n > PELTON_MAX_CONTROLS)
        return PELTON_ERR_USAGE;
    for (size_t i = 0; i < n; i++)
        if (in[i]->n_values > PELTON_CONTROL_VALUES)
            return PELTON_ERR_USAGE;
    for (size_t i = 0; i < n; i++) {
        memset(&out[i], 0, sizeof(out[i]));
        wire_copy(out[i].name, sizeof(out[i].name), in[i]->name);
        out[i].n = (uint32_t)in[i]->n_values;
        memcpy(out[i].value, in[i]->values, out[i].n * sizeof(out[i].value[0]));
        out[i].least = in[i]->least;
        out[i].most = in[i]->most;
    }
    return PELTON_OK;
}

enum pelton_source_state wire_state_to(Pelton__SourceState__State state)
{
    static const enum pelton_source_state states[] = {
        [PELTON__SOURCE_STATE__STATE__OPENING] = PELTON_SOURCE_OPENING,
        [PELTON__SOURCE_STATE__STATE__RUNNING] = PELTON_SOURCE_RUNNING,
        [PELTON__SOURCE_STATE__STATE__RESTARTING] = PELTON_SOURCE_BACKOFF,
        [PELTON__SOURCE_STATE__STATE__CLOSED] = PELTON_SOURCE_CLOSED,
        [PELTON__SOURCE_STATE__STATE__LOST] = PELTON_SOURCE_LOST,
        [PELTON__SOURCE_STATE__STATE__BACKOFF] = PELTON_SOURCE_BACKOFF,
        [PELTON__SOURCE_STATE__STATE__ENDED] = PELTON_SOURCE_ENDED};
    return (unsigned)state < sizeof(states) / sizeof(states[0]) ? states[state]
                                                                : PELTON_SOURCE_CLOSED;
}

void wire_source_to(const Pelton__Source *in, struct pelton_source *out)
{
    memset(out, 0, sizeof(*out));
    if (!in)
        return;
    wire_copy(out->name, sizeof(out->name), in->name);
    wire_copy(out->uri, sizeof(out->uri), in->uri);
    wire_copy(out->cause, sizeof(out->cause), in->cause);
    wire_copy(out->codec, sizeof(out->codec), in->codec);
    wire_copy(out->format, sizeof(out->format), in->format);
    out->readers = in->readers;
    out->state = wire_state_to(in->state);
    out->width = in->width;
    out->height = in->height;
    if (in->frame_rate)
        out->frame_rate = (struct pelton_rational){in->frame_rate->num, in->frame_rate->den};
    out->since_ns = in->since_ns;
}
