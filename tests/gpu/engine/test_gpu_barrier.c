/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Barriers follow from declared accesses. Every hazard is found, and ordered accesses do not wait
 * again. No device needed.
 */
#include "gpu/engine/barrier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define T (1 << BARRIER_TRANSFER)
#define C (1 << BARRIER_COMPUTE)
#define I (1 << BARRIER_INDIRECT)
#define H (1 << BARRIER_HOST)
#define A 1u
#define B 2u

static struct barrier_need step(struct barrier_state *s, enum barrier_stage stage, uint32_t reads,
                                uint32_t writes)
{
    struct barrier_need need = {0};
    barrier_declare(s, stage, reads, writes, &need);
    if (need.from)
        barrier_applied(s, &need);
    barrier_accessed(s, stage, reads, writes);
    return need;
}

static void expect(struct barrier_need need, int from, int flush, int to)
{
    assert_int_equal(need.from, from);
    assert_int_equal(need.flush, flush);
    assert_int_equal(need.to, to);
}

static void read_after_write(void **state)
{
    struct barrier_state s = {0};
    expect(step(&s, BARRIER_COMPUTE, 0, A), 0, 0, 0);
    expect(step(&s, BARRIER_COMPUTE, A, B), C, C, C);
    expect(step(&s, BARRIER_COMPUTE, A, 0), 0, 0, 0);
    expect(step(&s, BARRIER_TRANSFER, A, 0), C, C, T);
}

static void write_after_read(void **state)
{
    struct barrier_state s = {0};
    expect(step(&s, BARRIER_COMPUTE, A, 0), 0, 0, 0);
    expect(step(&s, BARRIER_TRANSFER, A, 0), 0, 0, 0);
    expect(step(&s, BARRIER_COMPUTE, 0, A), T | C, 0, C);
    expect(step(&s, BARRIER_COMPUTE, A, 0), C, C, C);
}

static void write_after_write(void **state)
{
    struct barrier_state s = {0};
    step(&s, BARRIER_TRANSFER, 0, A);
    expect(step(&s, BARRIER_COMPUTE, A, A), T, T, C);
    expect(step(&s, BARRIER_COMPUTE, A, A), C, C, C);
    expect(step(&s, BARRIER_TRANSFER, 0, A), C, C, T);
}

/* An execution dependency alone makes no write visible. */
static void execution_is_not_memory(void **state)
{
    struct barrier_state s = {0};
    step(&s, BARRIER_COMPUTE, B, A);
    expect(step(&s, BARRIER_COMPUTE, 0, B), C, 0, C);
    expect(step(&s, BARRIER_COMPUTE, A, 0), C, C, C);
}

static void one_barrier_covers_all_resources(void **state)
{
    struct barrier_state s = {0};
    step(&s, BARRIER_COMPUTE, 0, A | B);
    expect(step(&s, BARRIER_COMPUTE, A, 0), C, C, C);
    expect(step(&s, BARRIER_COMPUTE, B, 0), 0, 0, 0);
}

static void indirect_is_a_stage_of_its_own(void **state)
{
    struct barrier_state s = {0};
    step(&s, BARRIER_COMPUTE, 0, A);
    expect(step(&s, BARRIER_COMPUTE, A, 0), C, C, C);
    expect(step(&s, BARRIER_INDIRECT, A, 0), C, C, I);
    expect(step(&s, BARRIER_TRANSFER, 0, A), C | I, C, T);
}

static void independent_passes_overlap(void **state)
{
    struct barrier_state s = {0};
    step(&s, BARRIER_COMPUTE, 0, A);
    expect(step(&s, BARRIER_COMPUTE, 0, B), 0, 0, 0);
}

static void forgotten_resources_wait_for_nothing(void **state)
{
    struct barrier_state s = {0};
    step(&s, BARRIER_COMPUTE, A, B);
    barrier_forget(&s, A | B);
    expect(step(&s, BARRIER_TRANSFER, 0, A | B), 0, 0, 0);
    expect(step(&s, BARRIER_HOST, B, 0), T, T, H);
}

