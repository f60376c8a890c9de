/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See unit_log.h. Each unit refers to the next one. So who holds a unit holds all that follow, and
 * a unit goes with its last holder: the unit before it, the log, a reader that comes to it next.
 *
 * The failure modes are no memory, and a reader that is too slow. Nobody can decode after a gap, so
 * it goes on at a key picture.
 */
#include "daemon/worker/source/unit_log.h"

#include "daemon/worker/source/unit_sets.h"

#include <libavutil/avutil.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT_OVERHEAD = 512 /* bytes beside those of the packet */ };

struct logged_unit {
    struct logged_unit *next; /* a reference */
    unsigned refs;
    AVPacket *packet;
    AVPacket *complete; /* behind its parameter sets, which it lacks; NULL: packet has all */
    uint64_t number, begin /* bytes of all units before it */;
    int64_t received_ns;
};

/* ---- units ---- */

static struct logged_unit *unit_ref(struct logged_unit *u)
{
    if (u)
        u->refs++;
    return u;
}

static uint64_t unit_size(const struct logged_unit *u)
{
    return UNIT_OVERHEAD + (uint64_t)u->packet->size +
           (uint64_t)(u->complete ? u->complete->size : 0);
}

static void unit_free(struct logged_unit *u)
{
    av_packet_free(&u->packet);
    av_packet_free(&u->complete);
    free(u);
}

static void unit_unref(struct unit_log *log, struct logged_unit *u)
{
    while (u && --u->refs == 0) {
        struct logged_unit *next = u->next;
        log->held -= unit_size(u);
        unit_free(u);
        u = next;
    }
}

static void unit_replace(struct unit_log *log, struct logged_unit **at, struct logged_unit *by)
{
    struct logged_unit *before = *at;
    *at = unit_ref(by);
    unit_unref(log, before);
}

static AVPacket *packet_behind(const uint8_t *sets, size_t size, const AVPacket *packet)
{
    AVPacket *p =
        size < UNIT_SETS_BYTES && packet->size <= INT32_MAX / 2 ? av_packet_alloc() : NULL;
    if (!p || av_new_packet(p, (int)size + packet->size) < 0 ||
        av_packet_copy_props(p, packet) < 0) {
        av_packet_free(&p);
        return NULL;
    }
    memcpy(p->data, sets, size);
    memcpy(p->data + size, packet->data, (size_t)packet->size);
    return p;
}

/* ---- the log ---- */

void unit_log_clear(struct unit_log *log)
{
    unit_replace(log, &log->start, NULL);
    unit_replace(log, &log->last, NULL);
    free(log->sets);
    *log = (struct unit_log){0};
}

/* A length-prefixed stream has them in its description. */
static void log_keep_sets(struct unit_log *log, const struct unit_sets *found)
{
    size_t size;
    if (!found->n_sps || log->nal_length || unit_sets_known(found, log->sets, log->sets_size))
        return;
    uint8_t *sets = unit_sets_write(found, 0, &size);
    if (!sets)
        return;
    free(log->sets);
    log->sets = sets;
    log->sets_size = size;
}

bool unit_log_look(struct unit_log *log, const AVPacket *packet)
{
    struct unit_sets found;
    unit_sets_find(&found, packet->data, (size_t)packet->size, log->nal_length);
    log_keep_sets(log, &found);
    return found.idr || (packet->flags & AV_PKT_FLAG_KEY) || (log->key_by_sets && found.n_sps);
}

/* NULL: no memory. */
static struct logged_unit *unit_create(const struct unit_log *log, AVPacket *packet, bool key)
{
    struct unit_sets found = {0};
    struct logged_unit *u = calloc(1, sizeof(*u));
    if (!u)
        return NULL;
    if (key)
        unit_sets_find(&found, packet->data, (size_t)packet->size, log->nal_length);
    bool lacks = key && log->sets && !found.n_sps;
    u->packet = av_packet_alloc();
    u->complete = lacks ? packet_behind(log->sets, log->sets_size, packet) : NULL;
    if (!u->packet || (lacks && !u->complete) || av_packet_make_refcounted(packet) < 0) {
        unit_free(u);
        return NULL;
    }
    av_packet_move_ref(u->packet, packet);
    return u;
}

