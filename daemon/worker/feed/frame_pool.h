/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pool of one epoch: a sealed memfd of slots, one frame each, and a thread that makes it.
 */
#ifndef PELTON_FRAME_POOL_H
#define PELTON_FRAME_POOL_H

#include "daemon/worker/session.h"
#include "gpu/h264/recon.h"

enum pool_slot_state { POOL_FREE, POOL_WRITING, POOL_HELD };

struct pool {
    struct session_format format;
    void *memory; /* NULL for PELTON_NONE */
    struct gpu_host *host;
    /* The frame store writes this format. It is luma alone where a 4:0:0 stream leaves with chroma
     * planes. */
    enum recon_format delivered;
    bool announced, retired; /* on_format is queued; a newer epoch exists */
    uint32_t busy;           /* slots that are not FREE */
    uint32_t events;         /* queued events that name the pool */
    struct {
        enum pool_slot_state state;
        uint32_t generation;
    } *slots;
    uint32_t cursor; /* slots are handed out in turn */
    struct pool *next;
};

/* A pool takes a tenth of a second to allocate and pin. So a thread of its own makes it, and the
 * GPU thread goes on. Any thread may call. */
int pool_create(struct gpu *gpu, const struct session_format *format, enum recon_format delivered,
                bool memory, struct pool **out);
void pool_free(struct pool *pool);                 /* without the lock; NULL is allowed */
bool pool_take(struct pool *pool, uint32_t *slot); /* FREE -> WRITING, new generation */
void pool_put(struct pool *pool, uint32_t slot);   /* -> FREE */
/* Planes of one frame; fills pix_fmt, planes, offsets, strides, sizes and slot_size. */
struct pixels;
void pool_layout(const struct pixels *pixels, uint32_t width, uint32_t height,
                 struct session_format *format);

/* The thread that makes the next pool of a session. There is one at a time. GPU thread, with the
 * lock. */
struct pool_maker {
    uv_thread_t thread;
    struct session_format format;
    enum recon_format delivered;
    bool running, done; /* the thread exists; it has nothing more to do than to end */
    int error;
    struct pool *pool;
};
bool pool_maker_start(struct session *s, const struct session_format *format,
                      enum recon_format delivered);
/* after done; drops the lock to join the thread */
struct pool *pool_maker_result(struct session *s, int *error);

#endif
