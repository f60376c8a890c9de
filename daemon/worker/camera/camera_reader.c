/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Readers of cameras as the loop thread sees them: open, release, controls, end.
 *
 * A reader ends when it was closed, has its frames, or its camera has ended. Then the development
 * thread takes it down (subscription_end), and on_end is called here.
 *
 * The failure modes are an address that says no camera, a pixel format that cameras do not leave
 * in, and those of development (developers.c).
 */
#include "daemon/worker/camera/camera_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void reader_fail(struct camera_reader *r, int code, const char *cause)
{
    char line[256];
    snprintf(line, sizeof(line), "%.100s: %.150s", r->name, cause);
    r->done = true;
    subscription_fail(&r->sub, code, line, "");
}

void reader_inform(struct camera_reader *r)
{
    camera_info(&r->camera->params, r->format, &r->sub.info);
    r->sub.info_ready = true;
}

/* Even sides within the wish, of about the same shape. */
static void size_fit(const uint32_t most[2], uint32_t *width, uint32_t *height)
{
    uint64_t w = *width, h = *height;
    if (!most[0] || !most[1] || (w <= most[0] && h <= most[1]))
        return;
    if (w * most[1] > h * most[0]) {
        h = h * most[0] / w;
        w = most[0];
    } else {
        w = w * most[1] / h;
        h = most[1];
    }
    *width = w < 2 ? 2 : (uint32_t)w / 2 * 2;
    *height = h < 2 ? 2 : (uint32_t)h / 2 * 2;
}

void reader_isp_params(const struct camera_reader *r, struct isp_params *out)
{
    struct isp_rect size;
    camera_isp_params(&r->camera->control, &r->camera->tone, r->format, out);
    isp_output_size(out, &size);
    size_fit(r->fit, &size.width, &size.height);
    out->out_width = size.width;
    out->out_height = size.height;
}

void reader_layout(const struct camera_reader *r, struct feed_format *out)
{
    const struct camera *c = r->camera;
    struct isp_params params;
    uint32_t row_bytes[3], rows[3];
    reader_isp_params(r, &params);
    *out = (struct feed_format){.width = params.out_width,
                                .height = params.out_height,
                                .time_base = {1, 1000000},
                                .sar = {1, 1},
                                .memfd = -1};
    uint32_t planes = isp_planes(&params, row_bytes, rows);
    for (uint32_t i = 0; i < planes; i++)
        feed_format_plane(out, row_bytes[i], rows[i], ISP_STRIDE);
    feed_format_close(out);
    strcpy(out->pix_fmt, camera_pix_fmt(r->format));
    camera_colour(&c->params, r->format, &out->colour);
}

/* ---- open ---- */

static void reader_wake(void *reader)
{
    struct camera_reader *r = reader;
    host_wake(r->camera->host);
}

static struct camera_reader *reader_new(struct camera_host *h,
                                        const struct pelton_open_params *params,
                                        const struct feed_callbacks *callbacks, void *ctx)
{
    struct camera_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->params = *params;
    r->params.uri = r->params.name = r->params.pix_fmt = NULL;
    r->opened_ns = now_ns();
    snprintf(r->name, sizeof(r->name), "%s", params->name ? params->name : params->uri);
    const struct subscription_owner by = {&h->lock, h->gpu, reader_wake, NULL, r};
    subscription_init(&r->sub, &by, callbacks, ctx);
    return r;
}

/* It joins its camera, which may be in BACKOFF. Returns whether there was room. */
static bool reader_join(struct camera_host *h, struct camera_reader *r, bool format_known)
{
    struct camera *c = r->camera;
    uv_mutex_lock(&h->lock);
    if (c->n_readers == CAMERA_READERS) {
        uv_mutex_unlock(&h->lock);
        return false;
    }
    c->n_readers++;
    if (!format_known)
        reader_fail(r, PELTON_ERR_USAGE,
                    "cameras leave as yuv420p, nv12, p010le, gray, rgb24, rgba, bgr24, "
                    "bgra or rgb48le");
    r->next = h->readers;
    h->readers = r;
    if (c->state == CAMERA_BACKOFF) {
        subscription_post_state(&r->sub, false, c->absent);
        host_notify(h);
    }
    host_wake(h);
    uv_mutex_unlock(&h->lock);
    return true;
}

static int reader_refused(struct camera_reader *r, struct pelton_failure *failure)
{
    failure->code = PELTON_ERR_LIMIT;
    snprintf(failure->cause, sizeof(failure->cause), "%.120s: the camera has %d readers already",
             r->name, CAMERA_READERS);
    snprintf(failure->hint, sizeof(failure->hint),
             "pelton-web serves any number of readers by one");
    free(r);
    return PELTON_ERR_LIMIT;
}

