/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A reader's pool, made by a thread of libuv: allocating and pinning it takes a tenth of a second,
 * in which the development thread goes on with the frames of all other readers.
 */
#include "daemon/worker/camera/camera_internal.h"

static void make(uv_work_t *work)
{
    struct camera_reader *r = work->data;
    r->pool_error = pool_create(
        r->camera->host->gpu, &(struct pool_params){.format = r->layout, .memory = true}, &r->made);
}

/* Loop thread. */
static void made(uv_work_t *work, int status)
{
    struct camera_reader *r = work->data;
    struct camera_host *h = r->camera->host;
    int err = status < 0 ? PELTON_ERR_OTHER : r->pool_error;
    uv_mutex_lock(&h->lock);
    r->pool_making = false;
    if (err < 0) {
        reader_fail(r, err,
                    err == PELTON_ERR_GPU_LOST ? "the device is lost" : "no memory for its frames");
    } else {
        r->pool = r->made;
        r->ready = true;
        r->ready_ns = now_ns();
    }
    r->info_ready = true;
    host_wake(h);
    uv_mutex_unlock(&h->lock);
    host_notify(h);
}

void reader_pool_make(struct camera_reader *r)
{
    struct camera_host *h = r->camera->host;
    uv_mutex_lock(&h->lock);
    bool wanted = r->pool_wanted;
    r->pool_making |= wanted;
    r->pool_wanted = false;
    uv_mutex_unlock(&h->lock);
    r->work.data = r;
    if (wanted && uv_queue_work(h->loop, &r->work, make, made) < 0)
        made(&r->work, -1);
}
