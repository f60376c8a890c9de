/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_copier.h. A picture is copied by bands of rows of macroblocks. The threads are made
 * for the first picture that is worth them. Without memory for them the caller copies all.
 */
#include "gpu/encode/encode_copier.h"

#include "encode/row_threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    THREADS = 4,    /* with the caller */
    BANDS = 8,      /* of a picture */
    WORTH = 1 << 20 /* bytes that are worth to wake threads */
};

struct encode_copier {
    pthread_mutex_t lock; /* held while a stream has the threads */
    struct row_threads *threads;
    bool made;
};

struct encode_copier *encode_copier_create(void)
{
    struct encode_copier *c = calloc(1, sizeof(*c));
    if (c)
        pthread_mutex_init(&c->lock, NULL);
    return c;
}

void encode_copier_free(struct encode_copier *c)
{
    if (!c)
        return;
    row_threads_free(c->threads);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

struct copy {
    const struct encoding *encoding;
    const struct encoding_limits *limits;
    const struct decider_source *from;
    uint8_t *to;
    uint32_t bands;
};

/* Rows of a component that are copied */
struct copy_rows {
    const uint8_t *from;
    size_t stride;
    uint8_t *to;
    uint32_t width, height, whole; /* whole: width in whole macroblocks */
};

static void rows_copy(const struct copy_rows *r, uint32_t begin, uint32_t end)
{
    uint32_t there = end < r->height ? end : r->height, y = begin;
    if (r->width == r->whole && r->stride == r->whole && begin < there) {
        memcpy(r->to + (size_t)begin * r->whole, r->from + begin * r->stride,
               (size_t)(there - begin) * r->whole);
        y = there;
    }
    for (; y < end; y++) {
        const uint8_t *row = r->from + (y < r->height ? y : r->height - 1) * r->stride;
        uint8_t *out = r->to + (size_t)y * r->whole;
        memcpy(out, row, r->width);
        memset(out + r->width, row[r->width - 1], r->whole - r->width);
    }
}

static void band_copy(void *ctx, uint32_t index)
{
    const struct copy *k = ctx;
    const struct encoding *e = k->encoding;
    uint32_t rows = k->limits->mb_height, begin = index * rows / k->bands,
             end = (index + 1) * rows / k->bands;
    size_t luma = (size_t)256 * k->limits->mb_width * rows;
    for (uint32_t c = 0; c < (e->chroma_format_idc ? 3u : 1u); c++) {
        uint32_t half = c > 0, size = 16u >> half;
        struct copy_rows r = {.from = k->from->plane[c],
                              .stride = k->from->stride[c],
                              .to = k->to + (c ? luma + (c - 1) * luma / 4 : 0),
                              .width = (e->width + half) >> half,
                              .height = (e->height + half) >> half,
                              .whole = k->limits->mb_width * size};
        rows_copy(&r, begin * size, end * size);
    }
}

/* With the lock. NULL: there are none */
static struct row_threads *copier_threads(struct encode_copier *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!c->made && cores > 0)
        c->threads = row_threads_create(cores < THREADS ? (unsigned)cores : THREADS);
    c->made = true;
    return c->threads;
}

void encode_copier_run(struct encode_copier *c, const struct encoding *e,
                       const struct encoding_limits *limits, const struct decider_source *from,
                       uint8_t *to)
{
    struct copy k = {e, limits, from, to, BANDS};
    bool worth = (size_t)384 * limits->mb_width * limits->mb_height >= WORTH;
    if (!worth || pthread_mutex_trylock(&c->lock) != 0) {
        k.bands = 1;
        band_copy(&k, 0);
        return;
    }
    row_threads_run(copier_threads(c), band_copy, &k, BANDS);
    pthread_mutex_unlock(&c->lock);
}
