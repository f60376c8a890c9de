/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One file on several devices: one stream for each device, and their frames in one order.
 *
 * The caller holds one handle; this file holds the streams. Each stream decodes some of the
 * stretches between IDR pictures, and has its own pools, recovery and end. Every stream numbers
 * frames as the whole file does, so the next frame is the one with the next number. After a gap
 * (dropped frames) it is the frame with the least number, once every stream that goes on has shown
 * one.
 *
 * The daemon opens the first stream at once, and it decodes all stretches until others join. The
 * others wait until their devices are open, and nobody waits for them: not the reply, nor a frame,
 * nor the end, because the file's last frame is marked. Daemons before 0.3 give every n-th stretch
 * to each stream from the start, and mark the last frame of each.
 *
 * The failure modes are:
 * - A stream ends with a failure. The whole ends where its frames would come, and not earlier.
 * - A stream other than the first is refused: its device cannot be opened, or the file is short. It
 * has no stretches then, and the others go on.
 */
#include "proto/libpelton_share.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { SHARE_LEAST_FRAMES = 256 /* that are worth it */ };

struct pelton_share {
    uint32_t n;
    uint64_t next; /* sequence */
    bool over;     /* the file's last frame was given */
    struct pelton_stream *part[PELTON_MAX_DEVICES];
};

bool pelton_share_wanted(const struct pelton_open_params *p)
{
    struct stat st;
    /* rectangles without a size mean the file's first picture, which only one stream decodes */
    bool sized = p->n_blur == 0 || p->blur_width;
    return p->devices > 1 && sized && (!p->max_frames || p->max_frames > SHARE_LEAST_FRAMES) &&
           p->output.batch < 2 && p->bench.transport != PELTON_DEVICE && !p->uri &&
           p->policy == PELTON_LOSSLESS && !p->fields && !p->n_wanted && !p->n_wanted_us &&
           !p->realtime && p->views == PELTON_VIEW_BASE && p->on_error != PELTON_ON_ERROR_FAIL &&
           fstat(p->fd, &st) == 0 && S_ISREG(st.st_mode);
}

void pelton_share_close(struct pelton_share *share)
{
    for (uint32_t i = 0; i < share->n; i++)
        pelton_stream_end(share->part[i]);
    share->n = 0;
}

int pelton_share_start(struct pelton *conn, const struct pelton_open_params *params,
                       struct pelton_share **out)
{
    struct pelton_share *share = calloc(1, sizeof(*share));
    struct wire_stretch stretch = {
        .count = params->devices < PELTON_MAX_DEVICES ? params->devices : PELTON_MAX_DEVICES,
        .share = conn->last_object};
    if (!share)
        return pelton_fail(conn, PELTON_ERR_NOMEM, "", "out of memory");
    for (; share->n < stretch.count; share->n++) {
        stretch.index = share->n;
        int rc = pelton_stream_start(conn, params, stretch, &share->part[share->n]);
        if (rc < 0) {
            pelton_share_close(share);
            free(share);
            return rc;
        }
    }
    *out = share;
    return PELTON_OK;
}

static bool share_joint(const struct pelton_share *share)
{
    return share->part[0]->joint;
}

/* Every stream has the same information. */
int pelton_share_wait(struct pelton_share *share, int64_t deadline, const struct pelton_info **info)
{
    int rc = pelton_stream_wait(share->part[0], deadline, info);
    for (uint32_t i = 1; rc >= 0 && i < share->n && !share_joint(share); i++)
        rc = pelton_stream_wait(share->part[i], deadline, info);
    return rc < 0 ? rc : PELTON_OK;
}

/* It has no stretch and gets none. */
static bool share_without(const struct pelton_share *share, const struct pelton_stream *s)
{
    return s->refused && s != share->part[0] && share_joint(share);
}

/* The next step that the queues of the streams allow now. */
struct share_choice {
    /* stream with the least sequence at its head; NULL: none has a frame */
    struct pelton_stream *least;
    uint32_t index; /* of least */
    bool waiting;   /* a stream without a frame goes on */
    /* of a stream that has ended and has no frame left */
    const struct pelton_failure *failed;
};

static struct share_choice share_choose(const struct pelton_share *share)
{
    struct share_choice c = {0};
    for (uint32_t i = 0; i < share->n; i++) {
        struct pelton_stream *s = share->part[i];
        if (share_without(share, s))
            continue;
        if (s->head && (!c.least || s->head->frame.sequence < c.least->head->frame.sequence)) {
            c.least = s;
            c.index = i;
        }
        c.waiting |= !s->head && !s->ended;
        c.failed = !s->head && s->ended && s->end.code && !c.failed ? &s->end : c.failed;
    }
    return c;
}

/* True: all other streams have ended and given their frames. The last frame of stream `index` is
 * then the last of all. *known is false while one of them waits. */
static bool share_others_over(const struct pelton_share *share, uint32_t index, bool *known)
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

/* The least frame is the next one, and its flags are known. */
static bool share_in_turn(const struct pelton_share *share, const struct share_choice *c)
{
    bool known;
    if (!c->least || c->least->head->frame.sequence != share->next)
        return false;
    share_others_over(share, c->index, &known);
    return known || share_joint(share) || !(c->least->head->frame.flags & PELTON_FRAME_LAST);
}

/* Gives the frame to the caller. Its epoch names the stream, too. */
static void share_take(struct pelton_share *share, const struct share_choice *c,
                       struct pelton_frame *out)
{
    pelton_stream_take(c->least, out);
    share->next = out->sequence + 1;
    out->epoch = out->epoch * share->n + c->index;
    bool known;
    if (!share_joint(share) && !share_others_over(share, c->index, &known))
        out->flags &= ~(uint32_t)PELTON_FRAME_LAST; /* of its stream only */
    share->over = share_joint(share) && out->flags & PELTON_FRAME_LAST;
}

int pelton_share_next(struct pelton *conn, struct pelton_share *share, int64_t deadline,
                      struct pelton_frame *out)
{
    while (!share->over) {
        struct share_choice c = share_choose(share);
        if (share_in_turn(share, &c) || (c.least && !c.waiting && !c.failed)) {
            share_take(share, &c, out);
            return 1;
        }
        if (!c.waiting)
            return c.failed ? pelton_fail_with(conn, c.failed) : 0;
        int rc = pelton_pump(conn, deadline);
        if (rc == 0)
            return pelton_fail(conn, PELTON_ERR_TIMEOUT, "", "no frame in time");
        if (rc < 0) {
            /* frames that came before the end and are next in order are still given */
            c = share_choose(share);
            if (!share_in_turn(share, &c))
                return rc;
        }
    }
    return 0;
}

void pelton_share_release(struct pelton_share *share, const struct pelton_frame *frame)
{
    struct pelton_frame own = *frame;
    own.epoch = frame->epoch / share->n;
    pelton_stream_release(share->part[frame->epoch % share->n], &own);
}

/* Every stream reads the whole file: its input is counted once. */
int pelton_share_stats(struct pelton_share *share, int64_t deadline, struct pelton_stats *out)
{
    struct pelton_stats sum = {0};
    for (uint32_t i = 0; i < share->n; i++) {
        struct pelton_stats s;
        if (i > 0 && share_joint(share) && !share->part[i]->replied)
            continue; /* its worker may still open the device */
        int rc = pelton_stream_stats(share->part[i], deadline, &s);
        if (rc < 0)
            return rc;
        if (i > 0)
            s.access_units = s.bytes_in = 0;
        pelton_stats_add(&sum, &s);
    }
    *out = sum;
    return PELTON_OK;
}
