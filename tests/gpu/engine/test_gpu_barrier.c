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
    return barrier_note(s, &(struct barrier_access){kind, stage, reads, writes, indirect});
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
