/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The life of a picture between step 1 and its samples: stages, and the edges between them.
 *
 * A picture moves only by picture_move, and only along an edge of the table in picture.c. Each
 * edge states what must hold before it. Debug and sanitized builds (PELTON_CHECKS) and the model
 * test stop at a move that the table forbids; other builds compare the stage alone.
 *
 * QUEUED     nobody works on it; coders or the GPU may take it
 * ENTROPY    slices are being decoded, by coders or by the GPU
 * DECODED    all slices were tried; its motion waits for that of other pictures
 * MOTION     motion vectors are being derived and records checked, by a coder or by the GPU
 * READY      it may be reconstructed
 * SUBMITTED  it is in a batch on the device
 * DONE       its samples exist, or nobody wants them
 *
 * Thread: any, with the engine's lock.
 */
#ifndef PELTON_PICTURE_H
#define PELTON_PICTURE_H

#include "codec/h264.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum picture_stage {
    PICTURE_QUEUED,
    PICTURE_ENTROPY,
    PICTURE_DECODED,
    PICTURE_MOTION,
    PICTURE_READY,
    PICTURE_SUBMITTED,
    PICTURE_DONE,
    PICTURE_STAGES
};

enum picture_by { BY_NOBODY, BY_CPU, BY_GPU };

/* Where an array is that reconstruction will read. */
enum picture_lives { LIVES_NOWHERE, LIVES_HOST, LIVES_DEVICE, LIVES_BOTH };

/* WHOLE: reconstructed from its records. COPY: samples of another picture, or grey. */
enum picture_outcome { OUTCOME_WHOLE, OUTCOME_COPY };

/* AHEAD: decoded when its turn comes. LIVE: decoded as it arrives; somebody waits for it. */
enum picture_pace { PACE_AHEAD, PACE_LIVE };

/* What the picture may still use. A bit is set once, and cleared for good. */
enum picture_can {
    CAN_ENTROPY_GPU = 1, /* the GPU may decode its slices */
    CAN_MOTION_GPU = 2,  /* the GPU may derive its motion */
    CAN_PER_SLICE = 4    /* a coder may derive motion slice by slice */
};

/* Points of time, the same as in enum pelton_trace_point. */
enum picture_trace {
    TRACE_PARSED,
    TRACE_ENTROPY_BEGIN,
    TRACE_ENTROPY_END,
    TRACE_MOTION_BEGIN,
    TRACE_MOTION_END,
    PICTURE_TRACES
};

/* The edges, in the order of the table. */
enum picture_edge_name {
    EDGE_TAKE_CPU,        /* a coder begins with its slices */
    EDGE_TAKE_GPU,        /* a batch of the GPU has its slices */
    EDGE_DECODED_CPU,     /* all slices were tried */
    EDGE_DECODED_GPU,     /* the GPU has decoded all of them */
    EDGE_ENTROPY_REFUSED, /* the GPU has not; the CPU decodes it */
    EDGE_MOTION_CPU,      /* a coder begins with its motion */
    EDGE_MOTION_GPU,      /* a batch of the GPU has it */
    EDGE_BATCH_FULL,      /* the batch had no room after all */
    EDGE_MOTION_INTACT,   /* the GPU refused it; what coders decoded is still there */
    EDGE_MOTION_REFUSED,  /* the GPU refused it; its arrays are gone */
    EDGE_IMPORT_REFUSED,  /* a coder refused what the GPU had decoded; its arrays are gone */
    EDGE_READY_CPU,       /* a coder derived its motion */
    EDGE_READY_GPU,       /* the GPU derived its motion */
    EDGE_EMPTY,           /* it has no slices */
    EDGE_DROP_QUEUED,     /* its stream was aborted: nobody wants it any more */
    EDGE_DROP_ENTROPY,
    EDGE_DROP_DECODED,
    EDGE_DROP_MOTION,
    EDGE_SUBMIT,   /* it is in a batch */
    EDGE_COMPLETE, /* the batch is done */
    EDGE_DISCARD,  /* its stream was aborted: nobody submits it */
    PICTURE_EDGES
};

struct picture;
struct slots;
struct window;

/* "waiter needs the motion of the picture whose list this is in" */
struct picture_wait {
    struct picture *waiter;
    struct picture_wait *next;
};

/* Shared by the pictures of one frame: one picture, two fields, or the colour planes of these. */
struct frame_state {
    uint8_t pictures;              /* how many there are, */
    uint8_t submitted, done;       /* and how many are past that stage */
    bool corrupt;                  /* as far as submitted */
    bool filled;                   /* a single field stands for the other one's rows, too */
    uint64_t batch;                /* the last one that writes the slot */
    int32_t poc[2];                /* of the fields */
    int64_t trace[PICTURE_TRACES]; /* ns, of the last picture that got there */
};

struct picture_entropy {
    struct picture *next;   /* in entropy_queue */
    uint64_t bytes;         /* of its slices */
    uint64_t largest_slice; /* split_slice_weight; only if the GPU may decode it */
    uint64_t turn;          /* its place in the queue */
    uint32_t slices_left;   /* not decoded yet */
    uint32_t slice_next;    /* the first slice that nobody has taken */
    struct picture *prev;   /* in entropy_queue */
    uint64_t kept;          /* bytes of it in split.kept */
    uint32_t slice_chunk;   /* slices that a coder takes at a time */
    bool coders;            /* in the queue: the GPU may not take it */
    enum picture_by by;
    uint32_t *slice_order; /* with shuffle_seed: a permutation; else NULL */
};

