/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams to be damaged, and their frames.
 */
#ifndef PELTON_TESTS_MUTATE_SOURCE_H
#define PELTON_TESTS_MUTATE_SOURCE_H

#include "tests/damage/mutation.h"

/* A frame in output order. */
struct shown {
    uint64_t hash;         /* of its size and samples */
    int64_t tag, last_tag; /* access units of its first picture and of the last one */
    bool marked;           /* as damaged */
};

struct decoded {
    struct shown *at;
    unsigned count, capacity;
    double cpu_s;
    bool failed; /* our own mistake: records that are refused, no slot, no memory */
};

/* A stream from an IDR picture on, cut to few macroblocks. All of it comes twice, so the second
 * half shows how decoding goes on after damage to the first one. */
struct source {
    const char *name;
    uint8_t *bytes;
    struct units units;  /* open: the first half */
    int64_t units_total; /* access units of the first half */
    bool tagged;         /* tags tell access units apart, else nothing does */
    struct decoded clean;
};

/* NULL: none of use, *why says why. macroblocks: of one half. */
struct source *source_read(const char *path, unsigned macroblocks, const char **why);
void source_free(struct source *s);

/* Decodes with the slow reference. */
void decode_units(const struct units *u, bool tagged, unsigned views, struct decoded *out);
void decoded_free(struct decoded *d);

#endif
