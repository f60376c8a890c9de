/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values out of shaders: a known one is printed with its pass, picture and workgroup. Without the
 * option there is neither a line nor a binding. Exits 77 = skipped without a Vulkan device.
 */
#include "gpu/engine/debug_shaders.h"
#include "gpu/engine/debug_values.h"
#include "gpu/h264/recon_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern const uint32_t shader_copy_frame[], shader_copy_frame_debug[];

static char lines[65536];

static void log_line(void *ctx, int level, const char *line)
{
    size_t n = strlen(lines);
    if (level == 0)
        fprintf(stderr, "%s\n", line);
    if (level == 1)
        snprintf(lines + n, sizeof(lines) - n, "%s\n", line);
}

static struct gpu *open_gpu(bool debug, const struct gpu_debug_shaders *shaders)
{
    struct gpu *g = NULL;
    const struct gpu_params params = {.device = getenv("PELTON_DEVICE"),
                                      .debug = debug,
                                      .debug_shaders = shaders,
                                      .log = log_line};
    int err = gpu_open(&params, &g);
    if (err == GPU_ERR_NO_DEVICE) {
        printf("skipped: %s\n", gpu_error_text(err));
        exit(77);
    }
    assert_int_equal(err, GPU_OK);
    lines[0] = 0;
    return g;
}

/* Slot 1 becomes grey, then slots 2 and 0 become what slot 1 is, wide or not. */
static void copy_slots(struct gpu *g, uint8_t depth)
{
    const struct recon_params params = {.mb_width = 2,
                                        .mb_height = 2,
                                        .chroma_format_idc = 1,
                                        .bit_depth = {depth, depth},
                                        .slots = 3,
                                        .width = 2};
    const struct recon_picture grey = {.slot = 1, .copy_from = COPY_FILL},
                               copies[2] = {{.slot = 2, .copy_from = 1},
                                            {.slot = 0, .copy_from = 1}};
    struct recon *r = NULL;
    uint64_t ticket = 0;
    assert_int_equal(recon_create(g, &params, &r), GPU_OK);
    assert_int_equal(recon_submit(r, &grey, 1, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(recon_submit(r, copies, 2, NULL, 0, &ticket), GPU_OK);
    assert_int_equal(recon_wait(r, ticket, UINT64_MAX), 0);
    recon_free(r);
}

static void known_values(void **state)
{
    struct gpu *g = open_gpu(true, GPU_DEBUG_SHADERS);
    copy_slots(g, 8);
    printf("%s", lines);
    assert_string_equal(
        lines, "gpu-debug: copy_frame, picture 1, workgroup 0,0,0, thread 0: copy_from = -1\n"
               "gpu-debug: copy_frame, picture 2, workgroup 0,0,0, thread 0: copy_from = 1\n"
               "gpu-debug: copy_frame, picture 0, workgroup 0,0,0, thread 0: copy_from = 1\n");
    lines[0] = 0;
    copy_slots(g, 10);
    assert_non_null(
        strstr(lines, "copy_frame_wide, picture 2, workgroup 0,0,0, thread 0: copy_from = 1\n"));
    assert_int_equal(gpu_validation_messages(g), 0);
    gpu_close(g);
}

/* OpDecorate (71) of a variable with DescriptorSet (34): is any of them in this set?
 * SPIR-V 1.5, 2.3 and 3.20. */
static bool has_set(const uint32_t *spirv, uint32_t set)
{
    for (const uint32_t *op = spirv + 5; (op[0] & 0xffff) != 54 /* OpFunction */; op += op[0] >> 16)
        if ((op[0] & 0xffff) == 71 && op[2] == 34 && op[3] == set)
            return true;
    return false;
}

static void nothing_without(void **state)
{
    struct gpu *g = open_gpu(false, GPU_DEBUG_SHADERS);
    copy_slots(g, 8);
    assert_string_equal(lines, "");
    gpu_close(g);
    assert_false(has_set(shader_copy_frame, GPU_DEBUG_SET));
    assert_true(has_set(shader_copy_frame, SET_BATCH) &&
                has_set(shader_copy_frame_debug, GPU_DEBUG_SET));
}

/* A build without debug shaders opens the device, and says once how to get them. */
static void build_without(void **state)
{
    const struct gpu_params params = {
        .device = getenv("PELTON_DEVICE"), .debug = true, .log = log_line};
    struct gpu *g = NULL;
    lines[0] = 0;
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    copy_slots(g, 8);
    gpu_close(g);
    assert_string_equal(lines, "gpu-debug: this build has no debug shaders; cmake "
                               "-DPELTON_SHADER_DEBUG=ON makes one that has\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values),
                                       cmocka_unit_test(nothing_without),
                                       cmocka_unit_test(build_without)};
    gpu_close(open_gpu(false, GPU_DEBUG_SHADERS));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
