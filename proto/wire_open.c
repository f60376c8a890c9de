/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a client asks for, between structures and messages: Open, its output and its encoding. All
 * is checked.
 */
#include "proto/wire.h"

#include "proto/blur.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

_Static_assert(sizeof(struct pelton_rect) == 16, "a rectangle is four numbers of the message");

/* The members that Open and pelton_open_params share, for both directions. Enumerations are numbers
 * in Open. */
#define OPEN_FIELDS(X)                                                                             \
    X(policy)                                                                                      \
    X(max_fps)                                                                                     \
    X(depth)                                                                                       \
    X(loop)                                                                                        \
    X(realtime)                                                                                    \
    X(loops)                                                                                       \
    X(start_us)                                                                                    \
    X(duration_us)                                                                                 \
    X(max_frames)                                                                                  \
    X(on_error)                                                                                    \
    X(any_pix_fmt)                                                                                 \
    X(side_data)                                                                                   \
    X(views)                                                                                       \
    X(fields)                                                                                      \
    X(blur_width)                                                                                  \
    X(blur_height)                                                                                 \
    X(video)                                                                                       \
    X(skip)                                                                                        \
    X(encoded)
/* Of an encoding */
enum { MOST_QP = 51, MOST_REFERENCES = 4 /* and slices */, MOST_JPEG_QUALITY = 100 };
#define MOST_BITS (1ull << 40)

/* A range on the wire is the structure's values. */
#define RANGE_VALUES 3
_Static_assert(sizeof(struct pelton_frame_range) == RANGE_VALUES * sizeof(uint64_t), "no padding");
#define OPEN_COPY(field) out->field = in->field;

_Static_assert(offsetof(struct pelton_output, filter) ==
                   offsetof(struct pelton_output, crop) + sizeof(struct pelton_rect),
               "the crop is four numbers");

static void output_from(const struct pelton_output *in, Pelton__Open *out)
{
    bool crop = in->crop.x || in->crop.y || in->crop.width || in->crop.height;
    out->width = in->width;
    out->height = in->height;
    out->n_crop = crop ? 4 : 0;
    out->crop = (uint32_t *)&in->crop;
    out->filter = in->filter;
    out->layout = in->layout;
    out->type = in->type;
    out->n_mean = out->n_scale = in->n_mean < 4 ? in->n_mean : 4; /* more were refused */
    out->mean = (float *)in->mean;
    out->scale = (float *)in->scale;
    out->batch = in->batch;
}

void wire_open_from(const struct pelton_open_params *in, struct wire_stretch stretch,
                    Pelton__Open *out)
{
    pelton__open__init(out);
    out->uri = (char *)(in->uri ? in->uri : "");
    out->name = (char *)(in->name ? in->name : "");
    out->pix_fmt = (char *)(in->pix_fmt ? in->pix_fmt : "");
    OPEN_FIELDS(OPEN_COPY)
    out->transport = in->bench.transport;
    out->part = stretch.index;
    out->parts = stretch.count;
    out->share = stretch.share;
    out->n_blur =
        4 * (size_t)(in->n_blur < PELTON_MAX_BLURS ? in->n_blur
                                                   : PELTON_MAX_BLURS); /* more were refused */
    out->blur = (uint32_t *)in->blur;
    out->n_wanted = RANGE_VALUES * (size_t)in->n_wanted;
    out->wanted = (uint64_t *)in->wanted;
    out->n_wanted_us = in->n_wanted_us;
    out->wanted_us = (int64_t *)in->wanted_us;
    output_from(&in->output, out);
}

bool wire_wanted_valid(const struct pelton_open_params *p)
{
    bool whole = p->fields || p->realtime || p->loop || p->views != PELTON_VIEW_BASE || p->skip ||
                 p->max_fps > 0 || p->max_frames || p->start_us > 0 || p->duration_us > 0;
    uint64_t frames = p->n_wanted_us;
    if (p->n_wanted > PELTON_MAX_WANTED || p->n_wanted_us > PELTON_MAX_WANTED ||
        ((p->n_wanted || p->n_wanted_us) && whole) || (p->n_wanted && p->n_wanted_us))
        return false;
    for (uint32_t i = 0; i < p->n_wanted; i++) {
        const struct pelton_frame_range *r = &p->wanted[i];
        if (!r->count || !r->stride || r->count > PELTON_MAX_WANTED_FRAMES ||
            r->stride > UINT32_MAX || r->first > INT64_MAX / 2)
            return false;
        frames += r->count;
    }
    return frames <= PELTON_MAX_WANTED_FRAMES;
}