bool unit_log_append(struct unit_log *log, AVPacket *packet, bool key, int64_t received_ns)
{
    struct logged_unit *u = unit_create(log, packet, key);
    if (!u)
        return false;
    u->number = log->numbers++;
    u->begin = log->bytes;
    u->received_ns = received_ns;
    log->bytes += unit_size(u);
    log->held += unit_size(u);
    if (log->last)
        log->last->next = unit_ref(u);
    unit_replace(log, &log->last, u);
    if (key)
        unit_replace(log, &log->start, u);
    log->had_key |= key;
    return true;
}

void unit_log_skip(struct unit_log *log)
{
    log->numbers++;
}

void unit_log_give_up(struct unit_log *log)
{
    unit_replace(log, &log->start, NULL);
}

void unit_log_break(struct unit_log *log)
{
    unit_log_give_up(log);
    log->had_key = false;
}

uint64_t unit_log_kept(const struct unit_log *log)
{
    return log->start ? log->bytes - log->start->begin : 0;
}

/* ---- readers ---- */

void unit_cursor_join(struct unit_log *log, struct unit_cursor *c)
{
    *c = (struct unit_cursor){.at = unit_ref(log->start),
                              .enters = log->start != NULL,
                              .awaits_key = log->had_key && !log->start,
                              .edge = log->numbers,
                              .edge_pts = log->last ? log->last->packet->pts : AV_NOPTS_VALUE};
}

void unit_cursor_leave(struct unit_log *log, struct unit_cursor *c)
{
    unit_replace(log, &c->at, NULL);
}

void unit_cursor_follow(struct unit_log *log, struct unit_cursor *c, bool key)
{
    if (c->at)
        return;
    if (c->awaits_key && !key) {
        c->missed++;
        return;
    }
    c->enters |= c->awaits_key;
    c->awaits_key = false;
    c->at = unit_ref(log->last);
}

uint64_t unit_cursor_units(const struct unit_log *log, const struct unit_cursor *c)
{
    return c->at ? log->numbers - c->at->number : 0;
}

uint64_t unit_cursor_bytes(const struct unit_log *log, const struct unit_cursor *c)
{
    return c->at ? log->bytes - c->at->begin : 0;
}

bool unit_cursor_jump(struct unit_log *log, struct unit_cursor *c)
{
    if (!c->at || !log->start || log->start->number <= c->at->number)
        return false;
    c->missed += log->start->number - c->at->number;
    c->enters = true;
    unit_replace(log, &c->at, log->start);
    return true;
}

void unit_cursor_drop(struct unit_log *log, struct unit_cursor *c)
{
    c->missed += unit_cursor_units(log, c);
    c->awaits_key = true;
    unit_replace(log, &c->at, NULL);
}

bool unit_cursor_take(struct unit_log *log, struct unit_cursor *c, AVPacket *out,
                      struct unit_taken *taken)
{
    const struct logged_unit *u = c->at;
    if (!u)
        return false;
    if (av_packet_ref(out, c->enters && u->complete ? u->complete : u->packet) < 0) {
        unit_cursor_drop(log, c);
        return false;
    }
    taken->received_ns = u->received_ns;
    taken->behind = u->number + 1 < c->edge;
    taken->older = taken->behind && (out->pts == AV_NOPTS_VALUE || c->edge_pts == AV_NOPTS_VALUE ||
                                     out->pts < c->edge_pts);
    c->enters = false;
    unit_replace(log, &c->at, u->next);
    return true;
}

int64_t unit_cursor_begin(const struct unit_cursor *c, bool newest)
{
    if (!c->at)
        return AV_NOPTS_VALUE;
    return newest ? c->edge_pts : c->at->packet->pts;
}
