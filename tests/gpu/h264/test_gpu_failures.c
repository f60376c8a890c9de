/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Every Vulkan call fails once, and submissions fail or lose the device. Each gives an error, and
 * nothing leaks.
 */
#include "tests/gpu/failing_calls.h"
#include "tests/gpu/gpuworld.h"

/* Vulkan calls that fail at the n-th: the device's table is its own, so calls can be replaced. */
static struct VolkDeviceTable real;
static atomic_int calls_left; /* threads that make pipelines spend them, too */

static VkResult spend(VkResult on_failure)
{
    int left = atomic_load(&calls_left);
    while (left > 0 && !atomic_compare_exchange_weak(&calls_left, &left, left - 1))
        ;
    return left == 1 ? on_failure : VK_SUCCESS;
}

#define FAILING(name, parameters, arguments)                                                       \
    static VKAPI_ATTR VkResult VKAPI_CALL fail_##name parameters                                   \
    {                                                                                              \
        VkResult result = spend(VK_ERROR_OUT_OF_DEVICE_MEMORY);                                    \
        return result < 0 ? result : real.name arguments;                                          \
    }
FAILING_CALLS(FAILING)

static VKAPI_ATTR VkResult VKAPI_CALL lose_submit(VkQueue q, uint32_t n, const VkSubmitInfo *i,
                                                  VkFence f)
{
    VkResult result = spend(VK_ERROR_DEVICE_LOST);
    return result < 0 ? result : real.vkQueueSubmit(q, n, i, f);
}

#define REPLACE(name, parameters, arguments) g->vk.name = fail_##name;

static void replace_calls(struct gpu *g)
{
    real = g->vk;
    FAILING_CALLS(REPLACE)
}

/* Until no thread makes pipelines any more. A call of theirs would be counted as the test's. */
static void await_pipelines(struct gpu *g)
{
    pthread_mutex_lock(&g->kept.lock);
    while (g->kept.makers)
        pthread_cond_wait(&g->kept.made, &g->kept.lock);
    pthread_mutex_unlock(&g->kept.lock);
}

static void count_validation(void *ctx, int level, const char *line)
{
    if (strncmp(line, "validation", 10))
        return;
    fprintf(stderr, "%s\n", line);
    ++*(int *)ctx;
}

/* Everything a test does, one failure at a time. Returns GPU_OK or that failure. */
static int whole_life(struct gpu *g, uint8_t *memory, size_t size)
{
    struct recon_params params = {.mb_width = MB_WIDTH,
                                  .mb_height = MB_HEIGHT,
                                  .chroma_format_idc = 1,
                                  .bit_depth = {8, 8},
                                  .slots = SLOTS,
                                  .width = 1,
                                  .flight = 2};
    struct recon *r = NULL;
    struct gpu_host *host = NULL;
    uint64_t ticket = 0;
    struct recon_growth *growth = NULL;
    const uint32_t first = 0;
    int err = recon_create(g, &params, &r);
    if (err == GPU_OK)
        err = recon_growth_create(r, SLOTS + 1, 2, &growth);
    if (err == GPU_OK)
        err = recon_grow(r, growth, &first, 1);
    if (err == GPU_OK)
        err = gpu_host_import(g, memory, size, &host);
    struct recon_picture grey = {.slot = 0, .copy_from = UINT32_MAX};
    /* more than one, so that they are a submission of their own where there are queues */
    struct recon_delivery d[2];
    for (uint32_t i = 0; i < 2; i++)
        d[i] = (struct recon_delivery){.slot = 0,
                                       .host = host,
                                       .offset = {i * size / 2},
                                       .stride = {WIDTH},
                                       .width = WIDTH,
                                       .height = HEIGHT,
                                       .format = RECON_GRAY};
    if (err == GPU_OK)
        err = recon_submit(r, &grey, 1, d, 2, &ticket);
    if (err == GPU_OK)
        err = recon_wait(r, ticket, UINT64_MAX);
    gpu_host_free(host);
    recon_free(r);
    return err;
}

static void every_call_fails_once(void **state)
{
    int messages = 0, failures = 0, err = GPU_ERR_NOMEM;
    struct gpu_params params = {.device = getenv("PELTON_DEVICE"),
                                .timestamps = true,
                                .log = count_validation,
                                .log_ctx = &messages};
    size_t size = 8192;
    uint8_t *memory = map_memfd(size);
    struct gpu *g = NULL;
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    replace_calls(g);
    for (int n = 1; n < 1000; n++) {
        calls_left = n;
        memset(memory, 0, size);
        err = whole_life(g, memory, size);
        if (calls_left > 0)
            break;
        /* an import that fails is not an error: staging takes over */
        assert_true(err == GPU_OK || err == GPU_ERR_NOMEM);
        failures += err != GPU_OK;
    }
    assert_int_equal(err, GPU_OK);
    assert_int_equal(memory[0], 0x80);
    assert_int_equal(memory[size / 2], 0x80);
    assert_true(failures > 50);
    gpu_close(g); /* the layer reports what was not destroyed */
    assert_int_equal(messages, 0);
    munmap(memory, size);
}

/* After a submission that fails for want of memory the next one works; a lost device stays lost,
 * and closing does not wait. */
static void failed_submissions(void **state)
{
    struct gpu_params params = {.device = getenv("PELTON_DEVICE")};
    struct recon_params shape = {.mb_width = MB_WIDTH,
                                 .mb_height = MB_HEIGHT,
                                 .chroma_format_idc = 1,
                                 .bit_depth = {8, 8},
                                 .slots = SLOTS,
                                 .width = 1};
    struct gpu *g = NULL;
    struct recon *r = NULL;
    struct gpu_host *host = NULL;
    struct recon_picture fill = {.slot = 1, .copy_from = COPY_FILL};
    uint64_t ticket = 0;
    uint8_t *memory = map_memfd(4096);
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    assert_int_equal(recon_create(g, &shape, &r), GPU_OK);
    assert_int_equal(gpu_host_import(g, memory, 4096, &host), GPU_OK);
    for (uint32_t i = 0; i < 3; i++) /* each flight has its buffers then */
        assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    await_pipelines(g);
    replace_calls(g);
    calls_left = 3; /* begin, end, submit */
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_ERR_NOMEM);
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(ticket, 4);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    g->vk.vkQueueSubmit = lose_submit;
    calls_left = 3;
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_ERR_LOST);
    assert_int_equal(recon_submit(r, &fill, 1, NULL, 0, &ticket), GPU_ERR_LOST);
    assert_int_equal(recon_done(r), 4);
    gpu_host_free(host);
    recon_free(r);
    gpu_close(g);
    munmap(memory, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(failed_submissions),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
