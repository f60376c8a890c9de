/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Network sources that the configuration names: when one of them ends, fails or is not there yet,
 * it is opened again, for as long as somebody reads it. A wrong password or another codec ends a
 * source that was never open.
 *
 * The happy path is Eos of the worker -> wait -> Open again, a new epoch, sequence numbers that go
 * on. Waits grow (backoff.h); ten seconds of health make the next one short. The failure modes are
 * those of the source. The reader learns of them by SourceState RESTARTING with the cause. The
 * worker opens cameras again itself, because it knows more about them. A camera that has come back
 * with frames of another size or kind is opened again from here, for every reader, named or not.
 */
#include "daemon/broker/reconnect.h"

#include "daemon/broker/broker_stream.h"
#include "daemon/broker/named.h"
#include "daemon/broker/stream_delivery.h"
#include "daemon/broker/stream_messages.h"
#include "daemon/log.h"

#include <string.h>

/* Whether a source that could not be opened the first time may be there later. */
static bool can_pass(int code)
{
    return code == PELTON_ERR_REFUSED || code == PELTON_ERR_DNS || code == PELTON_ERR_TIMEOUT ||
           code == PELTON_ERR_NOT_FOUND || code == PELTON_ERR_INPUT;
}

/* A source that ends sooner ends such a reader, too: who wants a part has had one. */
static bool wants_part(const struct broker_stream *s)
{
    return s->source.open->max_frames || s->source.open->duration_us > 0;
}

static bool comes_back(const struct broker_stream *s)
{
    int code = s->end.code;
    if (s->probe || s->broker->closing || (code == PELTON_OK && wants_part(s)))
        return false;
    if (s->source.live)
        return s->replied || can_pass(code);
    /* a camera whose frames are of another size or kind now */
    return code == PELTON_ERR_CHANGED && s->replied && s->source.resumable;
}

/* Readers of a source are opened again together, as they share its connection. NULL: no other one
 * waits. */
static const struct stream_retry *retry_of_others(const struct broker_stream *s)
{
    const struct broker_stream *other = s->source.named ? s->broker->streams : NULL;
    while (other && (other->state != STREAM_WAITING || other->source.named != s->source.named))
        other = other->next;
    return other ? &other->retry : NULL;
}

static uint64_t retry_next(struct broker_stream *s, uint64_t now_ms)
{
    struct stream_retry *r = &s->retry;
    const struct stream_retry *others = retry_of_others(s);
    if (others && others->retry_ms > now_ms) {
        r->backoff = others->backoff;
        return others->retry_ms - now_ms;
    }
    if (now_ms - r->opened_ms >= BACKOFF_HEALTHY_MS)
        backoff_reset(&r->backoff);
    /* differs from source to source and from time to time */
    return backoff_next(&r->backoff, uv_hrtime() ^ (uint64_t)(uintptr_t)s);
}

static void stream_wait(struct broker_stream *s, uint64_t now_ms)
{
    const char *cause = s->end.code ? s->end.cause : "the source has ended", *name = stream_name(s);
    uint64_t wait = retry_next(s, now_ms);
    s->retry.retry_ms = now_ms + wait;
    stream_enter(s, STREAM_WAITING);
    s->delivery.discont = true;
    delivery_keep_drops(&s->delivery);
    bool named = strncmp(cause, name, strlen(name)) == 0;
    log_line(LOG_LEVEL_WARNING, "%s%s%s; again in %llu ms", named ? "" : name, named ? "" : ": ",
             cause, (unsigned long long)wait);
    stream_send_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, cause);
    named_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, cause);
}

void reconnect_over(struct broker *b, uint64_t now_ms)
{
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        if (s->state != STREAM_OVER)
            continue;
        if (comes_back(s)) {
            stream_wait(s, now_ms);
        } else {
            struct pelton_failure failure = s->end;
            stream_end(s, &failure);
        }
    }
}

void reconnect_due(struct broker *b, uint64_t now_ms)
{
    for (struct broker_stream *s = b->streams; s; s = s->next) {
        if (s->state == STREAM_WAITING && now_ms >= s->retry.retry_ms) {
            stream_enter(s, STREAM_QUEUED);
            named_state(s, PELTON__SOURCE_STATE__STATE__OPENING, "");
        }
    }
}
