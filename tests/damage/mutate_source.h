/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Streams to be damaged, their frames, and what a seed and a number make of them.
 */
#ifndef PELTON_TESTS_MUTATE_SOURCE_H
#define PELTON_TESTS_MUTATE_SOURCE_H

#include "tests/damage/judge.h"
#include "tests/damage/mutation.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_DAMAGES = 3 }; /* of one stream */

/* A frame in output order. */
struct shown {
    uint64_t hash;         /* of its size and samples; of a single field that of its rows */
    uint64_t fields[2];    /* of its size and the rows of one parity */
    int64_t tag, last_tag; /* access units of its first picture and of the last one */
    bool marked;           /* as damaged */
    const char *breach;    /* of the standard, decode_judged alone; NULL: none */
    bool alone;            /* it is of units before the frame, which refers to none */
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

struct sources {
    struct source **at;
    unsigned count;
};

/* Streams that are of no use are told and left out. macroblocks: of one half. False: none is left.
 */
bool sources_read(struct sources *s, char **paths, int n, unsigned macroblocks, unsigned threads);
void sources_free(struct sources *s);

/* A damaged stream. */
struct damaged {
    uint64_t number;
    enum mutation kind;
    const struct source *source;
    const struct source *others[MOST_DAMAGES]; /* units of theirs may be in it */
    unsigned other_count;
    struct units units;
    int64_t first; /* the first access unit that is damaged */
};

/* Mutation `number` of a seed. Fills d also where it fails, for lack of memory. */
bool damaged_make(struct damaged *d, uint64_t seed, uint64_t number, const struct sources *sources);
/* One line: FAILED, the seed and number that make it again, and what is wrong. */
void damaged_failed(const struct damaged *d, uint64_t seed, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
/* As a byte stream. */
bool damaged_write(const struct damaged *d, FILE *file);

/* NAL units of a byte stream, behind those in u. False: no memory. */
bool units_split(struct units *u, const uint8_t *data, size_t size);
/* Decodes with the slow reference. */
void decode_units(const struct units *u, bool tagged, unsigned views, struct decoded *out);
/* The same for the first view, with each frame's breach. allowed: breaches that do not count, or
 * NULL; seen: all that there are, or NULL. False: no memory. */
bool decode_judged(const struct units *u, bool tagged, const struct breaches *allowed,
                   struct breaches *seen, struct decoded *out);
void decoded_free(struct decoded *d);

#endif
