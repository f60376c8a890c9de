/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: the bytes of peltond's configuration file. A mistake is named with its file. A
 * good configuration is printed; that text is good, too, and prints in the same way.
 */
#include "daemon/settings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void file_remove(void)
{
    unlink(path);
}

/* In memory where that is possible: a disk is slower than the reader. */
static void file_create(void)
{
    const char *folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(path, sizeof(path), "%s/pelton-fuzz-config-XXXXXX", folder);
    int fd = mkstemp(path);
    if (fd < 0 || close(fd) < 0 || atexit(file_remove) != 0)
        abort();
}

static int settings_read(const void *data, size_t size, struct settings *out, char cause[512])
{
    char *argv[] = {"peltond", "-c", path, NULL};
    struct option_fault fault = {.cause = ""};
    FILE *file = fopen(path, "we");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    int rc = settings_parse(3, argv, out, &fault);
    memcpy(cause, fault.cause, sizeof(fault.cause));
    return rc;
}

static char *settings_text(struct settings *s)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        abort();
    settings_print(s, file);
    fclose(file);
    settings_free(s);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool created;
    struct settings s;
    char cause[512];
    if (!created)
        file_create();
    created = true;
    if (settings_read(data, size, &s, cause) < 0) {
        if (strncmp(cause, path, strlen(path)) == 0)
            return 0;
        fprintf(stderr, "not of the file: %s\n", cause);
        abort();
    }
    char *first = settings_text(&s);
    if (settings_read(first, strlen(first), &s, cause) < 0) {
        fprintf(stderr, "%s\n%s", cause, first);
        abort();
    }
    char *second = settings_text(&s);
    if (strcmp(first, second) != 0) {
        fprintf(stderr, "%s---\n%s", first, second);
        abort();
    }
    free(first);
    free(second);
    return 0;
}
