/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Submission and completion of the camera pipeline's batches.
 *
 * The happy path: a call becomes one submission, or more where it does not fit one. The last one
 * carries the ticket. When a submission is complete, frames that pass through staging are copied,
 * statistics are handed out, and its ticket is done. Failures: a call with invalid arguments
 * submits nothing and says why in the log; an error while recording waits for earlier submissions
 * and gives no ticket; a lost device makes every later call fail with GPU_ERR_LOST.
 */
#include "gpu/isp/isp_internal.h"

#include <math.h>
#include <string.h>

void isp_submission_done(void *ctx, const struct gpu_submission *s)
{
    struct isp *isp = ctx;
    struct isp_flight *f = &isp->flights[s->index];
    gpu_hosts_flush(isp->g, s->last.queue, s->last.value);
    isp_times_add(isp, s);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct isp_frame *frame = &f->items[i].frame;
        const struct isp_params *p = &frame->camera->params;
        if (!frame->statistics)
            continue;
        isp_statistics_read((const uint32_t *)(const void *)f->readback.map +
                                (size_t)i * ISP_STATISTICS_WORDS,
                            frame->statistics, p->width, p->height);
        memcpy(frame->statistics->gain, frame->gain, sizeof(frame->gain));
    }
    if (f->ticket)
        isp->done = f->ticket;
}

uint64_t isp_done(struct isp *isp)
{
    gpu_work_poll(isp->work);
    return isp->done;
}

int isp_wait(struct isp *isp, uint64_t ticket, uint64_t timeout_ns)
{
    struct gpu_point point;
    if (ticket > isp->submitted)
        return GPU_ERR_INVALID;
    while (isp->done < ticket && gpu_work_oldest(isp->work, &point)) {
        int err = gpu_work_wait(isp->work, timeout_ns);
        if (err)
            return err;
    }
    return ticket <= isp->done ? GPU_OK : GPU_ERR_LOST;
}

void isp_times(const struct isp *isp, struct isp_times *out)
{
    *out = isp->times;
}

static const char *frame_fault(const struct isp *isp, const struct isp_frame *frame)
{
    const struct isp_camera *c = frame->camera;
    struct gpu_window window;
    if (!c || c->isp != isp)
        return "has no camera of this pipeline";
    if (!frame->raw || frame->raw_stride < isp_row_bytes(&c->params))
        return "has no raw samples, or too short a stride";
    if (!frame->host)
        return "has nowhere to go";
    for (int i = 0; i < 3; i++)
        if (!(frame->gain[i] >= 0 && frame->gain[i] <= 256))
            return "has a gain outside 0..256";
    for (uint32_t i = 0; i < c->planes; i++) {
        uint64_t bytes = (uint64_t)frame->stride[i] * (c->rows[i] - 1) + c->row_bytes[i];
        if (frame->stride[i] < c->row_bytes[i] || frame->offset[i] > UINT64_MAX - bytes ||
            gpu_host_window(frame->host, frame->offset[i], frame->offset[i] + bytes, &window) < 0)
            return "has a plane outside its host memory";
    }
    return NULL;
}

/* The colour of each of the 2x2 places: 0 red, 1 green, 2 blue. */
static const uint8_t colours[][4] = {
    [ISP_RGGB] = {0, 1, 1, 2}, [ISP_GRBG] = {1, 0, 2, 1}, [ISP_GBRG] = {1, 2, 0, 1},
    [ISP_BGGR] = {2, 1, 1, 0}, [ISP_MONO] = {1, 1, 1, 1}, [ISP_YUV] = {1, 1, 1, 1},
};

static void fill_args(const struct isp_flight *f, uint32_t index, struct isp_args *out)
{
    const struct isp_item *item = &f->items[index];
    const struct isp_camera *c = item->frame.camera;
    const struct isp_params *p = &c->params;
    struct isp_args args = c->args;
    float white = p->white ? p->white : (float)((1u << p->depth) - 1);
    args.raw = (uint32_t)(item->raw_at / 4);
    args.rgb = (uint32_t)item->rgb_at;
    args.statistics = index * ISP_STATISTICS_WORDS;
    for (int i = 0; i < 4; i++)
        args.gain[i] = item->frame.gain[colours[p->order][i]] * 65535.0f / (white - p->black[i]);
    if (p->order == ISP_YUV) /* of luma, for the statistics */
        args.gain[0] = 65535.0f / (p->full_range ? 255 : 219);
    for (uint32_t i = 0; i < c->planes; i++)
        args.plane[i] = (uint32_t)((item->out_at + c->out_offset[i]) / 4);
    *out = args;
}

