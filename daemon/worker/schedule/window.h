/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The look-ahead window of a stream: its pictures between step 1 and delivery, in decoding order,
 * and its outputs, in output order. Each session has one.
 *
 * Thread: any, with the engine's lock.
 */
#ifndef PELTON_WINDOW_H
#define PELTON_WINDOW_H

#include "daemon/worker/schedule/picture.h"

struct schedule;

enum output_state { OUTPUT_QUEUED, OUTPUT_SUBMITTED, OUTPUT_COMPLETE };

/* A frame, or a field of it, that leaves the decoder. */
struct output {
    struct output *next;
    struct h264_picture *pic; /* a reference; its picture owns the frame */
    uint8_t structure;        /* REC_FRAME, or the field that leaves */
    enum output_state state;
    bool drop; /* not announced */
};

struct slots_key {
    uint32_t mb_width, mb_height;
    uint8_t chroma_format_idc, bit_depth[2];
    bool interlaced, separate_planes;
};

/* A stream's share of the frame slots. */
struct window_slots {
    struct slots *of;         /* NULL: not attached */
    uint32_t base;            /* it needs so many for progress in decoding order, */
    uint32_t held;            /* and it has these */
    uint32_t owed;            /* free ones that it is sure of: part of slots.owed_to_all */
    uint32_t want;            /* pictures ahead that it can use */
    uint32_t seat;            /* counts the stores that it was attached to */
    uint32_t era;             /* of its last picture (slots_era), whose sequence has */
    struct slots_key era_key; /* this key */
    uint32_t era_base;        /* and at most this slots_base */
    int64_t wait_ns;          /* since when it waits for slots; 0: it does not */
    int64_t short_ns;         /* since when it waits for memory and nothing was submitted; 0: not */
    uint64_t short_at;        /* schedule.serial then */
    bool asked;               /* the broker has heard of that */
    uint64_t pictures;        /* submitted to the present store */
    bool more;                /* it may have more for the batch that is collected */
};

/* Pictures of a stream whose decoding has begun. */
struct window_arrays {
    uint32_t begun; /* by a coder, and not DONE */
    uint32_t most;  /* as many may be begun while the GPU decodes, too */
    uint64_t bytes; /* of host memory that the begun ones hold */
};

/* Whether it is one of those that share memory and batches. */
struct window_work {
    bool listed;         /* in schedule.at_work */
    struct window *next; /* there */
    uint64_t last;       /* schedule.serial when it last had pictures or outputs */
};

/* READY pictures that wait for no other. */
struct window_open {
    bool listed; /* in schedule.open */
    struct window *next, **at;
};

struct window_due {
    bool listed; /* in schedule.due */
    struct window *next;
};

struct window {
    struct schedule *schedule;
    struct window *next; /* in schedule.windows */
    bool live;           /* access units come at their own pace */
    bool realtime;       /* access units are taken at the pace of their time stamps */
    bool both_views;     /* two views share its slots */
    bool has_pool;       /* its frames go into memory, and that exists */
    bool abort;          /* nobody wants its pictures any more */
    bool source_waits;   /* its source waits for room */
    bool source_ended;
    bool starves; /* no frame slot can ever become free for it */

    struct picture *first, **tail; /* decoding order; retired from the front */
    struct picture *waiting;       /* the oldest that is not submitted; NULL: none */
    struct picture *last_queued;   /* its last one in the entropy queue; NULL: unknown */
    uint32_t busy;                 /* pictures that are not DONE */
    uint32_t ready;                /* pictures that are READY, */
    uint32_t blocked;              /* and so many of them wait for one that they read */
    uint32_t frames_ahead;         /* frames submitted before `waiting`, though later */
    uint32_t queued;               /* in the entropy queue, not begun, nobody waits for them */
    uint32_t pictures;             /* that exist */
    uint64_t created;              /* that ever did */
    uint64_t frames;               /* that it will have at most; 0: unknown */
    uint64_t turn;                 /* of the last one */
    uint64_t picture_bytes;        /* host memory of a picture, by its last ones; 0: none came */
    int64_t live_ns;               /* when the last LIVE picture came */
    uint64_t read_until;           /* `created` up to which records are likely read (WINDOW_READ) */
    struct window_arrays arrays;
    struct window_slots slots;
    uint32_t few_blocks; /* times that a picture had too few on the GPU (split_note_full) */
    struct output *outputs, **outputs_tail;

