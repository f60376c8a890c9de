/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Canaries: bytes before and behind an object, written by a stray buffer over the same memory, are
 * found and named. Bytes of the object itself are not. Exit code 77 = skipped without a Vulkan
 * device.
 */
#include "gpu/engine/canaries.h"
#include "gpu/engine/work.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SIZE 2048 /* canaries stand at once behind it */

static struct gpu *gpu;
static char line[256]; /* of the log, at level 0 */

static void log_line(void *ctx, int level, const char *text)
{
    if (level == 0)
        snprintf(line, sizeof(line), "%s", text);
}

static struct gpu_buffer object_create(void)
{
    struct gpu_buffer b;
    assert_int_equal(gpu_buffer_create_for(gpu, GPU_USE_MOTION, SIZE,
                                           VK_BUFFER_USAGE_TRANSFER_DST_BIT, GPU_MEMORY_DEVICE, &b),
                     GPU_OK);
    return b;
}

struct stray {
    VkBuffer buffer;
    uint64_t at, size;
};

static void record_fill(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct stray *s = ctx;
    g->vk.vkCmdFillBuffer(commands, s->buffer, s->at, s->size, 0);
}

/* Zero bytes of the memory of b, counted from the object. */
static void stray_write(const struct gpu_buffer *b, int64_t at, uint64_t size)
{
    struct stray s = {.at = (uint64_t)((int64_t)b->holding.at + at), .size = size};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = b->holding.at + SIZE + GPU_CANARY_BYTES,
                                     .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    assert_int_equal(gpu->vk.vkCreateBuffer(gpu->device, &info, NULL, &s.buffer), VK_SUCCESS);
    VkMemoryRequirements needs;
    gpu->vk.vkGetBufferMemoryRequirements(gpu->device, s.buffer, &needs);
    assert_int_equal(gpu->vk.vkBindBufferMemory(gpu->device, s.buffer, b->memory, 0), VK_SUCCESS);
    assert_int_equal(gpu_run(gpu, record_fill, &s), GPU_OK);
    gpu->vk.vkDestroyBuffer(gpu->device, s.buffer, NULL);
}

static void inside_is_allowed(void **state)
{
    struct gpu_buffer b = object_create();
    stray_write(&b, 0, SIZE);
    assert_int_equal(gpu_canaries_changed(gpu), 0);
    gpu_buffer_free(gpu, &b);
    assert_int_equal(gpu_canaries_changed(gpu), 0);
    assert_string_equal(line, "");
}

static void a_byte_behind_is_named(void **state)
{
    struct gpu_buffer b = object_create();
    stray_write(&b, SIZE + 8, 4);
    assert_int_equal(gpu_canaries_changed(gpu), 1);
    assert_string_equal(line, "canary behind motion batches of 2048 bytes: 4 bytes are changed, "
                              "the first is byte 8 of 65536");
    gpu_buffer_free(gpu, &b);
}

/* Found when the memory is released. */
static void bytes_before_are_named(void **state)
{
    unsigned before = gpu_canaries_changed(gpu);
    struct gpu_buffer b = object_create();
    stray_write(&b, -16, 12);
    gpu_buffer_free(gpu, &b);
    assert_int_equal(gpu_canaries_changed(gpu), before + 1);
    assert_string_equal(line, "canary before motion batches of 2048 bytes: 12 bytes are changed, "
                              "the first is byte 65520 of 65536");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_is_allowed),
        cmocka_unit_test(a_byte_behind_is_named),
        cmocka_unit_test(bytes_before_are_named),
    };
    const struct gpu_params params = {
        .device = getenv("PELTON_DEVICE"), .canaries = 0x5ca1ab1e, .log = log_line};
    int err = gpu_open(&params, &gpu);
    if (err < 0)
        return err == GPU_ERR_NO_DEVICE ? 77 : 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gpu_close(gpu);
    return failed;
}