struct picture_motion {
    enum picture_by by; /* who is to derive it, from DECODED on */
    uint32_t waits;     /* pictures whose motion must come first */
    uint32_t wait_count;
    struct picture_wait wait[33]; /* 32 colocated pictures, and the source of concealment */
    struct picture_wait *waiters;
    struct picture *left, *right; /* in a heap of queues.h */
    uint32_t rank;
    struct picture *next_follow;
    uint32_t followed;    /* macroblocks that are derived and checked, */
    struct rec_seen seen; /* and what these have */
    void *device_records; /* until the GPU has derived motion from them; else NULL */
    bool host; /* the GPU's records of it come to host memory, too; known once it is taken */
    uint32_t coeff_blocks;
};

/* READY pictures that wait for the submission of one that they read, and hold. */
struct picture_block {
    struct picture *by;    /* it waits for this one; NULL: for none */
    struct picture *next;  /* in the list of that one */
    struct picture *first; /* those that wait for this one */
};

/* Rows of macroblocks that are reconstructed while a coder decodes later ones (rows.h). */
struct picture_rows {
    uint32_t step;        /* so many at a time; 0: the picture is not for that */
    uint32_t ready;       /* the first so many are decoded and checked, */
    struct rec_seen seen; /* and what these have; */
    uint32_t submitted;   /* and so many are on the device */
    bool refused;         /* the device does not take them after all */
};

struct picture_slot {
    struct slots *slots; /* NULL: none yet */
    uint32_t seat;       /* window_slots.seat when it took its slot */
    uint32_t era;        /* the picture's own (slots_era) */
    uint64_t batch;      /* serial of the batch that holds it; 0: none */
    int32_t number;      /* of slots; the frame's */
};

/* Walks over long queues read the first cache line of each picture, and no other. Those over
 * windows read the second one, too. So a picture is allocated at a multiple of PICTURE_ALIGN. */
struct picture {
    uint8_t stage;           /* enum picture_stage */
    uint8_t outcome;         /* enum picture_outcome */
    uint8_t pace;            /* enum picture_pace */
    uint8_t can;             /* enum picture_can */
    uint8_t refusals;        /* not 0: the CPU decodes it at once, as others wait for it */
    uint8_t records, coeffs; /* enum picture_lives */
    bool blocked;            /* READY, and one that it reads is not submitted (picture_block) */
    struct window *window;
    struct picture *next; /* in its window, in decoding order */
    struct picture_entropy entropy;
    struct h264_picture *pic; /* the window's reference, until the picture is retired */
    struct picture *owner;    /* first picture of its frame, which has the slot; maybe itself */
    struct picture_slot slot;
    struct picture_block block;
    struct frame_state frame; /* the owner's */
    struct picture_motion motion;
    struct picture_rows rows;
    uint64_t need; /* bytes of its arrays; counted while a coder has begun it */
};
#define PICTURE_ALIGN 64
_Static_assert(offsetof(struct picture, entropy.slice_next) < PICTURE_ALIGN &&
                   offsetof(struct picture, slot.slots) < 2 * PICTURE_ALIGN,
               "the lines that walks read");

/* The condition for an edge holds. */
bool picture_may(const struct picture *p, enum picture_edge_name edge);
/* Along an edge; its counters in the window and the schedule change, too. */
void picture_move(struct picture *p, enum picture_edge_name edge);
/* Its arrays take, or will take, so many bytes. */
void picture_set_need(struct picture *p, uint64_t bytes);
/* READY, it waits for the submission of `by`, which it reads. picture_move ends that. */
void picture_block(struct picture *p, struct picture *by);
/* It cannot be reconstructed: it becomes a copy. At any stage before DONE. */
static inline void picture_spoil(struct picture *p)
{
    p->outcome = OUTCOME_COPY;
}
/* The picture reached that point now. */
void picture_trace(struct picture *p, enum picture_trace point, int64_t now_ns);
/* Every picture of the frame is submitted. */
static inline bool frame_submitted(const struct picture *owner)
{
    return owner->frame.submitted == owner->frame.pictures;
}

/* The other field never came. Known once the frame is output. */
static inline bool frame_is_single_field(const struct picture *owner)
{
    return owner->pic->structure != REC_FRAME && !owner->pic->paired;
}

/* The table, as data for its test. */
struct picture_edge {
    const char *name;
    enum picture_stage from, to;
    unsigned needs;          /* bits of picture_needs, all of which must hold */
    enum picture_by entropy; /* becomes entropy.by, unless BY_NOBODY */
    enum picture_by motion;  /* becomes motion.by, unless BY_NOBODY */
    uint8_t loses;           /* bits of can */
    bool copy;               /* the outcome becomes COPY */
    bool frees;              /* its arrays are gone */
};
#define PICTURE_NEEDS 17
#ifdef PELTON_MODEL
#define PICTURE_TABLE
extern uint64_t picture_moves[PICTURE_EDGES]; /* along each edge */
#else
#define PICTURE_TABLE const
#endif
extern PICTURE_TABLE struct picture_edge picture_edges[PICTURE_EDGES];
extern const char *const picture_stage_names[PICTURE_STAGES];

#endif
