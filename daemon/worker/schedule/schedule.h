/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedule of a worker: who decodes, what goes next, how much of it.
 *
 * It is data and rules only. It starts no thread, calls no device and reads no clock: callers pass
 * the time. It wakes nobody either. It notes in `wakes` who has work now, and the engine signals
 * them when it drops its lock (engine/engine.h).
 *
 * Thread: any, with the engine's lock.
 */
#ifndef PELTON_SCHEDULE_H
#define PELTON_SCHEDULE_H

#include "daemon/worker/schedule/setting.h"
#include "daemon/worker/schedule/window.h"

/* Pictures with slices that nobody has taken, in the order of their turns. */
struct entropy_queue {
    struct picture *first, *last;
    uint64_t turn_taken; /* of the last one that was begun */
    uint32_t count;
    uint32_t coders; /* of these the GPU may not take */
    uint64_t bytes;  /* of their slices */
    uint64_t weight; /* of the largest slice of each that the GPU can decode */
};

struct split_rate {
    double seconds, bytes; /* of late; 0: unknown */
};

/* Who entropy-decodes: what is known about the speed of both sides (split.h). */
struct split {
    bool present;        /* the GPU takes part, or did until it failed */
    bool all;            /* the GPU does all that it can */
    uint32_t depth;      /* pictures that the GPU has in work at most; 0: it does not work */
    uint32_t batch;      /* pictures of a batch at most; 0: it does not work */
    uint32_t motion_mbs; /* it derives motion of pictures of so many macroblocks; 0: of none */
    struct split_rate cpu_rate;  /* of one coder, motion included */
    struct split_rate gpu_rate;  /* of a batch, until it is decoded */
    struct split_rate gpu_fetch; /* and from then on, a batch counting as one byte */
    double cpu_spent;            /* seconds of the coders */
    double margin;               /* the GPU may take so many times as long; 0: unknown */
    int64_t chosen_ns;           /* when the last batch was chosen */
    uint64_t kept;               /* bytes of host memory of the GPU's pictures */
    bool full;                   /* they left no room for the last batch */
    bool timely;                 /* the last batch was chosen by who needs it when */
    uint32_t works;              /* batches in work */
};

/* LIVE pictures, for whom threads stay awake. */
struct live_watch {
    uint32_t pictures; /* not submitted yet */
    int64_t last_ns;   /* when the last one came; 0: none did */
    int64_t due_ns;    /* when the next one is expected; 0: unknown */
    uint32_t coders;   /* that the last one could use */
    uint32_t windows;  /* that are live */
};

/* Who has work since the lock was taken. */
struct wakes {
    uint32_t coders;        /* so many threads at most */
    bool gpu_coder;         /* the thread of entropy and motion on the GPU */
    bool device;            /* the thread of reconstruction */
    struct window *sources; /* windows whose sources may go on */
};

struct schedule {
    struct schedule_setting setting;
    struct entropy_queue entropy;
    struct picture *motion_cpu; /* DECODED pictures without waits: heaps, lowest turn on top */
    struct picture *motion_gpu;
    uint32_t motion_gpu_count; /* pictures in the second one */
    struct picture *follow;    /* of one slice, whose motion follows its decoding */
    struct split split;
    struct live_watch live;
    struct window *windows;
    /* Those with pictures or outputs: others cost nothing. tail NULL: there are none. */
    struct window *at_work, **at_work_tail;
    uint32_t at_work_count;
    uint64_t rested_at;                /* serial when it was last seen who is not */
    struct window *open, **open_tail;  /* those with READY pictures that wait for no other */
    struct window *due, **due_tail;    /* those that may have a frame to deliver */
    struct window *noted, *noted_last; /* the device's thread has to look at them, in this order */
    uint32_t noted_count;
    uint32_t ready;    /* pictures of all windows */
    uint32_t blocked;  /* of these */
    uint32_t idle;     /* coders that have nothing to do */
    uint32_t encoders; /* streams whose frames the device encodes */
    struct slots *stores;
    bool store_waits; /* a window waits for slots */
    uint64_t serial;  /* of the last batch */
    uint32_t turn;    /* rotates the window that goes first */
    struct wakes wakes;
};

static inline void wake_coders(struct schedule *s, uint32_t most)
{
    s->wakes.coders = most > UINT32_MAX - s->wakes.coders ? UINT32_MAX : s->wakes.coders + most;
}

static inline void wake_device(struct schedule *s)
{
    s->wakes.device = true;
}

/* The next batch looks whether it can deliver a frame of it. */
static inline void window_due(struct window *w)
{
    struct schedule *s = w->schedule;
    if (w->due.listed)
        return;
    w->due = (struct window_due){true, NULL};
    s->due_tail = s->due ? s->due_tail : &s->due;
    *s->due_tail = w;
    s->due_tail = &w->due.next;
}

/* *at is a place in schedule.due: its window leaves that list. */
static inline void window_not_due(struct schedule *s, struct window **at)
{
    struct window *w = *at;
    *at = w->due.next;
    if (!*at)
        s->due_tail = at;
    w->due.listed = false;
}

/* Its numbers of READY and blocked pictures have changed. */
static inline void window_counted(struct window *w)
{
    struct schedule *s = w->schedule;
    bool open = w->ready > w->blocked;
    if (open == w->open.listed)
        return;
    if (open) {
        s->open_tail = s->open ? s->open_tail : &s->open;
        w->open = (struct window_open){true, NULL, s->open_tail};
        *s->open_tail = w;
        s->open_tail = &w->open.next;
        return;
    }
    *w->open.at = w->open.next;
    if (w->open.next)
        w->open.next->open.at = w->open.at;
    else
        s->open_tail = w->open.at;
    w->open.listed = false;
}

/* The device's thread will look at it in its next round. */
static inline void note_window(struct window *w)
{
    struct schedule *s = w->schedule;
    if (w->noted)
        return;
    w->noted = true;
    w->next_noted = NULL;
    *(s->noted ? &s->noted_last->next_noted : &s->noted) = w;
    s->noted_last = w;
    s->noted_count++;
}

/* Something of the window changed that the device's thread has to act on. */
static inline void wake_window(struct window *w)
{
    note_window(w);
    wake_device(w->schedule);
}

static inline void wake_gpu_coder(struct schedule *s)
{
    s->wakes.gpu_coder = true;
}

static inline void wake_source(struct window *w)
{
    if (w->woken)
        return;
    w->woken = true;
    w->next_woken = w->schedule->wakes.sources;
    w->schedule->wakes.sources = w;
}

#endif