int camera_open(struct camera_host *h, const struct pelton_open_params *params,
                const struct camera_extra *extra, const struct feed_callbacks *callbacks, void *ctx,
                struct camera_reader **out, struct pelton_failure *failure)
{
    char why[CAMERA_WHY] = "";
    if (output_changes(&params->output) || params->output.batch > 1) {
        failure->code = PELTON_ERR_USAGE;
        snprintf(failure->cause, sizeof(failure->cause),
                 "%.120s: frames of a raw camera are not cropped, scaled or batched for a reader",
                 params->name);
        snprintf(failure->hint, sizeof(failure->hint),
                 "the camera's setting output chooses the size of all its frames");
        return PELTON_ERR_USAGE;
    }
    struct camera_reader *r = reader_new(h, params, callbacks, ctx);
    if (!r)
        return PELTON_ERR_NOMEM;
    r->probe = extra->probe_only;
    r->base = extra->resume_sequence;
    r->fit[0] = extra->fit_width;
    r->fit[1] = extra->fit_height;
    int rc = camera_find(h, params->uri, extra->kept, r->base > 0, &r->camera, why);
    if (rc < 0) {
        failure->code = rc;
        snprintf(failure->cause, sizeof(failure->cause), "%.50s: %.199s", r->name,
                 why[0] ? why : "out of memory");
        free(r);
        return rc;
    }
    if (!reader_join(h, r, camera_pix_fmt_find(params->pix_fmt, params->any_pix_fmt, &r->format)))
        return reader_refused(r, failure);
    *out = r;
    return 0;
}

/* ---- while it reads ---- */

void camera_release(struct camera_reader *r, uint32_t epoch, uint32_t slot, uint32_t generation)
{
    subscription_release(&r->sub, epoch, slot, generation);
}

static void reader_stats(const struct camera_reader *r, struct pelton_stats *out)
{
    *out = r->stats;
    out->dropped = r->dropped;
    out->access_units = r->camera->sequence;
    out->wall = 1e-9 * (double)(now_ns() - r->opened_ns);
}

void camera_stats(struct camera_reader *r, struct pelton_stats *out)
{
    uv_mutex_lock(&r->camera->host->lock);
    reader_stats(r, out);
    uv_mutex_unlock(&r->camera->host->lock);
}

/* Blurred rectangles stay where they are in the picture: nobody may move the scene under them. */
bool camera_is_blurred(const struct camera *c)
{
    const struct camera_reader *r = c->host->readers;
    while (r && (r->camera != c || !r->params.n_blur))
        r = r->next;
    return r != NULL;
}

int camera_controls(struct camera_reader *r, const struct pelton_control *wishes, uint32_t n,
                    struct pelton_control out[CAMERA_CONTROLS], uint32_t *n_out,
                    struct pelton_failure *failure)
{
    struct camera *c = r->camera;
    int rc = PELTON_ERR_USAGE;
    *failure = (struct pelton_failure){.code = rc, .cause = "the camera is not open yet"};
    uv_mutex_lock(&c->host->lock);
    if (c->known)
        rc = camera_control_set(&c->control, wishes, n, camera_is_blurred(c), failure);
    if (rc == 0)
        *n_out = camera_control_list(&c->control, out);
    uv_mutex_unlock(&c->host->lock);
    return rc;
}

/* ---- the end ---- */

void camera_close(struct camera_reader *r)
{
    struct camera_host *h = r->camera->host;
    uv_mutex_lock(&h->lock);
    r->sub.closing = true;
    host_wake(h);
    uv_mutex_unlock(&h->lock);
}

bool readers_end_one(struct camera_host *h)
{
    struct camera_reader *ended = NULL;
    struct pelton_stats stats;
    uv_mutex_lock(&h->lock);
    for (struct camera_reader **at = &h->readers; *at && !ended;) {
        if (!subscription_over(&(*at)->sub)) {
            at = &(*at)->next;
            continue;
        }
        ended = *at;
        *at = ended->next;
        if (--ended->camera->n_readers == 0)
            camera_stop(ended->camera);
        reader_stats(ended, &stats);
        host_wake(h);
    }
    uv_mutex_unlock(&h->lock);
    if (!ended)
        return false;
    subscription_call_end(&ended->sub, &stats);
    subscription_clear(&ended->sub);
    free(ended);
    return true;
}