static void stage_raw(struct isp_flight *f, const struct isp_item *item)
{
    const struct isp_camera *c = item->frame.camera;
    uint8_t *to = f->staging.map + ISP_ARGS_AREA + item->raw_at;
    uint32_t bytes = isp_row_bytes(&c->params);
    uint32_t rows = isp_raw_rows(&c->params);
    for (uint32_t row = 0; row < rows; row++)
        memcpy(to + (size_t)row * c->raw_stride,
               (const uint8_t *)item->frame.raw + (size_t)row * item->frame.raw_stride, bytes);
}

/* As many of frames[0..n) as fit one flight, which is idle. */
static int flight_pack(struct isp *isp, struct isp_flight *f, const struct isp_frame *frames,
                       uint32_t n)
{
    uint64_t raw_at = 0, out_at = 0, rgb_at = 0;
    int err = GPU_OK;
    f->count = 0;
    f->measured = false;
    while (f->count < n && f->count < isp->width) {
        struct isp_item *item = &f->items[f->count];
        struct isp_camera *c = frames[f->count].camera;
        uint64_t pixels = isp_developed_pixels(c);
        if (raw_at + c->raw_bytes + 16 > isp->raw_size || out_at + c->out_bytes > isp->out_size)
            break;
        bool starts = !(f->count % isp->group) || rgb_at + pixels > isp->rgb.size / 8;
        rgb_at = starts ? 0 : rgb_at;
        *item = (struct isp_item){.frame = frames[f->count],
                                  .raw_at = raw_at,
                                  .out_at = out_at,
                                  .rgb_at = rgb_at,
                                  .starts_group = starts};
        float *gain = item->frame.gain;
        if (gain[0] == 0 && gain[1] == 0 && gain[2] == 0)
            gain[0] = gain[1] = gain[2] = 1;
        uint64_t bytes = (uint64_t)item->frame.raw_stride * (isp_raw_rows(&c->params) - 1) +
                         isp_row_bytes(&c->params);
        if (isp->g->unified || !gpu_arena_find(isp->g, item->frame.raw, bytes, &item->fetch))
            stage_raw(f, item);
        f->measured |= item->frame.statistics != NULL;
        err = isp_camera_pipelines(c, item->frame.statistics != NULL);
        if (err < 0)
            return err;
        fill_args(f, f->count, (struct isp_args *)(void *)f->staging.map + f->count);
        raw_at += c->raw_bytes;
        out_at += c->out_bytes;
        rgb_at += pixels;
        f->count++;
    }
    return GPU_OK;
}

static int reserve_hosts(const struct isp_flight *f)
{
    int err = GPU_OK;
    /* for all, as several may go to one host */
    for (uint32_t i = 0; i < f->count && err == GPU_OK; i++)
        err = gpu_host_reserve(f->items[i].frame.host, 3 * (size_t)f->count);
    return err;
}

static void flight_written(struct isp_flight *f)
{
    for (uint32_t i = 0; i < f->count; i++) {
        const struct isp_frame *frame = &f->items[i].frame;
        struct isp_camera *c = frame->camera;
        struct gpu_rect rects[3];
        for (uint32_t k = 0; k < c->planes; k++)
            rects[k] =
                (struct gpu_rect){frame->offset[k], frame->stride[k], c->row_bytes[k], c->rows[k]};
        gpu_host_written(frame->host, rects, c->planes, &f->s->last);
        c->used = true;
    }
}

/* One submission of the first frames; *taken says how many. */
static int submit_some(struct isp *isp, const struct isp_frame *frames, uint32_t n, uint32_t *taken)
{
    struct gpu_submission *s = NULL;
    int err = GPU_OK;
    TRY(gpu_work_begin(isp->work, UINT64_MAX, &s));
    struct isp_flight *f = &isp->flights[s->index];
    f->s = s;
    TRY(flight_pack(isp, f, frames, n));
    TRY(reserve_hosts(f));
    TRY(isp_record(isp, f));
    TRY(gpu_work_submit(s));
    flight_written(f);
    f->ticket = f->count == n ? ++isp->submitted : 0;
    *taken = f->count;
error:
    return err;
}

int isp_submit(struct isp *isp, const struct isp_frame *frames, uint32_t n, uint64_t *ticket)
{
    if (atomic_load(&isp->g->lost))
        return GPU_ERR_LOST;
    if (!n)
        return GPU_ERR_INVALID;
    for (uint32_t i = 0; i < n; i++) {
        const char *fault = frame_fault(isp, &frames[i]);
        if (fault) {
            gpu_log(isp->g, 0, "frame %u of a batch %s", i, fault);
            return GPU_ERR_INVALID;
        }
    }
    int err = GPU_OK;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < n && err == GPU_OK; i += taken)
        err = submit_some(isp, frames + i, n - i, &taken);
    if (err == GPU_OK)
        *ticket = isp->submitted;
    else
        gpu_work_drain(isp->work); /* earlier parts of the call still read its frames */
    return err;
}
