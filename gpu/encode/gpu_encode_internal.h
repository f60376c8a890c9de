/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of gpu_encode share: a batch in flight, the buffers, recording.
 */
#ifndef PELTON_GPU_ENCODE_INTERNAL_H
#define PELTON_GPU_ENCODE_INTERNAL_H

#include "gpu/encode/gpu_encode.h"

#include "gpu/encode/encode_table.h"
#include "gpu/encode/encode_take.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"

#include <pthread.h>

/* Timestamps after those of passes */
enum { ENCODE_STAMP_UP, ENCODE_STAMP_DOWN, ENCODE_COPIES };
/* Resource of barriers beside the bindings: memory that the host reads */
#define ENCODE_RESULTS (1u << ENC_BINDINGS)

/* Pictures whose sources one submission loads */
struct encode_pictures {
    uint32_t count;
    struct enc_picture *pictures;
    const struct gpu_encode_source **sources;
    struct enc_analysis **analysis; /* of those that are looked at */
};

/* Of a batch in flight */
struct encode_batch {
    struct gpu_encode *encode;
    bool busy;
    struct gpu_queue *queue;
    struct gpu_work *work;
    struct gpu_buffer own[ENC_BINDINGS]; /* but those that are shared */
    VkBuffer device[ENC_BINDINGS];
    VkDescriptorSet set;
    struct gpu_buffer up, totals;           /* of the host: small inputs; numbers of coefficients */
    struct gpu_point records, references;   /* the ends of both submissions */
    struct encode_pictures now, ahead;      /* ahead: those that follow */
    struct gpu_encode_decision **decisions; /* of now; an analysis has none */
    uint32_t *copied;                       /* of now: coefficient blocks that are brought */
    uint32_t ahead_turn;                    /* their place in up alternates: one may be read yet */
    struct gpu_encode_spent spent;
    int64_t submitted_ns, lone_ns; /* lone_ns: that one picture takes, of late */
};

struct gpu_encode {
    struct gpu *g;
    struct gpu_encode_params params;
    const struct gpu_layout *layout;
    VkPipeline pipelines[GPU_ENCODE_PASSES];
    struct encode_take take;
    struct gpu_buffer shared[ENC_BINDINGS];
    uint64_t sizes[ENC_BINDINGS];
    struct gpu_buffer down; /* of the host: of gpu_encode_read */
    VkDescriptorPool descriptors;
    struct encode_batch batches[GPU_ENCODE_FLIGHT];
    struct encode_batch *newest; /* the batch that was submitted last */
    uint32_t *coeff_blocks;      /* of each stream: the most of late, a sixteenth less each time */
    struct gpu_point *stream_done; /* the end of each stream's last batch */
    struct gpu_point filled;       /* the quantiser's tables are on the device */
    /* of recording, batches[].busy, newest, coeff_blocks, stream_done, filled */
    pthread_mutex_t lock;
    pthread_mutex_t times_lock;
    double seconds[GPU_ENCODE_PASSES];
};

static inline uint64_t encode_mb_count(const struct gpu_encode_params *p)
{
    return (uint64_t)p->mb_width * p->mb_height;
}

/* Bytes of a set of planes */
static inline uint64_t encode_set_size(const struct gpu_encode_params *p)
{
    uint64_t w = 16ull * p->mb_width, h = 16ull * p->mb_height;
    return ENC_SET_SIZE(w, h);
}

/* Bytes of a picture in TICKETS */
static inline uint64_t encode_tickets_size(const struct gpu_encode_params *p)
{
    return 4ull * ENC_TICKETS((uint64_t)p->mb_width, (uint64_t)p->mb_height);
}

/* Picture i of a batch belongs to it. */
static inline uint32_t encode_stream(const struct encode_batch *b, uint32_t i)
{
    return b->now.pictures[i].kept / 2;
}

/* Slice data are to come instead of records. */
static inline bool encode_data_wanted(const struct encode_batch *b, uint32_t i)
{
    return b->now.pictures[i].flags & (ENC_CAVLC | ENC_BINS);
}

/* ---- gpu_encode.c ---- */

/* A submission after the last one of the batch. With the lock, as all that records */
int encode_begin(struct encode_batch *b, struct gpu_submission **s);

/* ---- gpu_encode_wait.c ---- */

/* Without the lock */
int encode_wait(struct encode_batch *b, const struct gpu_point *point);
void encode_release(struct encode_batch *b); /* its buffers may serve another batch */

/* ---- gpu_encode_record.c: with the lock ---- */

void encode_record_copy(struct gpu_encode *e, struct gpu_submission *s, VkBuffer from,
                        uint64_t from_at, VkBuffer to, uint64_t to_at, uint64_t size);
/* The passes of a group that the pictures need */
void encode_record_group(const struct encode_batch *b, struct gpu_submission *s,
                         const struct encode_pictures *of, enum encode_group group);
/* Bytes of up: the input of a batch, then the pictures that follow, twice */
uint64_t encode_up_size(const struct gpu_encode *e);
/* Small input of the host to a binding; *at: where up has room */
void encode_record_input(const struct encode_batch *b, struct gpu_submission *s, uint32_t binding,
                         uint64_t to, const void *from, uint64_t size, uint64_t *at);
/* Sources that are not loaded. GPU_ERR_INVALID: a frame lies in no arena of the host */
int encode_record_sources(const struct encode_batch *b, struct gpu_submission *s,
                          const struct encode_pictures *of);
/* Passes and results of an analysis. False: a result lies in no arena, as below. */
bool encode_record_analysis(const struct encode_batch *b, struct gpu_submission *s,
                            const struct encode_pictures *of);
/* Loads and looks at the pictures that follow, once all else is recorded */
int encode_record_ahead(struct encode_batch *b, struct gpu_submission *s);

/* Of picture i, to memory of the host: macroblocks and motion; coefficient blocks from `from` on,
 * up to `to`; the reconstruction */
bool encode_record_mbs(const struct encode_batch *b, struct gpu_submission *s, uint32_t i);
bool encode_record_coeffs(const struct encode_batch *b, struct gpu_submission *s, uint32_t i,
                          uint32_t from, uint32_t to);
bool encode_record_frame(const struct encode_batch *b, struct gpu_submission *s, uint32_t i);

#endif
