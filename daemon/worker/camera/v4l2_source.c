/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A V4L2 device as a source of frames: raw samples, pictures in Y, Cb, Cr, or JPEG, which is
 * decoded here. The failure modes are those of v4l2_device.c, after some of which capture.c opens
 * it again, and JPEG that is damaged: dropped and counted.
 *
 * Cameras that give pictures control their exposure themselves, until somebody sets exposure or
 * gain, or ae.enable is set.
 */
#include "daemon/worker/camera/camera_internal.h"
#include "daemon/worker/camera/mjpeg.h"
#include "daemon/worker/camera/v4l2.h"

#include <stdlib.h>
#include <string.h>

enum {
    SETTINGS = 2 /* frames from a control to its effect */,
    OTHERS = 10 /* JPEG of another size: damage does not look so as often in a row */
};

struct v4l2_source {
    struct v4l2_device device;
    struct camera_params params;
    struct mjpeg *mjpeg;
    unsigned others;          /* JPEG of another size than the device says, in a row */
    bool direct;              /* the device writes into the camera's frames */
    bool own;                 /* the camera controls its exposure itself */
    struct ae_exposure first; /* what was asked for at the start; time 0: not known yet */
    struct v4l2_controls controls;
    struct ae_exposure queue[SETTINGS + 1]; /* [0]: of the next frame */
};

static void close_v4l2(void *source)
{
    struct v4l2_source *s = source;
    v4l2_device_close(&s->device);
    mjpeg_free(s->mjpeg);
    s->mjpeg = NULL;
}

static int prepare(struct v4l2_source *s, struct pelton_failure *failure)
{
    const struct camera_params *p = &s->params;
    if (p->coding == CAMERA_H264)
        return v4l2_device_fail(&s->device, failure, PELTON_ERR_UNSUPPORTED,
                                "the device has nothing but H.264", "format=H264 reads it");
    if (p->coding == CAMERA_SAMPLES)
        return 0;
    s->device.least[0] = 4;
    s->mjpeg = mjpeg_create();
    return s->mjpeg ? 0
                    : v4l2_device_fail(&s->device, failure, PELTON_ERR_NOMEM,
                                       "out of memory for JPEG", "");
}

static void take_control(struct v4l2_source *s, const struct ae_exposure *e)
{
    v4l2_controls_manual(&s->device);
    s->own = false;
    const struct ae_exposure made = v4l2_controls_set(&s->controls, e);
    for (int i = 0; i <= SETTINGS; i++)
        s->queue[i] = made;
}

static int open_v4l2(void *source, struct camera_params *p, struct pelton_failure *failure)
{
    struct v4l2_source *s = source;
    s->params = *p;
    int rc = v4l2_device_open(&s->device, &s->params, failure);
    if (rc < 0)
        return rc;
    v4l2_controls_open(&s->device, &s->controls, &s->params);
    rc = prepare(s, failure);
    if (rc < 0) {
        close_v4l2(s);
        return rc;
    }
    *p = s->params;
    s->direct = false;
    s->others = 0;
    s->own = p->order == ISP_YUV && !p->exposure.ae_enable;
    s->first = (struct ae_exposure){0};
    if (!s->own)
        take_control(s, &(struct ae_exposure){p->exposure.time_us, p->exposure.analogue_gain, 1});
    return 0;
}

static void layout_v4l2(void *source, size_t *bytes, uint32_t *stride)
{
    const struct v4l2_source *s = source;
    *bytes = s->params.coding == CAMERA_SAMPLES ? s->device.image.bytes[0] : 0;
    *stride = s->device.parts[0].stride;
}

/* Only what lies in the driver's image as it is developed. */
static int start_v4l2(void *source, const struct source_buffers *buffers, uint32_t free,
                      struct pelton_failure *failure)
{
    struct v4l2_source *s = source;
    bool fits = s->device.n_parts == 1 && s->params.device.buffers != CAMERA_BUFFERS_MMAP;
    s->direct = fits && v4l2_device_start_user(&s->device, buffers, free);
    if (s->direct)
        return SOURCE_DIRECT;
    if (s->params.device.buffers == CAMERA_BUFFERS_USERPTR)
        return v4l2_device_fail(&s->device, failure, PELTON_ERR_UNSUPPORTED,
                                "the device takes no memory of ours",
                                "buffers=auto copies its frames");
    int rc = v4l2_device_start(&s->device, failure);
    return rc < 0 ? rc : SOURCE_COPIES;
}

