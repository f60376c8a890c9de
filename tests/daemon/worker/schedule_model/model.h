/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedule's model: what its files share. model_main.c says what the model does.
 */
#ifndef PELTON_TESTS_MODEL_H
#define PELTON_TESTS_MODEL_H

#include "daemon/worker/schedule/batch.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/slots.h"
#include "daemon/worker/schedule/split.h"
#include "daemon/worker/schedule/xorshift.h"

#define WINDOWS  2
#define PICTURES 12 /* alive at a time */
#define TASKS    3  /* coders */
#define BATCHES  3
#define WIDTH    4
#define MBS      16

/* What the test knows of a picture by its own acts. */
struct book {
    bool alive, retired, output; /* output: one holds it */
    uint32_t readers;            /* pictures not DONE that refer to it */
    enum picture_stage stage;
    enum picture_by entropy, motion;
    bool may_entropy, may_motion;
    bool records, on_host, coeffs, raw;
    uint32_t left;
    bool placed, copy;
};

struct model {
    struct schedule s;
    struct h264_sps sps;
    struct window windows[WINDOWS];
    struct picture pictures[PICTURES];
    struct h264_picture pics[PICTURES];
    struct h264_slice slices[PICTURES][3];
    struct book books[PICTURES];
    struct output outputs[PICTURES];
    struct slots slots;
    int32_t slot_numbers[64];
    struct coder_work tasks[TASKS];
    struct picture *gpu_entropy[PICTURES], *gpu_motion[PICTURES];
    uint32_t gpu_entropy_count, gpu_motion_count;
    struct batch batches[BATCHES]; /* in flight, oldest first */
    struct batch_entry entries[BATCHES][WIDTH];
    uint32_t in_flight, admitted[WINDOWS];
    uint64_t random;
    uint64_t sequence;
    uint32_t id;
    int64_t now;
    bool gpu_failed;
};

extern struct model m;
extern uint64_t events;

void model_fail(const char *text, const char *file, int line);

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            model_fail(#condition, __FILE__, __LINE__);                                            \
    } while (0)

static inline uint32_t model_pick(uint32_t n)
{
    return (uint32_t)((next_random(&m.random) >> 11) % n);
}

static inline bool model_chance(uint32_t percent)
{
    return model_pick(100) < percent;
}

static inline uint32_t index_of(const struct picture *p)
{
    return (uint32_t)(p - m.pictures);
}

static inline struct book *book_of(const struct picture *p)
{
    return &m.books[index_of(p)];
}

/* model_books.c: the edges once more, and what always holds. */

void model_check(void);
/* The table's answer and the books' about one edge, in a state that the schedule may never show. */
void model_probe_edge(const struct picture *p);

/* model_pictures.c: the life of a picture. */

void model_moved(struct picture *p, enum picture_stage stage);
/* Its arrays are gone and it waits again, but not for the GPU. */
void model_requeued(struct picture *p);
void model_dropped(struct picture *p);
/* Coders may have dropped pictures of aborted windows on the way. */
void model_notice_drops(void);
void model_forget_if_free(struct picture *p);
/* It is DONE: the pictures that it read are held no longer. */
void model_done(struct picture *p);
void model_admit(uint32_t window);

/* model_decode.c: coders and the GPU. True: something happened. */

bool model_coder_event(void);
bool model_entropy_event(void);
bool model_motion_event(void);

/* model_device.c: batches, outputs, slots. True: something happened. */

bool model_submit(void);
bool model_complete(void);
bool model_tend(struct window *w);
void model_attach(struct window *w);
bool model_device_event(void);

#endif
