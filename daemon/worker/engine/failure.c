/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How sessions fail: one alone, or all with the device. With the lock.
 */
#include "daemon/worker/engine/session_internal.h"

#include <stdio.h>

void session_fail(struct session *s, int code, const char *cause, const char *hint)
{
    struct pelton_failure *f = &s->source_failure;
    if (f->code)
        return;
    f->code = code;
    snprintf(f->cause, sizeof(f->cause), "%s", cause);
    snprintf(f->hint, sizeof(f->hint), "%s", hint);
}

void session_end_subscription(struct session *s)
{
    const struct pelton_failure *f = &s->source_failure;
    if (f->code)
        subscription_fail(&s->sub, f->code, f->cause, f->hint);
    subscription_end(&s->sub);
    s->ended_ns = now_ns();
}

void session_give_up(struct session *s)
{
    window_abort(&s->window);
    atomic_store(&s->stop, true);
}

void session_abort(struct session *s, int code, const char *cause, const char *hint)
{
    subscription_fail(&s->sub, code, cause, hint);
    session_give_up(s);
}

void session_post_frame(struct session *s, struct pool *pool, struct feed_frame *frame)
{
    bool posted = subscription_post_frame(&s->sub, pool, frame, frame->camera);
    if (!posted && !s->sub.closing && !s->sub.ended)
        session_abort(s, PELTON_ERR_NOMEM, "out of memory", "decode fewer streams at once");
}

void engine_device_failed(struct engine *e, int error)
{
    bool lost = error == GPU_ERR_LOST;
    int code = lost                     ? PELTON_ERR_GPU_LOST
               : error == GPU_ERR_NOMEM ? PELTON_ERR_NOMEM
                                        : PELTON_ERR_OTHER;
    const char *why = lost                       ? gpu_error_text(GPU_ERR_LOST)
                      : code == PELTON_ERR_NOMEM ? gpu_error_text(GPU_ERR_NOMEM)
                                                 : gpu_error_text(GPU_ERR_VULKAN);
    char cause[256];
    snprintf(cause, sizeof(cause), "GPU %.100s: %.100s", e->device->name, why);
    e->gpu_lost |= lost;
    for (struct session *s = e->sessions; s; s = s->place.next)
        session_abort(s, code, cause, lost ? "the worker has to be restarted" : "");
}
