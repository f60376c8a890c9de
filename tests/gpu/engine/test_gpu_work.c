/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gpu_work: a ring that fills up, parts that depend on each other, callbacks in the order of
 * submission, recordings that are given up, times by name, works of several threads, and a lost
 * device.
 */
#include "tests/gpu/gpuworld.h"

#define WORDS   1024u
#define DEPTH   3u
#define THREADS 4
#define WORKS   1000 /* that a thread makes */

enum { PART_FIRST, PART_SECOND };
enum { RES_MIDDLE = 1, RES_RESULT = 2 };

struct ring {
    struct gpu_queue *queues[2];
    struct gpu_work *work;
    struct gpu_buffer middle, results[DEPTH]; /* results: for the host */
    uint32_t submitted, done;                 /* callbacks so far */
    uint32_t words[DEPTH];                    /* expected in each result */
    uint32_t stamps[2];                       /* by name */
};

static void on_submitted(void *ctx, const struct gpu_submission *s)
{
    struct ring *r = ctx;
    assert_int_equal(s->index, r->submitted++ % DEPTH);
}

static void on_time(void *ctx, uint32_t name, double seconds)
{
    struct ring *r = ctx;
    assert_true(name < 2 && seconds >= 0);
    r->stamps[name]++;
}

static void on_done(void *ctx, const struct gpu_submission *s)
{
    struct ring *r = ctx;
    const uint32_t *got = (const uint32_t *)(const void *)r->results[s->index].map;
    assert_int_equal(s->index, r->done++ % DEPTH);
    assert_int_equal(got[0], r->words[s->index]);
    assert_int_equal(got[WORDS - 1], r->words[s->index]);
    gpu_work_times(s, on_time, r);
}

static void open_ring(struct ring *r)
{
    const VkBufferUsageFlags usage =
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    *r = (struct ring){0};
    assert_int_equal(gpu_queue_get(gpu, GPU_QUEUE_MAIN, &r->queues[0]), GPU_OK);
    assert_int_equal(gpu_queue_get(gpu, GPU_QUEUE_DOWN, &r->queues[1]), GPU_OK);
    assert_int_equal(gpu_buffer_create(gpu, WORDS * 4, usage, GPU_MEMORY_DEVICE, &r->middle),
                     GPU_OK);
    for (uint32_t i = 0; i < DEPTH; i++)
        assert_int_equal(
            gpu_buffer_create(gpu, WORDS * 4, usage, GPU_MEMORY_READBACK, &r->results[i]), GPU_OK);
    const struct gpu_work_params params = {.queues = {r->queues[0], r->queues[1]},
                                           .depth = DEPTH,
                                           .stamps = 2,
                                           .submitted = on_submitted,
                                           .done = on_done,
                                           .ctx = r};
    assert_int_equal(gpu_work_create(gpu, &params, &r->work), GPU_OK);
}

static void close_ring(struct ring *r)
{
    gpu_work_free(r->work);
    for (uint32_t i = 0; i < DEPTH; i++)
        gpu_buffer_free(gpu, &r->results[i]);
    gpu_buffer_free(gpu, &r->middle);
}

/* Fill the buffer in the middle in one part, copy it to the result in the next one. The fill waits
 * for the copy of the submission before. */
static void record(struct ring *r, struct gpu_submission *s, uint32_t word)
{
    const VkBufferCopy all = {0, 0, WORDS * 4};
    r->words[s->index] = word;
    assert_int_equal(gpu_work_record(s, PART_FIRST), GPU_OK);
    gpu_work_depend(s, gpu_work_last(r->work, PART_SECOND));
    gpu_work_sync(s, BARRIER_TRANSFER, 0, RES_MIDDLE);
    gpu->vk.vkCmdFillBuffer(s->commands, r->middle.buffer, 0, WORDS * 4, word);
    gpu_work_stamp(s, 0);
    assert_int_equal(gpu_work_record(s, PART_SECOND), GPU_OK);
    gpu_work_forget(s, UINT32_MAX);
    gpu_work_depend_part(s, PART_FIRST);
    gpu_work_sync(s, BARRIER_TRANSFER, RES_MIDDLE, RES_RESULT);
    gpu->vk.vkCmdCopyBuffer(s->commands, r->middle.buffer, r->results[s->index].buffer, 1, &all);
    gpu_work_stamp(s, 1);
    gpu_work_sync_host(s, RES_RESULT);
}

static void a_ring_goes_round(void **state)
{
    struct ring r;
    struct gpu_submission *s;
    open_ring(&r);
    assert_int_equal(gpu_work_last(r.work, PART_FIRST).value, 0);
    assert_int_equal(gpu_work_wait(r.work, 0), 0); /* nothing is in flight */
    for (uint32_t i = 0; i < 4 * DEPTH; i++) {
        assert_int_equal(gpu_work_begin(r.work, UINT64_MAX, &s), GPU_OK);
        assert_int_equal(s->index, i % DEPTH);
        record(&r, s, 0x01010101u * (i + 1));
        assert_int_equal(gpu_work_submit(s), GPU_OK);
        assert_int_equal(r.submitted, i + 1);
        assert_true(r.done + DEPTH >= r.submitted);
    }
    assert_int_equal(gpu_work_drain(r.work), 0);
    assert_int_equal(r.done, 4 * DEPTH);
    struct gpu_point point;
    assert_false(gpu_work_oldest(r.work, &point));
    if (gpu->timestamps && r.queues[0]->tick_mask)
        assert_int_equal(r.stamps[0], 4 * DEPTH);
    close_ring(&r);
}