/* Every field of an encoding once, for both directions. */
#define ENCODING_FIELDS(X)                                                                         \
    X(rate)                                                                                        \
    X(quality)                                                                                     \
    X(bit_rate)                                                                                    \
    X(buffer)                                                                                      \
    X(key_interval)                                                                                \
    X(profile)                                                                                     \
    X(level)                                                                                       \
    X(cabac)                                                                                       \
    X(references)                                                                                  \
    X(slices)                                                                                      \
    X(no_deblocking)                                                                               \
    X(scene_cuts)                                                                                  \
    X(adaptive)                                                                                    \
    X(alike)

void wire_encoding_from(const struct pelton_encoding *in, Pelton__Encoding *out)
{
    pelton__encoding__init(out);
    ENCODING_FIELDS(OPEN_COPY)
    out->codec = in->codec;
}

int wire_encoding_to(const Pelton__Encoding *in, struct pelton_encoding *out)
{
    memset(out, 0, sizeof(*out));
    out->wanted = true;
    ENCODING_FIELDS(OPEN_COPY)
    out->codec = in->codec > UINT8_MAX ? UINT8_MAX : (uint8_t)in->codec;
    return wire_encoding_valid(out) ? PELTON_OK : PELTON_ERR_USAGE;
}

/* It has no other settings. */
static bool jpeg_valid(const struct pelton_encoding *e)
{
    const struct pelton_encoding least = {
        .wanted = e->wanted, .codec = PELTON_CODEC_MJPEG, .quality = e->quality, .alike = e->alike};
    return e->quality >= 1 && e->quality <= MOST_JPEG_QUALITY && !memcmp(e, &least, sizeof(least));
}

bool wire_encoding_valid(const struct pelton_encoding *e)
{
    if (e->codec == PELTON_CODEC_MJPEG)
        return jpeg_valid(e);
    return e->codec == PELTON_CODEC_H264 && (unsigned)e->rate <= PELTON_RATE_BITS &&
           e->quality <= MOST_QP && e->bit_rate <= MOST_BITS && e->buffer <= MOST_BITS &&
           (unsigned)e->profile <= PELTON_PROFILE_HIGH && e->level <= UINT8_MAX &&
           e->references <= MOST_REFERENCES && e->slices <= MOST_REFERENCES;
}

static bool encode_pixels_valid(const struct pelton_open_params *p)
{
    const char *name = p->pix_fmt;
    bool jpeg = p->encode.codec == PELTON_CODEC_MJPEG;
    return !name || !strcmp(name, "yuv420p") || !strcmp(name, "gray") ||
           (jpeg && (!strcmp(name, "yuv422p") || !strcmp(name, "yuv444p")));
}

/* What access units that are encoded anew cannot have of frames. */
static bool encode_valid(const struct pelton_open_params *p)
{
    bool other = p->fields || p->views != PELTON_VIEW_BASE || p->devices > 1 ||
                 p->bench.transport != PELTON_SHM || p->output.layout || p->output.type ||
                 p->output.batch || !encode_pixels_valid(p);
    return p->encoded && !other && wire_encoding_valid(&p->encode);
}

bool wire_encoded_valid(const struct pelton_open_params *p)
{
    bool picture = p->pix_fmt || p->fields || p->max_fps > 0 || p->views != PELTON_VIEW_BASE ||
                   p->skip || p->n_wanted || p->n_wanted_us || p->devices > 1 || p->side_data ||
                   p->bench.transport != PELTON_SHM || p->output.width || p->output.height ||
                   p->output.crop.width || p->output.layout || p->output.type || p->output.batch;
    if (p->encode.wanted)
        return encode_valid(p);
    return !p->encoded || !picture;
}

bool wire_batch_valid(const struct pelton_open_params *p)
{
    bool memory = p->bench.transport == PELTON_SHM || p->bench.transport == PELTON_DEVICE;
    return p->output.batch < 2 || (memory && p->policy == PELTON_LOSSLESS &&
                                   p->views == PELTON_VIEW_BASE && p->devices < 2);
}

/* A stream is not shared where a picture gives more than one frame, or where frames come in real
 * time. */
static bool stretch_valid(const Pelton__Open *in)
{
    bool whole = in->fields || in->realtime || in->views != PELTON_VIEW_BASE ||
                 in->policy != PELTON_LOSSLESS;
    return in->parts < 2 ? in->part == 0
                         : in->parts <= PELTON_MAX_DEVICES && in->part < in->parts && !whole;
}

static int blur_to(const Pelton__Open *in, struct pelton_open_params *out)
{
    if (in->n_blur % 4 || in->n_blur > 4 * PELTON_MAX_BLURS ||
        !in->blur_width != !in->blur_height || in->blur_width > BLUR_MOST ||
        in->blur_height > BLUR_MOST)
        return PELTON_ERR_USAGE;
    out->n_blur = (uint32_t)in->n_blur / 4;
    for (uint32_t i = 0; i < out->n_blur; i++) {
        const uint32_t *v = in->blur + 4 * i;
        out->blur[i] = (struct pelton_rect){v[0], v[1], v[2], v[3]};
        if (!blur_rect_valid(&out->blur[i]))
            return PELTON_ERR_USAGE;
    }
    return PELTON_OK;
}

