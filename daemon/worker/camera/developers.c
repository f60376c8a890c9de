/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Development set up and taken down: a developer per camera and format, one per reader that is
 * blurred or scaled, and a meter for frames that nobody reads.
 *
 * All that takes long is done before a reader's first frame, and its pool is made by a thread of
 * its own. So a reader joins without holding up the others.
 *
 * The failure modes are: a format is refused (its reader ends, with the reason), no memory (the
 * same), the device is lost (the same; develop.c has all readers end).
 */
#include "daemon/worker/camera/camera_internal.h"

#include "daemon/worker/feed/blur_rects.h"

#include <stdio.h>

#define METER_SIDE 16u
enum { LEAST_SLOTS = 4, MOST_SLOTS = 64, USUAL_SLOTS = 12 };

static int isp_failure(int err, char why[ISP_WHY])
{
    if (!why[0])
        snprintf(why, ISP_WHY, "%s", gpu_error_text(err));
    return err == GPU_ERR_LOST    ? PELTON_ERR_GPU_LOST
           : err == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM
                                  : PELTON_ERR_INPUT;
}

/* Makes a developer in place of *at, without the lock. On failure the old one stays. */
static int developer_replace(struct camera_host *h, const struct isp_params *params,
                             struct isp_camera **at, char why[ISP_WHY])
{
    struct isp_camera *made = NULL;
    uv_mutex_unlock(&h->lock);
    int err = isp_camera_create(h->isp, params, &made, why);
    if (err == 0) {
        isp_camera_free(*at);
        *at = made;
    }
    uv_mutex_lock(&h->lock);
    return err < 0 ? isp_failure(err, why) : 0;
}

/* The developer of a format, for the present look. */
static int camera_make_developer(struct camera_host *h, struct camera *c, enum isp_format format,
                                 char why[ISP_WHY])
{
    struct isp_params params;
    camera_isp_params(&c->control, &c->tone, format, &params);
    c->developers.look[format] = c->control.look;
    return developer_replace(h, &params, &c->developers.isp[format], why);
}

/* Rectangles mean the camera's frames before they are scaled for a reader. */
static void reader_settle(struct camera_reader *r)
{
    struct isp_params whole, fit;
    struct isp_rect out;
    camera_isp_params(&r->camera->control, &r->camera->tone, r->format, &whole);
    isp_output_size(&whole, &out);
    reader_isp_params(r, &fit);
    r->own = r->params.n_blur || fit.out_width != out.width || fit.out_height != out.height;
    if (!r->params.blur_width)
        r->params.blur_width = out.width;
    if (!r->params.blur_height)
        r->params.blur_height = out.height;
}

/* The same for one reader whose frames are blurred or scaled: nobody else gets them, and it gets no
 * others. */
static int reader_make_own(struct camera_host *h, struct camera_reader *r, char why[ISP_WHY])
{
    const struct pelton_open_params *p = &r->params;
    struct isp_params params;
    char outside[128];
    reader_isp_params(r, &params);
    if (blur_outside(p, p->blur_width, p->blur_height, outside)) {
        snprintf(why, ISP_WHY, "%s", outside);
        return PELTON_ERR_USAGE;
    }
    params.blur_count = p->n_blur;
    for (uint32_t i = 0; i < params.blur_count; i++) {
        struct pelton_rect rect = blur_scaled(p, i, params.out_width, params.out_height);
        params.blur[i] = (struct isp_rect){rect.x, rect.y, rect.width, rect.height};
    }
    r->isp_look = r->camera->control.look;
    return developer_replace(h, &params, &r->isp, why);
}

int camera_make_meter(struct camera_host *h, struct camera *c, char why[ISP_WHY])
{
    struct isp_params params;
    camera_isp_params(&c->control, &c->tone, ISP_GRAY8, &params);
    params.lens = (struct isp_lens){0};
    params.region = (struct isp_rect){0};
    params.out_width = params.out_height = METER_SIDE;
    return developer_replace(h, &params, &c->developers.meter, why);
}

bool reader_wants_developer(const struct camera_reader *r)
{
    return !r->probe && r->params.bench.transport == PELTON_SHM;
}

static int reader_make_developers(struct camera_host *h, struct camera_reader *r, char why[ISP_WHY])
{
    struct camera *c = r->camera;
    int err = 0;
    if (r->own)
        err = reader_make_own(h, r, why);
    else if (!c->developers.isp[r->format])
        err = camera_make_developer(h, c, r->format, why);
    if (!err && !c->developers.meter)
        err = camera_make_meter(h, c, why);
    return err;
}

static bool reader_start_pool(struct camera_reader *r)
{
    struct pool_params pool = {.memory = true};
    uint32_t slots = r->params.depth ? r->params.depth : USUAL_SLOTS;
    reader_layout(r, &pool.format);
    pool.format.slots = slots < LEAST_SLOTS ? LEAST_SLOTS : slots > MOST_SLOTS ? MOST_SLOTS : slots;
    return subscription_pool_start(&r->sub, &pool);
}

void reader_prepare(struct camera_host *h, struct camera_reader *r)
{
    char why[ISP_WHY] = "";
    r->prepared = true;
    if (r->params.n_blur) /* its rectangles mean the picture as configured; ScalerCrop is refused */
        camera_control_uncrop(&r->camera->control);
    reader_settle(r);
    int err = reader_wants_developer(r) ? reader_make_developers(h, r, why) : 0;
    if (err < 0)
        reader_fail(r, err, why);
    else if (!reader_wants_developer(r))
        reader_inform(r);
    else if (!reader_start_pool(r))
        reader_fail(r, PELTON_ERR_NOMEM, "no thread for its frames");
    r->done |= r->probe;
    host_notify(h);
}

void reader_take_down(struct camera_reader *r)
{
    struct camera_host *h = r->camera->host;
    r->ready = false;
    uv_mutex_unlock(&h->lock);
    isp_camera_free(r->isp);
    r->isp = NULL;
    uv_mutex_lock(&h->lock);
    subscription_end(&r->sub);
    host_notify(h);
}

/* Where that fails the old developer goes on. */
bool camera_renew_one(struct camera_host *h, struct camera *c)
{
    char why[ISP_WHY] = "";
    const struct developers *d = &c->developers;
    for (int format = 0; format < ISP_FORMATS; format++)
        if (d->isp[format] && d->look[format] != c->control.look) {
            camera_make_developer(h, c, (enum isp_format)format, why);
            return true;
        }
    for (struct camera_reader *r = h->readers; r; r = r->next)
        if (r->camera == c && r->ready && r->isp && r->isp_look != c->control.look) {
            reader_make_own(h, r, why);
            return true;
        }
    return false;
}

void camera_undevelop(struct camera *c)
{
    struct camera_host *h = c->host;
    uv_mutex_unlock(&h->lock);
    isp_camera_free(c->developers.meter);
    for (int i = 0; i < ISP_FORMATS; i++)
        isp_camera_free(c->developers.isp[i]);
    uv_mutex_lock(&h->lock);
    c->undeveloped = true;
    host_notify(h);
}