/* The first submission waits for a point that is reached by hand: meanwhile the ring is full. */
static void a_full_ring_says_so(void **state)
{
    struct ring r;
    struct gpu_submission *s;
    struct gpu_queue gate = *gpu->main;
    struct gpu_point point;
    open_ring(&r);
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    assert_int_equal(gpu->vk.vkCreateSemaphore(gpu->device, &info, NULL, &gate.timeline),
                     VK_SUCCESS);
    for (uint32_t i = 0; i < DEPTH; i++) {
        assert_int_equal(gpu_work_begin(r.work, 0, &s), GPU_OK);
        record(&r, s, i + 1);
        if (i == 0) /* of the part that is being recorded: the second */
            gpu_work_depend(s, (struct gpu_point){&gate, 1});
        assert_int_equal(gpu_work_submit(s), GPU_OK);
    }
    assert_int_equal(gpu_work_begin(r.work, 0, &s), 1);
    assert_int_equal(gpu_work_begin(r.work, 1000000, &s), 1);
    assert_int_equal(gpu_work_poll(r.work), GPU_OK);
    assert_int_equal(r.done, 0);
    assert_true(gpu_work_oldest(r.work, &point) && point.queue == r.queues[1]);
    VkSemaphoreSignalInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = gate.timeline, .value = 1};
    assert_int_equal(gpu->vk.vkSignalSemaphore(gpu->device, &signal), VK_SUCCESS);
    assert_int_equal(gpu_work_begin(r.work, UINT64_MAX, &s), GPU_OK);
    assert_int_equal(s->index, 0);
    assert_true(r.done > 0);
    assert_int_equal(gpu_work_drain(r.work), 0);
    assert_int_equal(r.done, DEPTH);
    close_ring(&r);
    gpu->vk.vkDestroySemaphore(gpu->device, gate.timeline, NULL);
}

/* A recording that is given up leaves no trace: neither in the ring nor in its barriers. */
static void a_recording_is_given_up(void **state)
{
    struct ring r;
    struct gpu_submission *s;
    open_ring(&r);
    for (uint32_t i = 0; i < 2 * DEPTH; i++) {
        assert_int_equal(gpu_work_begin(r.work, UINT64_MAX, &s), GPU_OK);
        record(&r, s, 77);
        struct barrier_state after = *s->barriers;
        assert_int_equal(gpu_work_begin(r.work, UINT64_MAX, &s), GPU_OK);
        assert_int_equal(s->index, i % DEPTH);
        assert_int_equal(gpu_work_record(s, PART_SECOND), GPU_OK);
        if (i == 0)
            assert_memory_not_equal(s->barriers, &after, sizeof(after));
        assert_int_equal(gpu_work_begin(r.work, UINT64_MAX, &s), GPU_OK);
        record(&r, s, i + 1);
        assert_int_equal(gpu_work_submit(s), GPU_OK);
    }
    assert_int_equal(gpu_work_drain(r.work), 0);
    assert_int_equal(r.done, 2 * DEPTH);
    close_ring(&r);
}

/* A lost device is not completion. */
static void a_device_is_lost(void **state)
{
    struct ring r;
    struct gpu_submission *s, *next;
    open_ring(&r);
    assert_int_equal(gpu_work_begin(r.work, 0, &s), GPU_OK);
    record(&r, s, 5);
    assert_int_equal(gpu_work_submit(s), GPU_OK);
    assert_int_equal(gpu_work_begin(r.work, 0, &next), GPU_OK);
    record(&r, next, 6);
    uint32_t done = r.done;
    atomic_store(&gpu->lost, true);
    assert_int_equal(gpu_work_submit(next), GPU_ERR_LOST);
    assert_int_equal(gpu_work_poll(r.work), GPU_ERR_LOST);
    assert_int_equal(gpu_work_begin(r.work, UINT64_MAX, &s), GPU_ERR_LOST);
    assert_int_equal(r.done, done);
    atomic_store(&gpu->lost, false);
    assert_int_equal(gpu_work_drain(r.work), 0);
    close_ring(&r);
}

static int fill_once(struct gpu_buffer *buffer)
{
    const struct gpu_work_params params = {.queues = {gpu->main}, .depth = 1};
    struct gpu_steps steps = {0};
    struct gpu_work *work = NULL;
    struct gpu_submission *s;
    int err = GPU_OK;
    TRY(gpu_work_create(gpu, &params, &work));
    TRY(gpu_work_begin(work, 0, &s));
    gpu_steps_next(&steps, GPU_STEP_PART)->part = 0;
    gpu_steps_name(&steps, "a name that is too long to lie in a small string");
    gpu_steps_access(&steps, BARRIER_COMMAND, BARRIER_TRANSFER, 0, RES_RESULT);
    gpu_steps_next(&steps, GPU_STEP_FILL)->fill =
        (struct gpu_step_fill){buffer->buffer, 0, buffer->size, NULL};
    TRY(gpu_work_play(s, &steps));
    err = gpu_work_wait(work, UINT64_MAX);
error:
    free(steps.all);
    gpu_work_free(work);
    return err;
}

static void *fill_often(void *failed)
{
    struct gpu_buffer buffer = {0};
    int err = gpu_buffer_create(gpu, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_DEVICE,
                                &buffer);
    for (int i = 0; i < WORKS && err == GPU_OK; i++)
        err = fill_once(&buffer);
    gpu_buffer_free(gpu, &buffer);
    *(int *)failed = err;
    return NULL;
}

/* Some end their command buffers while others begin theirs, as threads of a worker do. The
 * validation layer must bear it, too. */
static void threads_have_works_of_their_own(void **state)
{
    pthread_t threads[THREADS];
    int failed[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill_often, &failed[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failed[i], GPU_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_goes_round),
        cmocka_unit_test(a_full_ring_says_so),
        cmocka_unit_test(a_recording_is_given_up),
        cmocka_unit_test(threads_have_works_of_their_own),
        cmocka_unit_test(a_device_is_lost),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
