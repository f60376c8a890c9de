/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of the delivered run itself are checked, one in SAMPLE: the reader hashes them while the next ones are on their way. A
 * frame of 1080p takes 1 ms (0.3 ns a byte), so 0.06 ms on average, where 0.4 ms pass between frames at 2,500 a second. What a
 * frame has to be is known from the verification, which gives it for all of a file, or from the first time that it came: from an
 * earlier loop or another stream of the same file.
 */
#include "client/bench.h"
#include "client/ui.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 16, LANES = 4 };

static uint64_t rotate(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

/* Every bit counts: each step can be undone, so that two rows that differ in one word never give the same. */
static void hash_row(uint64_t h[LANES], const uint8_t *row, size_t size)
{
    uint64_t word[LANES] = {0};
    for (; size >= sizeof word; row += sizeof word, size -= sizeof word) {
        memcpy(word, row, sizeof word);
        for (int i = 0; i < LANES; i++) {
            h[i] = rotate((h[i] ^ word[i]) * 0x9e3779b97f4a7c15u, 29);
        }
    }
    memset(word, 0, sizeof word);
    memcpy(word, row, size);
    for (int i = 0; i < LANES; i++) {
        h[i] = rotate((h[i] ^ word[i]) * 0xbf58476d1ce4e5b9u, 31);
    }
}

/* Never 0. */
static uint64_t hash_frame(const struct pelton_frame *frame)
{
    uint64_t h[LANES] = {frame->width, frame->height, frame->planes, 1};
    for (uint32_t p = 0; p < frame->planes; p++) {
        for (uint32_t y = 0; y < frame->plane_height[p]; y++) {
            hash_row(h, frame->data[p] + (size_t)y * frame->stride[p], frame->plane_width[p]);
        }
    }
    uint64_t sum = 0;
    for (int i = 0; i < LANES; i++) {
        sum = rotate((sum ^ h[i]) * 0x94d049bb133111ebu, 27);
    }
    return sum ? sum : 1;
}

/* Where the hash of frame n stands; NULL without memory. */
static uint64_t *entry(struct bench_pass *pass, uint64_t n)
{
    if (n >= pass->room) {
        size_t room = pass->room ? pass->room : 256;
        while (room <= n) {
            room *= 2;
        }
        uint64_t *hash = realloc(pass->hash, room * sizeof *hash);
        if (!hash) {
            return NULL;
        }
        memset(hash + pass->room, 0, (room - pass->room) * sizeof *hash);
        pass->hash = hash;
        pass->room = room;
    }
    return &pass->hash[n];
}

void bench_pass_add(struct bench_pass *pass, uint64_t n, const struct pelton_frame *frame)
{
    uint64_t *known = entry(pass, n);
    if (known) {
        *known = hash_frame(frame);
    }
}

/* The frame's number in its pass over the file, or false: not known any more. A loop begins with PELTON_FRAME_DISCONT, but so does what
 * comes after a worker was restarted: all passes have the same length. */
static bool number_of(struct bench_pass *pass, struct bench_place *place, const struct pelton_frame *frame, uint64_t *n)
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

int bench_check_frame(struct bench *b, unsigned input, struct bench_place *place, const struct pelton_frame *frame)
{
    struct bench_pass *pass = &b->passes[input];
    uint64_t n;
    /* Other frames in each loop where all are known, else those that were seen before. */
    if (!number_of(pass, place, frame, &n) || (n + (b->verified ? place->loop : 0)) % SAMPLE) {
        return 0;
    }
    uint64_t *known = entry(pass, n), got = hash_frame(frame);
    if (known && *known && *known != got) {
        return fail_with(b->f, X_MISMATCH, "pelton decode --verify tells which of them is right",
                         "%s: frame %llu of loop %u is not what it was %s", b->o->inputs[input], (unsigned long long)n, place->loop + 1,
                         b->verified ? "when it was equal to FFmpeg's" : "the first time");
    }
    b->checked_frames += known && *known;
    if (known) {
        *known = got;
    }
    return 0;
}