    struct window_work work;
    struct window_open open;
    struct window_due due;
    bool woken; /* in schedule.wakes.sources */
    struct window *next_woken;
    bool noted; /* in schedule.noted */
    struct window *next_noted;
};

/* What the codec knows of a new picture, and what the schedule needs of that. */
struct picture_facts {
    bool entropy_gpu, motion_gpu; /* the GPU can do that */
    bool reads_records;           /* of other pictures, where a map does not do */
    uint64_t largest_slice;       /* split_slice_weight, if entropy_gpu */
    uint32_t colocated_count;
    struct h264_picture *colocated[32]; /* whose motion must come first */
};

void window_open(struct window *w, struct schedule *s); /* joins the schedule, first in its list */
void window_close(struct window *w);                    /* leaves it; without pictures */
/* It has pictures or outputs: it joins schedule.at_work. Those that have had none for a while leave
 * it. */
void window_works(struct window *w);
/* Its access units come at their own pace, or not. */
void window_set_live(struct window *w, bool live);
void windows_rest(struct schedule *s);
/* The one that was noted first is noted no more; NULL: none was. */
struct window *window_take_noted(struct schedule *s);
/* A new picture: LIVE if the stream is live and in time. */
enum picture_pace window_pace(const struct window *w, uint32_t slices);
/* The window takes the reference of p->pic. */
void window_add(struct window *w, struct picture *p, const struct picture_facts *facts,
                int64_t now_ns);
/* Its last holder is gone: so is its frame slot. */
void window_forget(struct picture *p);
/* The source may read on. */
bool window_has_room(const struct window *w);
/* Nobody wants its pictures any more; everybody is told. */
void window_abort(struct window *w);
/* Pictures that can be discarded after abort are DONE; whether there were any. */
bool window_discard(struct window *w);
/* DONE pictures at the front leave the window: the next one's reference; NULL: none. */
struct h264_picture *window_retire(struct window *w);
void window_output(struct window *w, struct output *out); /* the next one in output order */
/* Outputs that nobody has submitted leave after abort: the next one; NULL: none. */
struct output *window_drop_output(struct window *w);
/* Bounds that count pictures are for 1920x1088: so many times as many smaller ones take no more. */
uint32_t window_small_times(const struct schedule *s, uint64_t bytes, uint64_t hd_bytes);
/* Pictures of each of so many windows that may be begun ahead of reconstruction. */
uint32_t window_arrays_for(const struct schedule *s, uint64_t picture_bytes, uint32_t windows);

/* Host memory of a picture's arrays with so many bytes for levels. */
uint64_t window_need(const struct h264_picture *pic, uint64_t level_bytes);
/* Coders pack the levels of such a picture (codec/abi/records.h). */
bool window_packs(const struct picture *p);
/* Words of packed levels that the GPU has room for; 0: it does not pack them. A batch has room for
 * those of all pictures whose macroblocks and bytes it has room for. */
uint32_t window_packed_words(const struct picture *p);
/* The arrays of a begun picture have other sizes now. */
void window_grew(struct picture *p);
/* The begun picture has no records in host memory any more. */
void window_dropped_records(struct picture *p);
/* A picture reads, or may read, records of others in host memory: so may those to come. */
void window_read_records(struct window *w);
/* Coders of the window are likely to read records of pictures whose motion the GPU derives. */
bool window_reads_records(const struct window *w);
/* Such a picture's records come to host memory at once. Else they are restored, if that is needed
 * after all. */
bool window_wants_records(const struct picture *p);
/* Another picture's arrays would go beyond the window's share of the budget. */
bool window_is_full(const struct window *w);

/* Host memory of a picture in a window, an upper estimate. */
uint64_t window_picture_bytes(const struct h264_sps *sps, uint32_t mb_count);

#endif
