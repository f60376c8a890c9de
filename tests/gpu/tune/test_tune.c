/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choices of kernels for a device that a daemon opens: from the cache, from the table, or by kind
 * of device. One line in the log says that `pelton tune` would help.
 */
#include "gpu/tune/tune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static unsigned line_count;
static char last_line[1024];
static char folder[] = "/tmp/pelton-test-tune-XXXXXX";

static void log_line(void *ctx, int level, const char *line)
{
    assert_int_equal(level, 1);
    line_count++;
    snprintf(last_line, sizeof(last_line), "%s", line);
}

static struct gpu_device_info device(const char *name, bool software)
{
    struct gpu_device_info info = {.kind = software ? GPU_KIND_SOFTWARE : GPU_KIND_DISCRETE,
                                   .software = software};
    snprintf(info.name, sizeof(info.name), "%s", name);
    snprintf(info.uuid, sizeof(info.uuid), "0123-%d", software);
    snprintf(info.driver, sizeof(info.driver), "driver 1");
    return info;
}

static void unknown_gpu(void **state)
{
    const struct gpu_device_info info = device("Some GPU", false);
    struct tune tune, preset;
    line_count = 0;
    tune_open(&info, log_line, NULL, &tune);
    tune_preset(&info, &preset);
    assert_memory_equal(&tune, &preset, sizeof(tune));
    assert_int_equal(line_count, 1);
    assert_non_null(strstr(last_line, "Some GPU"));
    assert_non_null(strstr(last_line, "pelton tune would measure"));
}

static void nothing_to_say(void **state)
{
    const struct gpu_device_info known = device("NVIDIA H200", false),
                                 software = device("llvmpipe", true);
    struct tune tune;
    line_count = 0;
    tune_open(&known, log_line, NULL, &tune);
    assert_int_equal(tune.source[0], TUNE_SHIPPED);
    tune_open(&software, log_line, NULL, &tune);
    assert_int_equal(tune.source[0], TUNE_BY_KIND);
    assert_int_equal(line_count, 0);
}

static void kept(void **state)
{
    struct gpu_device_info info = device("Some GPU", false);
    struct tune tune, measured;
    char path[4096];
    tune_preset(&info, &measured);
    measured.choice[TUNE_WAVEFRONT][TUNE_HD] ^= 1;
    assert_int_equal(tune_save(&info, &measured, path), 0);
    line_count = 0;
    tune_open(&info, log_line, NULL, &tune);
    assert_memory_equal(tune.choice, measured.choice, sizeof(tune.choice));
    assert_int_equal(tune.source[0], TUNE_MEASURED);
    assert_int_equal(line_count, 0);
    snprintf(info.driver, sizeof(info.driver), "driver 2");
    tune_open(&info, log_line, NULL, &tune);
    assert_int_equal(tune.source[0], TUNE_BY_KIND);
    assert_int_equal(line_count, 1);
    assert_non_null(strstr(last_line, "of another driver; pelton tune makes it again"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unknown_gpu),
                                       cmocka_unit_test(nothing_to_say), cmocka_unit_test(kept)};
    char below[64];
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(below, sizeof(below), "%s/pelton", folder);
    rmdir(below);
    rmdir(folder);
    return failed;
}
