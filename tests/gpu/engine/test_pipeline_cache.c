/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Compiled pipelines on disk: files that are good, damaged, foreign or not ours.
 */
#include "gpu/engine/cache_file.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/pipeline_cache.h"
#include "tests/gpu/gpuworld.h"

#include <errno.h>
#include <sys/stat.h>

static char folder[] = "/tmp/pelton-cache-XXXXXX";

static void whole_files(void **state)
{
    char path[CACHE_PATH], data[5000];
    size_t size = 0;
    memset(data, 7, sizeof(data));
    assert_null(cache_file_read("one", 100000, &size));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(cache_file_write("one", data, sizeof(data), path), 0);
    assert_int_equal(cache_file_write("one", data, 4999, path), 0);
    char *read = cache_file_read("one", 100000, &size);
    assert_non_null(read);
    assert_int_equal(size, 4999);
    assert_memory_equal(read, data, size);
    free(read);
    assert_null(cache_file_read("one", 4998, &size));
    assert_int_equal(errno, EFBIG);
    assert_int_equal(chmod(path, 0620), 0);
    assert_null(cache_file_read("one", 100000, &size));
    assert_int_equal(errno, EPERM);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_null(cache_file_read("one", 100000, &size));
    assert_int_equal(cache_file_write("one", data, 1, path), -1);
    assert_int_equal(rmdir(path), 0);
}

/* A folder that cannot be made is an error without a crash, and nothing is left behind. */
static void no_folder(void **state)
{
    char path[CACHE_PATH];
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    assert_int_equal(cache_file_write("one", "", 0, path), -1);
    setenv("XDG_CACHE_HOME", "", 1);
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("HOME");
    assert_int_equal(cache_file_write("one", "", 0, path), -1);
    assert_int_equal(errno, ENOENT);
    if (home)
        setenv("HOME", home, 1);
    free(home);
    setenv("XDG_CACHE_HOME", folder, 1);
}

static void heads(void **state)
{
    struct {
        struct pipeline_cache_head head;
        uint8_t data[101];
    } file;
    struct pipeline_cache_key key, other;
    memset(&key, 3, sizeof(key));
    for (size_t i = 0; i < sizeof(file.data); i++)
        file.data[i] = (uint8_t)(i * 37);
    pipeline_cache_head_fill(&file.head, &key, file.data, sizeof(file.data));
    const size_t size = sizeof(file.head) + sizeof(file.data);
    assert_int_equal(pipeline_cache_check(&file, size, &key), PIPELINE_CACHE_GOOD);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(pipeline_cache_check(&file, i, &key), PIPELINE_CACHE_DAMAGED);
    /* each bit of each byte counts */
    for (size_t bit = 0; bit < size * 8; bit++) {
        uint8_t *byte = (uint8_t *)&file + bit / 8;
        *byte ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(pipeline_cache_check(&file, size, &key), PIPELINE_CACHE_GOOD);
        *byte ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t i = 0; i < sizeof(key); i++) {
        other = key;
        ((uint8_t *)&other)[i] ^= 1;
        assert_int_equal(pipeline_cache_check(&file, size, &other), PIPELINE_CACHE_FOREIGN);
    }
}

static struct stat file_stat(char path[CACHE_PATH])
{
    char name[64];
    struct stat st;
    snprintf(name, sizeof(name), "pipelines-%s.bin", gpu_info(gpu)->uuid);
    assert_true(cache_file_path(name, path));
    if (stat(path, &st) < 0)
        memset(&st, 0, sizeof(st));
    return st;
}

/* A device with one pipeline, opened and closed. */
static void device_use(bool keep)
{
    struct gpu *g = NULL;
    struct gpu_pulse *pulse = NULL;
    struct gpu_params params = {.device = gpu_info(gpu)->uuid, .keep_pipelines = keep};
    assert_int_equal(gpu_open(&params, &g), GPU_OK);
    assert_int_equal(gpu_pulse_create(g, 1, &pulse), GPU_OK);
    assert_int_equal(gpu_pulse(pulse), GPU_OK);
    gpu_pulse_free(pulse);
    gpu_close(g);
}

static void on_disk(void **state)
{
    char path[CACHE_PATH];
    device_use(false);
    assert_int_equal(file_stat(path).st_size, 0);
    device_use(true);
    struct stat first = file_stat(path);
    assert_true((size_t)first.st_size > sizeof(struct pipeline_cache_head));
    assert_int_equal(first.st_mode & 0777, 0600);
    /* the same again: nothing new to write */
    device_use(true);
    assert_int_equal(file_stat(path).st_ino, first.st_ino);
    /* a damaged file is replaced by a good one */
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)first.st_size - 1, SEEK_SET), 0);
    int last = fgetc(file);
    assert_int_equal(fseek(file, (long)first.st_size - 1, SEEK_SET), 0);
    assert_int_equal(fputc(last ^ 1, file), last ^ 1);
    assert_int_equal(fclose(file), 0);
    device_use(true);
    assert_int_not_equal(file_stat(path).st_ino, first.st_ino);
    size_t size = 0;
    char name[64];
    snprintf(name, sizeof(name), "pipelines-%s.bin", gpu_info(gpu)->uuid);
    struct pipeline_cache_head *head = cache_file_read(name, PIPELINE_CACHE_MOST, &size);
    assert_non_null(head);
    assert_true(head->key.shaders != 0);
    assert_int_equal(pipeline_cache_check(head, size, &head->key), PIPELINE_CACHE_GOOD);
    free(head);
    /* a full disk, here a folder in the file's place, costs nothing but the file */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    device_use(true);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole_files), cmocka_unit_test(no_folder),
                                       cmocka_unit_test(heads), cmocka_unit_test(on_disk),
                                       cmocka_unit_test(no_validation_messages)};
    char below[64];
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); /* it would write into the folder */
    int failed = run_on_device(tests, NULL, NULL);
    snprintf(below, sizeof(below), "%s/pelton", folder);
    rmdir(below);
    rmdir(folder);
    return failed;
}
