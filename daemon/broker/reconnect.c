/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Network sources that the configuration names: when one of them ends, fails or is not there yet,
 * it is opened again, for as long as somebody reads it. What no time mends (a password, another
 * codec) ends it where it was never open.
 *
 * The happy path is Eos of the worker -> wait -> Open again, a new epoch, sequence numbers that go
 * on. Waits are 0.5 s, 1 s, ... 30 s, each shortened at random by up to a half; ten seconds of
 * health make the next one short. The failure modes are those of the source, told to the reader as
 * SourceState RESTARTING with the cause. Cameras do the same in the worker, which knows more about
 * them; one that has come back with frames of another size or kind is opened anew from here, for
 * every reader, named or not.
 */
#include "daemon/broker/broker.h"

#include "daemon/log.h"

#include <string.h>

enum { FIRST_WAIT_MS = 500, LAST_WAIT_MS = 30000, HEALTHY_MS = 10000 };

bool reconnect_address(const char *uri)
{
    static const char *const schemes[] = {"rtsp://", "rtsps://", "rtmp://", "rtmps://", "srt://",
                                          "udp://",  "rtp://",   "tcp://",  "tls://"};
    for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
        if (strncmp(uri, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

/* A number below `below` that differs from stream to stream and from time to time. */
static uint64_t jitter(const struct stream *s, uint64_t below)
{
    uint64_t x = uv_hrtime() ^ (uint64_t)(uintptr_t)s;
    x = (x ^ x >> 29) * 0x9e3779b97f4a7c15u;
    return (x >> 32) % below;
}

/* Whether a source that could not be opened the first time may be there later. */
static bool can_pass(int code)
{
    return code == PELTON_ERR_REFUSED || code == PELTON_ERR_DNS || code == PELTON_ERR_TIMEOUT ||
           code == PELTON_ERR_NOT_FOUND || code == PELTON_ERR_INPUT;
}

/* A camera whose frames are of another size or kind now. */
static bool has_changed(const struct stream *s, int code)
{
    return code == PELTON_ERR_CHANGED && s->replied && s->resumable;
}

bool reconnect_later(struct stream *s, const struct pelton_failure *failure)
{
    struct broker *b = s->broker;
    uint64_t now = uv_now(&b->loop);
    bool passes = s->live ? s->replied || can_pass(failure->code) : has_changed(s, failure->code);
    if (!passes || s->probe || b->closing)
        return false;
    if (s->wait_ms == 0 || now - s->opened_ms >= HEALTHY_MS)
        s->wait_ms = FIRST_WAIT_MS;
    s->retry_ms = now + s->wait_ms / 2 + jitter(s, s->wait_ms / 2 + 1);
    s->wait_ms = s->wait_ms * 2 > LAST_WAIT_MS ? LAST_WAIT_MS : s->wait_ms * 2;
    s->state = STREAM_WAITING;
    s->discont = true;
    stream_keep_drops(s);
    const char *cause = failure->code ? failure->cause : "the source has ended";
    const char *name = stream_name(s);
    bool named = strncmp(cause, name, strlen(name)) == 0;
    log_line(LOG_LEVEL_WARNING, "%s%s%s; again in %llu ms", named ? "" : name, named ? "" : ": ",
             cause, (unsigned long long)(s->retry_ms - now));
    stream_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, cause);
    named_state(s, PELTON__SOURCE_STATE__STATE__RESTARTING, cause);
    return true;
}

void reconnect_check(struct broker *b, uint64_t now_ms)
{
    bool any = false;
    for (struct stream *s = b->streams; s; s = s->next) {
        if (s->state == STREAM_WAITING && now_ms >= s->retry_ms) {
            s->state = STREAM_QUEUED;
            named_state(s, PELTON__SOURCE_STATE__STATE__OPENING, "");
            any = true;
        }
    }
    if (any)
        recovery_pump(b);
}