static struct barrier_need note(struct barrier_state *s, enum barrier_access_kind kind,
                                enum barrier_stage stage, uint32_t reads, uint32_t writes,
                                uint32_t indirect)
{
    const struct barrier_access access = {kind, stage, reads, writes, indirect};
    return barrier_note(s, &access, &(struct barrier_watch){0}, "");
}

static void arguments_wait_with_their_command(void **state)
{
    struct barrier_state s = {0};
    note(&s, BARRIER_COMMAND, BARRIER_COMPUTE, 0, A | B, 0);
    expect(note(&s, BARRIER_COMMAND, BARRIER_COMPUTE, A, 0, B), C, C, C | I);
    expect(note(&s, BARRIER_COMMAND, BARRIER_TRANSFER, 0, B, 0), C | I, C, T);
}

static void a_noted_access_has_no_barrier(void **state)
{
    struct barrier_state s = {0};
    note(&s, BARRIER_COMMAND, BARRIER_COMPUTE, 0, A, 0);
    expect(note(&s, BARRIER_ONLY_NOTED, BARRIER_TRANSFER, 0, A, 0), 0, 0, 0);
    expect(note(&s, BARRIER_COMMAND, BARRIER_COMPUTE, A, 0, 0), T, T, C);
}

static void reads_of_the_host_are_not_noted(void **state)
{
    struct barrier_state s = {0};
    note(&s, BARRIER_COMMAND, BARRIER_COMPUTE, 0, A, 0);
    expect(note(&s, BARRIER_FOR_HOST, BARRIER_HOST, A, 0, 0), C, C, H);
    note(&s, BARRIER_FORGET, BARRIER_TRANSFER, 0, A, 0);
    expect(note(&s, BARRIER_COMMAND, BARRIER_TRANSFER, 0, A, 0), 0, 0, 0);
}

/* What a test watches: the barriers that it leaves out, and the audit's answer. */
struct watched {
    bool drop, dropped;
    uint32_t unordered;
};

static bool drop_asked(void *ctx, const char *place, const struct barrier_access *a,
                       const struct barrier_need *need)
{
    struct watched *w = ctx;
    w->dropped = w->drop;
    return w->drop;
}

static void unordered_told(void *ctx, const char *place, uint32_t resources)
{
    struct watched *w = ctx;
    w->unordered = resources;
}

/* Random accesses: the audit finds nothing where each barrier is recorded, and finds each one that
 * is not. */
static void audit_finds_each_missing_barrier(void **state)
{
    unsigned random = 1, missed = 0;
    for (int run = 0; run < 2000; run++) {
        struct barrier_state s = {0};
        int steps = 2 + run % 20;
        for (int i = 0; i < steps; i++) {
            struct watched w = {.drop = i + 1 == steps};
            const struct barrier_watch watch = {&w, drop_asked, unordered_told};
            struct barrier_access access = {.stage = (enum barrier_stage)((random >> 16) % 2)};
            access.kind = (random >> 8) % 8 ? BARRIER_COMMAND : BARRIER_FOR_HOST;
            random = random * 1103515245u + 12345u;
            access.reads = random >> 16 & 7;
            random = random * 1103515245u + 12345u;
            access.writes = access.kind == BARRIER_COMMAND ? random >> 16 & random >> 20 & 7 : 0;
            access.indirect = access.kind == BARRIER_COMMAND ? random >> 24 & 1 : 0;
            random = random * 1103515245u + 12345u;
            barrier_note(&s, &access, &watch, "");
            assert_int_equal(w.unordered != 0, w.dropped);
            missed += w.dropped;
        }
    }
    assert_true(missed > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_after_write),
        cmocka_unit_test(write_after_read),
        cmocka_unit_test(write_after_write),
        cmocka_unit_test(execution_is_not_memory),
        cmocka_unit_test(one_barrier_covers_all_resources),
        cmocka_unit_test(indirect_is_a_stage_of_its_own),
        cmocka_unit_test(independent_passes_overlap),
        cmocka_unit_test(forgotten_resources_wait_for_nothing),
        cmocka_unit_test(arguments_wait_with_their_command),
        cmocka_unit_test(a_noted_access_has_no_barrier),
        cmocka_unit_test(reads_of_the_host_are_not_noted),
        cmocka_unit_test(audit_finds_each_missing_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
