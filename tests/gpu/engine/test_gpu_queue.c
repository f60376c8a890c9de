/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Queues: every use gets one, and each counts on its own. A waiting submission starts after its
 * dependency. On a device with a single queue the uses are split over it, and each still has its
 * own timeline.
 */
#include "tests/gpu/gpuworld.h"

#define WORDS  4096u
#define ROUNDS 8u

struct lane {
    struct gpu_queue *queue;
    struct gpu_buffer buffer;
    VkCommandPool pool;
    VkCommandBuffer commands;
};

static void open_lane(struct lane *l, enum gpu_queue_use use, enum gpu_memory memory)
{
    assert_int_equal(gpu_queue_get(gpu, use, &l->queue), GPU_OK);
    assert_int_equal(
        gpu_buffer_create(gpu, WORDS * 4,
                          VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                          memory, &l->buffer),
        GPU_OK);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = l->queue->family};
    assert_int_equal(gpu->vk.vkCreateCommandPool(gpu->device, &pool, NULL, &l->pool), VK_SUCCESS);
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = l->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    assert_int_equal(gpu->vk.vkAllocateCommandBuffers(gpu->device, &allocate, &l->commands),
                     VK_SUCCESS);
}

static void close_lane(struct lane *l)
{
    gpu->vk.vkDestroyCommandPool(gpu->device, l->pool, NULL);
    gpu_buffer_free(gpu, &l->buffer);
}

/* A copy of all of `from` into the lane's buffer; from NULL: fill it with the word. */
static void record(struct lane *l, const struct lane *from, uint32_t word, bool host_reads)
{
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkBufferCopy all = {0, 0, WORDS * 4};
    VkMemoryBarrier after = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    assert_int_equal(gpu->vk.vkResetCommandPool(gpu->device, l->pool, 0), VK_SUCCESS);
    assert_int_equal(gpu->vk.vkBeginCommandBuffer(l->commands, &begin), VK_SUCCESS);
    if (from)
        gpu->vk.vkCmdCopyBuffer(l->commands, from->buffer.buffer, l->buffer.buffer, 1, &all);
    else
        gpu->vk.vkCmdFillBuffer(l->commands, l->buffer.buffer, 0, WORDS * 4, word);
    if (host_reads)
        gpu->vk.vkCmdPipelineBarrier(l->commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                     VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &after, 0, NULL, 0, NULL);
    assert_int_equal(gpu->vk.vkEndCommandBuffer(l->commands), VK_SUCCESS);
}

/* A word goes from queue to queue through all of them; each waits for the one before it, the first
 * for the last round. */
static void a_word_passes_all_queues(void **state)
{
    struct lane lanes[GPU_QUEUE_USES];
    for (int use = 0; use < GPU_QUEUE_USES; use++)
        open_lane(&lanes[use], (enum gpu_queue_use)use,
                  use + 1 == GPU_QUEUE_USES ? GPU_MEMORY_READBACK : GPU_MEMORY_DEVICE);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        struct gpu_point last = {0};
        uint64_t completed = 0;
        for (int use = 0; use < GPU_QUEUE_USES; use++) {
            struct lane *l = &lanes[use];
            uint64_t before = l->queue->submitted, value = 0;
            record(l, use ? &lanes[use - 1] : NULL, round * 0x01020304u, use + 1 == GPU_QUEUE_USES);
            assert_int_equal(
                gpu_queue_submit(l->queue, l->commands, last.queue, last.value, &value), GPU_OK);
            assert_int_equal(value, before + 1);
            last = (struct gpu_point){l->queue, value};
        }
        assert_int_equal(gpu_queue_wait(last.queue, last.value, UINT64_MAX), 0);
        for (int use = 0; use < GPU_QUEUE_USES; use++) {
            assert_int_equal(gpu_queue_completed(lanes[use].queue, &completed), GPU_OK);
            assert_int_equal(completed, lanes[use].queue->submitted);
        }
        for (uint32_t i = 0; i < WORDS; i++)
            assert_int_equal(((const uint32_t *)lanes[GPU_QUEUE_USES - 1].buffer.map)[i],
                             round * 0x01020304u);
    }
    for (int use = 0; use < GPU_QUEUE_USES; use++)
        close_lane(&lanes[use]);
}

/* What waits does not start before what it waits for, even if that is submitted later. */
static void a_submission_waits(void **state)
{
    struct lane first, second;
    uint64_t value[2];
    open_lane(&first, GPU_QUEUE_UP, GPU_MEMORY_DEVICE);
    open_lane(&second, GPU_QUEUE_DOWN, GPU_MEMORY_READBACK);
    record(&first, NULL, 7, false);
    record(&second, &first, 0, true);
    /* of one VkQueue, order of submission is order of start */
    if (first.queue->queue != second.queue->queue) {
        assert_int_equal(gpu_queue_submit(second.queue, second.commands, first.queue,
                                          first.queue->submitted + 1, &value[1]),
                         GPU_OK);
        assert_int_equal(gpu_queue_wait(second.queue, value[1], 1000000), 1);
        assert_int_equal(gpu_queue_submit(first.queue, first.commands, NULL, 0, &value[0]), GPU_OK);
    } else {
        assert_int_equal(gpu_queue_submit(first.queue, first.commands, NULL, 0, &value[0]), GPU_OK);
        assert_int_equal(
            gpu_queue_submit(second.queue, second.commands, first.queue, value[0], &value[1]),
            GPU_OK);
    }
    assert_int_equal(gpu_queue_wait(second.queue, value[1], UINT64_MAX), 0);
    assert_int_equal(((const uint32_t *)second.buffer.map)[WORDS - 1], 7);
    close_lane(&second);
    close_lane(&first);
}

/* All users of a purpose have one queue. */
static void users_share_a_queue(void **state)
{
    for (int use = 0; use < GPU_QUEUE_USES; use++) {
        struct gpu_queue *first, *second;
        assert_int_equal(gpu_queue_get(gpu, use, &first), GPU_OK);
        assert_int_equal(gpu_queue_get(gpu, use, &second), GPU_OK);
        assert_ptr_equal(first, second);
    }
}

/* Without long work there are none of these, and their users still get a queue. */
static void long_work_may_be_left_out(void **state)
{
    struct gpu_params params = {.device = getenv("PELTON_DEVICE"), .no_background = true};
    struct gpu_queue *queue;
    struct gpu *g;
    unsetenv("PELTON_QUEUES");
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    assert_false(gpu_has_background(g));
    for (uint32_t i = 0; i < g->queue_count; i++)
        assert_int_not_equal(g->queues[i].use, GPU_QUEUE_FETCH);
    assert_int_equal(gpu_queue_get(g, GPU_QUEUE_BACKGROUND, &queue), GPU_OK);
    assert_int_equal(gpu_queue_get(g, GPU_QUEUE_FETCH, &queue), GPU_OK);
    gpu_close(g);
}

int main(void)
{
    setenv("PELTON_QUEUES", "split", 1);
    int code = open_device();
    if (code)
        return code;
    printf("%u queues of %u families\n", gpu->queue_count, gpu->family_count);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_passes_all_queues), cmocka_unit_test(a_submission_waits),
        cmocka_unit_test(users_share_a_queue),      cmocka_unit_test(long_work_may_be_left_out),
        cmocka_unit_test(no_validation_messages),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_close(gpu);
    return failed;
}
