/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_path.h.
 */
#include "client/encode_path.h"

#include "client/input_name.h"

#include <stdio.h>
#include <string.h>

/* A file's name without folders and extension, the last part of an address, or "stdin". */
static void input_stem(const char *input, const char **stem, int *length)
{
    const char *name = strncmp(input, "source:", 7) ? input : input + 7;
    size_t end = input_is_url(name) ? strcspn(name, "?#") : strlen(name), begin;
    if (!strcmp(name, "-")) {
        *stem = "stdin";
        *length = 5;
        return;
    }
    while (end && name[end - 1] == '/')
        end--;
    for (begin = end; begin && name[begin - 1] != '/';)
        begin--;
    for (size_t dot = end; dot > begin + 1; dot--)
        if (name[dot - 1] == '.') {
            end = dot - 1;
            break;
        }
    *stem = name + begin;
    *length = (int)(end - begin);
}

bool encode_output_path(const char *path, const char *input, char *out, size_t size)
{
    const char *hole = strstr(path, "%s"), *stem;
    int length, n;
    input_stem(input, &stem, &length);
    n = hole ? snprintf(out, size, "%.*s%.*s%s", (int)(hole - path), path, length, stem, hole + 2)
             : snprintf(out, size, "%s", path);
    return n >= 0 && (size_t)n < size;
}
