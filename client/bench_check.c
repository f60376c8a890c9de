/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Checks frames of the delivered run, one in SAMPLE. Threads hash them (bench_hash.c) while the
 * reader takes the next ones. Two threads hash 1,500 frames of 1080p a second, at 1.3 ms each:
 * enough for 24,000 delivered frames. Large machines, whose cores are all busy, get more threads.
 *
 * The right hash of a frame comes from the verification, which gives it for a whole file. Otherwise
 * it comes from the frame's first appearance, in an earlier loop or another stream of the file.
 * Hashes are compared in the order in which the reader took the frames, so that the result does not
 * depend on thread timing.
 *
 * With --live the reader hashes by itself: a held frame would add to the delay.
 */
#include "client/bench_hash.h"
#include "client/input_name.h"
#include "client/ui.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLE = 16, THREADS = 2, CORES_A_THREAD = 16 };

/* The place for the hash of frame n; NULL: out of memory. */
static uint64_t *entry(struct bench_pass *pass, uint64_t n)
{
    if (n >= pass->room) {
        size_t room = pass->room ? pass->room : 256;
        while (room <= n)
            room *= 2;
        uint64_t *hash = realloc(pass->hash, room * sizeof(*hash));
        if (!hash)
            return NULL;
        memset(hash + pass->room, 0, (room - pass->room) * sizeof(*hash));
        pass->hash = hash;
        pass->room = room;
    }
    return &pass->hash[n];
}

void bench_pass_add(struct bench_pass *pass, uint64_t n, const struct pelton_frame *frame)
{
    uint64_t *known = entry(pass, n);
    if (known)
        *known = bench_hash_frame(frame);
}

/* Finds the frame's number in its pass over the file. False: it is no longer known. A loop begins
 * with PELTON_FRAME_DISCONT, but so does a stream after a restart of the worker. All passes have
 * the same length, which tells the two apart. */
static bool number_of(struct bench_pass *pass, struct bench_place *place,
                      const struct pelton_frame *frame, uint64_t *n)
{
    place->lost |= place->next > 0 && frame->sequence != place->sequence;
    place->sequence = frame->sequence + 1;
    if (place->next > 0 && frame->flags & PELTON_FRAME_DISCONT) {
        pass->frames = pass->frames ? pass->frames : place->next;
        place->lost |= place->next != pass->frames;
        place->next = 0;
        place->loop++;
    }
    *n = place->next++;
    return !place->lost && (pass->frames == 0 || *n < pass->frames);
}

/* Later frames must have the first hash. */
static int pass_compare(struct bench *b, const struct bench_job *job)
{
    uint64_t *known = entry(&b->passes[job->input], job->n);
    if (known && *known && *known != job->hash) {
        char name[512];
        return fail_with(b->f, X_MISMATCH, "pelton decode --verify tells which of them is right",
                         "%s: frame %llu of loop %u is not what it was %s",
                         input_shown_name(b->o->inputs[job->input], name, sizeof(name)),
                         (unsigned long long)job->n, job->loop + 1,
                         b->verified ? "when it was equal to FFmpeg's" : "the first time");
    }
    b->checked_frames += known && *known;
    if (known)
        *known = job->hash;
    return 0;
}

static unsigned hash_threads(void)
{
    long threads = sysconf(_SC_NPROCESSORS_ONLN) / CORES_A_THREAD;
    return threads > THREADS ? (unsigned)threads : THREADS;
}

int bench_check_begin(struct bench *b)
{
    b->hashers = bench_hashers_open(b->o->bench.live ? 0 : hash_threads());
    return b->hashers ? 0 : fail_with(b->f, X_OTHER, "close other programs", "out of memory");
}

static int compare_oldest(struct bench *b, const struct bench_job *job)
{
    int rc = pass_compare(b, job);
    bench_hashers_drop(b->hashers);
    return rc;
}

int bench_check_done(struct bench *b)
{
    const struct bench_job *job;
    int rc = 0;
    while (rc == 0 && (job = bench_hashers_oldest(b->hashers)) != NULL)
        rc = compare_oldest(b, job);
    return rc;
}

int bench_check_frame(struct bench *b, unsigned input, struct bench_place *place,
                      struct pelton_stream *stream, const struct pelton_frame *frame)
{
    uint64_t n;
    /* Each loop checks other frames where all hashes are known, and otherwise the frames of the
     * first loop. */
    if (!number_of(&b->passes[input], place, frame, &n) ||
        (n + (b->verified ? place->loop : 0)) % SAMPLE) {
        pelton_release(stream, frame);
        return 0;
    }
    int rc = bench_hashers_full(b->hashers) ? compare_oldest(b, bench_hashers_wait(b->hashers)) : 0;
    if (rc) {
        pelton_release(stream, frame);
        return rc;
    }
    struct bench_job job = {*frame, stream, place, input, place->loop, n, 0, false};
    bench_hashers_put(b->hashers, &job);
    return bench_check_done(b);
}

int bench_check_end(struct bench *b, int rc)
{
    const struct bench_job *job;
    while (b->hashers && (job = bench_hashers_wait(b->hashers)) != NULL) {
        rc = rc ? rc : pass_compare(b, job);
        bench_hashers_drop(b->hashers);
    }
    bench_hashers_close(b->hashers);
    b->hashers = NULL;
    return rc;
}
