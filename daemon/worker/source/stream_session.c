/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a source thread tells its session, and where it waits for it.
 */
#include "daemon/worker/source/stream_internal.h"

void stream_report_failure(struct stream *st, int code, const char *cause, const char *hint)
{
    engine_lock(st->engine);
    session_fail(st->session, code, cause, hint);
    engine_unlock(st->engine);
    st->failed = true;
}

void stream_account(struct stream *st, double cpu)
{
    struct pelton_stats *stats = &st->session->stats;
    stats->cpu_demux += cpu - st->read.cpu;
    stats->access_units += st->read.access_units;
    stats->bytes_in += st->read.bytes;
    stats->pictures += st->read.pictures;
    st->read = (struct stream_read){.cpu = cpu};
}

void stream_wait_for_room(struct stream *st)
{
    struct session *s = st->session;
    double cpu = thread_cpu_seconds();
    engine_lock(st->engine);
    stream_account(st, cpu);
    while (!s->lavc && !window_has_room(&s->window) && !stream_stopped(st)) {
        s->window.source_waits = true;
        if (st->engine->params.shuffle_seed)
            wake_coders(&st->engine->schedule, UINT32_MAX);
        engine_wait(st->engine, &s->room, 0);
    }
    s->window.source_waits = false;
    engine_unlock(st->engine);
}
