/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One file on several devices: a stream for each part of it, and their frames in one order.
 *
 * The caller holds a stream that is not the daemon's; it has the others, each with pools, recovery
 * and end of its own. Every part numbers frames as the whole file does, so the next frame is the
 * one with the next number; after a gap (dropped frames) it is the least number there is, once
 * every part that goes on has shown one. The failure modes: a part that ends with a failure ends
 * the whole where its frames would come, and not before.
 */
#include "proto/libpelton_private.h"

#include <stdlib.h>
#include <sys/stat.h>

struct pelton_share {
    uint32_t n;
    uint64_t next; /* sequence */
    struct pelton_stream *part[PELTON_MAX_DEVICES];
};

bool pelton_share_wanted(const struct pelton_open_params *p)
{
    struct stat st;
    /* which picture is the first one, a part alone does not know */
    bool sized = p->n_blur == 0 || p->blur_width;
    return p->devices > 1 && sized && p->parts == 0 && !p->uri && p->policy == PELTON_LOSSLESS &&
           !p->fields && !p->realtime && p->views == PELTON_VIEW_BASE && p->on_error != 2 &&
           fstat(p->fd, &st) == 0 && S_ISREG(st.st_mode);
}

void pelton_share_free(struct pelton_share *share)
{
    free(share);
}

void pelton_share_close(struct pelton_share *share)
{
    for (uint32_t i = 0; i < share->n; i++)
        pelton_stream_close(share->part[i]);
    share->n = 0;
}

int pelton_share_start(struct pelton *conn, const struct pelton_open_params *params,
                       struct pelton_share **out)
{
    struct pelton_share *share = calloc(1, sizeof(*share));
    struct pelton_open_params p = *params;
    if (!share)
        return pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
    p.parts = p.devices < PELTON_MAX_DEVICES ? p.devices : PELTON_MAX_DEVICES;
    p.devices = 0;
    for (; share->n < p.parts; share->n++) {
        p.part = share->n;
        int rc = pelton_open_start(conn, &p, &share->part[share->n]);
        if (rc < 0) {
            pelton_share_close(share);
            pelton_share_free(share);
            return rc;
        }
    }
    *out = share;
    return PELTON_OK;
}

/* Every part has the same information. */
int pelton_share_wait(struct pelton_share *share, int timeout_ms, struct pelton_info *info)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    for (uint32_t i = 0; i < share->n; i++) {
        int64_t left = deadline == INT64_MAX ? -1 : deadline - pelton_now_ms();
        int rc = pelton_open_wait(share->part[i], left < 0 && deadline != INT64_MAX ? 0 : (int)left,
                                  info);
        if (rc < 0)
            return rc;
    }
    return PELTON_OK;
}

/* What the queues of the parts allow now. */
struct choice {
    /* part with the least sequence at its head; NULL: none has a frame */
    struct pelton_stream *least;
    uint32_t index; /* of least */
    bool waiting;   /* a part without a frame goes on */
    /* of a part that has ended, and of which nothing is left */
    const struct pelton_failure *failed;
};

static struct choice choose(const struct pelton_share *share)
{
    struct choice c = {0};
    for (uint32_t i = 0; i < share->n; i++) {
        struct pelton_stream *s = share->part[i];
        if (s->head && (!c.least || s->head->frame.sequence < c.least->head->frame.sequence)) {
            c.least = s;
            c.index = i;
        }
        c.waiting |= !s->head && !s->ended;
        c.failed = !s->head && s->ended && s->end.code && !c.failed ? &s->end : c.failed;
    }
    return c;
}

/* Whether each part but this has ended and given all; the last frame of this is then the last of
 * all. Unknown as long as one of them waits. */
static bool others_are_over(const struct pelton_share *share, uint32_t index, bool *known)
{
    bool over = true;
    *known = true;
    for (uint32_t i = 0; i < share->n; i++) {
        const struct pelton_stream *s = share->part[i];
        over &= i == index || (!s->head && s->ended);
        *known &= i == index || s->head || s->ended;
    }
    return over;
}

/* Its turn has come, and its flags are known. */
static bool in_turn(const struct pelton_share *share, const struct choice *c)
{
    bool known;
    if (!c->least || c->least->head->frame.sequence != share->next)
        return false;
    others_are_over(share, c->index, &known);
    return known || !(c->least->head->frame.flags & PELTON_FRAME_LAST);
}

/* The frame, under the epoch that the caller knows it by. */
static void take(struct pelton_share *share, const struct choice *c, struct pelton_frame *out)
{
    pelton_stream_take(c->least, out);
    share->next = out->sequence + 1;
    out->epoch = out->epoch * share->n + c->index;
    bool known;
    if (!others_are_over(share, c->index, &known))
        out->flags &= ~(uint32_t)PELTON_FRAME_LAST; /* of its part only */
}

int pelton_share_next(struct pelton *conn, struct pelton_share *share, int timeout_ms,
                      struct pelton_frame *out)
{
    int64_t deadline = pelton_deadline(timeout_ms);
    for (;;) {
        struct choice c = choose(share);
        if (in_turn(share, &c) || (c.least && !c.waiting && !c.failed)) {
            take(share, &c, out);
            return 1;
        }
        if (!c.waiting)
            return c.failed ? pelton_fail_with(conn, c.failed) : 0;
        int rc = pelton_pump(conn, deadline);
        if (rc == 0)
            return pelton_fail(conn, PELTON_ERR_TIMEOUT, "", "no frame in time");
        if (rc < 0) {
            /* what came before the end is still given, as far as it is in turn */
            c = choose(share);
            if (!in_turn(share, &c))
                return rc;
        }
    }
}

void pelton_share_release(struct pelton_share *share, const struct pelton_frame *frame)
{
    struct pelton_frame own = *frame;
    own.epoch = frame->epoch / share->n;
    pelton_release(share->part[frame->epoch % share->n], &own);
}

/* Every part reads the whole file: what came in is counted once. */
int pelton_share_stats(struct pelton_share *share, int timeout_ms, struct pelton_stats *out)
{
    struct pelton_stats sum = {0};
    for (uint32_t i = 0; i < share->n; i++) {
        struct pelton_stats s;
        int rc = pelton_stats(share->part[i], timeout_ms, &s);
        if (rc < 0)
            return rc;
        if (i > 0)
            s.access_units = s.bytes_in = 0;
        pelton_stats_add(&sum, &s);
    }
    *out = sum;
    return PELTON_OK;
}