bool wire_output_valid(const struct pelton_output *o)
{
    bool any = o->crop.x || o->crop.y || o->crop.width || o->crop.height;
    for (uint32_t i = 0; i < o->n_mean && i < 4; i++)
        if (!isfinite(o->mean[i]) || !isfinite(o->scale[i]))
            return false;
    return o->width <= PELTON_MOST_SIZE && o->height <= PELTON_MOST_SIZE &&
           !any == !(o->crop.width && o->crop.height) && (unsigned)o->filter <= PELTON_NEAREST &&
           (unsigned)o->layout <= PELTON_NHWC && (unsigned)o->type <= PELTON_F32 &&
           o->n_mean <= 4 && o->batch <= PELTON_MOST_BATCH;
}

static int output_to(const Pelton__Open *in, struct pelton_output *out)
{
    if ((in->n_crop && in->n_crop != 4) || in->n_mean > 4 || in->n_scale > 4 ||
        (in->n_mean && in->n_scale && in->n_mean != in->n_scale) || in->filter > PELTON_NEAREST ||
        in->layout > PELTON_NHWC || in->type > PELTON_F32)
        return PELTON_ERR_USAGE;
    out->width = in->width;
    out->height = in->height;
    if (in->n_crop)
        memcpy(&out->crop, in->crop, sizeof(out->crop));
    out->filter = (enum pelton_filter)in->filter;
    out->layout = (enum pelton_layout)in->layout;
    out->type = (enum pelton_type)in->type;
    out->batch = in->batch;
    out->n_mean = (uint32_t)(in->n_mean ? in->n_mean : in->n_scale);
    for (uint32_t i = 0; i < out->n_mean; i++) {
        out->mean[i] = in->n_mean ? in->mean[i] : 0;
        out->scale[i] = in->n_scale ? in->scale[i] : 1;
    }
    return wire_output_valid(out) ? PELTON_OK : PELTON_ERR_USAGE;
}

static int wanted_to(const Pelton__Open *in, struct pelton_open_params *out)
{
    if (in->n_wanted % RANGE_VALUES || in->n_wanted > RANGE_VALUES * PELTON_MAX_WANTED ||
        in->n_wanted_us > PELTON_MAX_WANTED || ((in->n_wanted || in->n_wanted_us) && in->parts > 1))
        return PELTON_ERR_USAGE;
    out->wanted = (const struct pelton_frame_range *)in->wanted;
    out->n_wanted = (uint32_t)(in->n_wanted / RANGE_VALUES);
    out->wanted_us = in->wanted_us;
    out->n_wanted_us = (uint32_t)in->n_wanted_us;
    return wire_wanted_valid(out) ? PELTON_OK : PELTON_ERR_USAGE;
}

int wire_open_to(const Pelton__Open *in, struct pelton_open_params *out,
                 struct wire_stretch *stretch)
{
    if (!(in->max_fps >= 0 && in->max_fps <= 1e6) || in->policy > PELTON_FIFO ||
        in->transport > PELTON_DEVICE || in->on_error > PELTON_ON_ERROR_SHOW_ALL ||
        in->side_data > PELTON_SIDE_ALL || in->views > PELTON_VIEWS_BOTH ||
        in->skip > PELTON_SKIP_NONKEY || (in->skip && in->views) || !stretch_valid(in))
        return PELTON_ERR_USAGE;
    memset(out, 0, sizeof(*out));
    if (blur_to(in, out) < 0)
        return PELTON_ERR_USAGE;
    out->uri = in->uri[0] ? in->uri : NULL;
    out->fd = -1;
    out->name = in->name[0] ? in->name : out->uri ? out->uri : "input";
    out->pix_fmt = in->pix_fmt[0] ? in->pix_fmt : NULL;
    OPEN_FIELDS(OPEN_COPY)
    out->bench.transport = in->transport;
    if (in->encode && wire_encoding_to(in->encode, &out->encode) < 0)
        return PELTON_ERR_USAGE;
    if (wanted_to(in, out) < 0 || output_to(in, &out->output) < 0 || !wire_encoded_valid(out) ||
        (in->encoded && in->parts > 1) || !wire_batch_valid(out) ||
        (out->output.batch > 1 && in->parts > 1))
        return PELTON_ERR_USAGE;
    *stretch = (struct wire_stretch){.index = in->part, .count = in->parts, .share = in->share};
    return PELTON_OK;
}
#undef OPEN_COPY