static int lend_v4l2(void *source, uint32_t index, struct pelton_failure *failure)
{
    struct v4l2_source *s = source;
    return v4l2_device_give(&s->device, index, failure);
}

/* The parts behind one another, all with rows as wide as luma's (gpu/isp/isp.h). */
static void copy_frame(const struct v4l2_source *s, const struct v4l2_taken *taken, uint8_t *to)
{
    const uint8_t *from = taken->data[0];
    for (uint32_t i = 0; i < s->device.n_parts; i++) {
        const struct v4l2_part *p = &s->device.parts[i];
        from = s->device.kind->planes > 1 ? taken->data[i] : from;
        for (uint32_t y = 0; y < p->rows; y++, from += p->stride, to += s->device.parts[0].bytes)
            memcpy(to, from, p->bytes);
    }
}

static enum mjpeg_result decode_jpeg(struct v4l2_source *s, const struct v4l2_taken *taken,
                                     uint8_t *raw)
{
    enum mjpeg_result result =
        mjpeg_decode(s->mjpeg, taken->data[0], taken->size, s->params.width, s->params.height, raw);
    s->others = result == MJPEG_OTHER_SIZE ? s->others + 1 : 0;
    return result;
}

/* Also of frames that are dropped: each takes the settings that are due. */
static void shift_settings(struct v4l2_source *s, struct ae_exposure *in_effect)
{
    *in_effect = s->own ? (struct ae_exposure){0, 1, 1} : s->queue[0];
    memmove(s->queue, s->queue + 1, SETTINGS * sizeof(*s->queue));
}

static int read_v4l2(void *source, uint8_t *raw, struct source_frame *out,
                     struct pelton_failure *failure)
{
    struct v4l2_source *s = source;
    struct v4l2_taken taken;
    bool good = true;
    uint64_t lost = s->device.lost;
    int rc = v4l2_device_take(&s->device, &taken, failure);
    if (s->device.lost > lost && rc == SOURCE_AGAIN)
        shift_settings(s, &out->in_effect);
    if (rc != SOURCE_OK)
        return rc;
    shift_settings(s, &out->in_effect);
    if (raw && s->mjpeg)
        good = decode_jpeg(s, &taken, raw) == MJPEG_OK;
    else if (raw)
        copy_frame(s, &taken, raw);
    out->captured_ns = taken.captured_ns;
    out->index = taken.index;
    rc = s->direct ? 0 : v4l2_device_give(&s->device, taken.index, failure);
    if (rc < 0)
        return rc;
    if (s->others == OTHERS)
        return v4l2_device_fail(&s->device, failure, PELTON_ERR_INPUT,
                                "its JPEG is of another size than it says", "");
    if (!good) {
        s->device.lost++;
        return SOURCE_AGAIN;
    }
    out->lost = s->device.lost;
    s->device.lost = 0;
    return SOURCE_OK;
}

static void set_v4l2(void *source, const struct ae_exposure *e)
{
    struct v4l2_source *s = source;
    if (s->own && s->first.time_us == 0)
        s->first = *e;
    else if (s->own && (e->time_us != s->first.time_us || e->analogue != s->first.analogue))
        take_control(s, e);
    if (!s->own)
        s->queue[SETTINGS] = v4l2_controls_set(&s->controls, e);
}

static void free_v4l2(void *source)
{
    close_v4l2(source);
    free(source);
}

void *v4l2_source_create(void)
{
    struct v4l2_source *s = calloc(1, sizeof(*s));
    if (s)
        s->device.fd = -1;
    return s;
}

const struct source_ops v4l2_source_ops = {open_v4l2, read_v4l2,   set_v4l2,   close_v4l2,
                                           free_v4l2, layout_v4l2, start_v4l2, lend_v4l2};
