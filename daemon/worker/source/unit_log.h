/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The access units of a live source in their order, for any number of readers at different places.
 * Units live as long as a reader has yet to take them, or the log keeps them: from the last key
 * picture on, so that a new reader can begin at once.
 *
 * Thread: the owner's lock guards all of it.
 */
#ifndef PELTON_UNIT_LOG_H
#define PELTON_UNIT_LOG_H

#include <libavcodec/packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct logged_unit;

struct unit_log {
    struct logged_unit *start; /* the last key picture, kept with all that follows; NULL: none */
    struct logged_unit *last;  /* NULL: none yet */
    uint64_t numbers;          /* units so far, those that were skipped too */
    uint64_t bytes;            /* of all units so far */
    uint64_t held;             /* bytes of those that live */
    bool had_key;              /* since it began, or since its last break */
    bool key_by_sets;          /* a unit with a sequence parameter set is a key picture */
    uint8_t *sets;             /* the last ones in Annex B units; NULL: none */
    size_t sets_size;
    unsigned nal_length; /* as unit_sets.h */
};

/* Where a reader is. All zero: nowhere. */
struct unit_cursor {
    struct logged_unit *at; /* the next one; NULL: the one that comes */
    bool awaits_key;        /* the next one is a key picture */
    bool enters;            /* decoding begins at `at` */
    uint64_t edge;          /* units before this number were there when it joined, */
    int64_t edge_pts;       /* the last one with this time */
    uint64_t missed;        /* units that it has not seen since it joined */
};

struct unit_taken {
    int64_t received_ns;
    bool behind; /* newer units were there when the reader joined, */
    bool older;  /* and are shown after it */
};

void unit_log_clear(struct unit_log *log); /* after the last cursor has left */
/* Whether the unit is a key picture; its parameter sets are kept. */
bool unit_log_look(struct unit_log *log, const AVPacket *packet);
/* The packet moves into the log. False: no memory, and nothing has changed. */
bool unit_log_append(struct unit_log *log, AVPacket *packet, bool key, int64_t received_ns);
/* A unit that nobody gets. */
void unit_log_skip(struct unit_log *log);
/* New readers begin at the next key picture. */
void unit_log_give_up(struct unit_log *log);
/* The source begins anew: no unit before its next key picture is appended. */
void unit_log_break(struct unit_log *log);
/* From the last key picture on; without a log: bytes that are kept. */
uint64_t unit_log_kept(const struct unit_log *log);

void unit_cursor_join(struct unit_log *log, struct unit_cursor *c);
void unit_cursor_leave(struct unit_log *log, struct unit_cursor *c);
/* After a unit was appended; key: it is one. */
void unit_cursor_follow(struct unit_log *log, struct unit_cursor *c, bool key);
/* How far it is behind. */
uint64_t unit_cursor_units(const struct unit_log *log, const struct unit_cursor *c);
uint64_t unit_cursor_bytes(const struct unit_log *log, const struct unit_cursor *c);
/* On to the last key picture, where that lies ahead. False: it does not. */
bool unit_cursor_jump(struct unit_log *log, struct unit_cursor *c);
/* Everything up to the next key picture is missed. */
void unit_cursor_drop(struct unit_log *log, struct unit_cursor *c);
/* False: there is none. Without memory the unit is missed, with all up to the next key picture. */
bool unit_cursor_take(struct unit_log *log, struct unit_cursor *c, AVPacket *out,
                      struct unit_taken *taken);
/* The time of the first unit that is to be shown, of those there are; AV_NOPTS_VALUE: not known. */
int64_t unit_cursor_begin(const struct unit_cursor *c, bool newest);

#endif
