/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pools and end of sessions whose stream thread makes the frames. See thread_frames.h.
 */
#include "daemon/worker/source/thread_frames.h"

#include "daemon/worker/steps/announce.h"

#include <stdio.h>

void thread_frames_fail(struct session *s, int code, const char *what)
{
    char cause[256];
    snprintf(cause, sizeof(cause), "%.120s: %.120s", s->name, what);
    session_abort(s, code, cause, session_hint(code));
}

void thread_frames_replace(struct session *s, const struct feed_format *format,
                           enum recon_format delivered)
{
    while (!subscription_maker_free(&s->sub, true))
        engine_wait(s->engine, &s->room, 0);
    if (!session_start_pool(s, format, delivered)) {
        thread_frames_fail(s, PELTON_ERR_NOMEM, "no thread for its frames");
        return;
    }
    while (!subscription_pool_made(&s->sub))
        engine_wait(s->engine, &s->room, 0);
    int err = subscription_pool_adopt(&s->sub);
    if (err)
        thread_frames_fail(s, err, "no memory for its frames");
}

void thread_frames_end(struct session *s)
{
    while (!subscription_quiet(&s->sub))
        engine_wait(s->engine, &s->room, 0);
    session_end_subscription(s);
}
