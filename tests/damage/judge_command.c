/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Judges streams by the rules of the standard.
 *
 *   judge [--frames] STREAM...
 *
 * A line for each stream: "valid", or its breaches. --frames: a line for each frame that has one,
 * or that the decoder marked.
 *
 * Exit: 0 all are valid, 1 one is not, or cannot be read, 2 usage.
 */
#include "tests/damage/mutate_source.h"
#include "tests/tools/read_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_frames(const struct decoded *d)
{
    for (unsigned i = 0; i < d->count; i++)
        if (d->at[i].breach || d->at[i].marked)
            printf("  frame %u%s: %s\n", i, d->at[i].marked ? " marked" : "",
                   d->at[i].breach ? d->at[i].breach : "no breach");
}

static bool judge_file(const char *path, bool frames)
{
    struct units units = {.count = 0};
    struct breaches seen = {.count = 0};
    struct decoded out = {.count = 0};
    size_t size = 0;
    uint8_t *bytes = read_file(path, &size);
    bool good = bytes && units_split(&units, bytes, size) &&
                decode_judged(&units, false, NULL, &seen, &out) && !out.failed;
    printf("%s: %s\n", path, !good ? "cannot be read or decoded" : seen.count ? "" : "valid");
    for (unsigned i = 0; i < seen.count; i++)
        printf("  %s\n", seen.at[i]);
    if (frames)
        print_frames(&out);
    decoded_free(&out);
    units_free(&units);
    free(bytes);
    return good && !seen.count;
}

int main(int argc, char **argv)
{
    bool frames = argc > 1 && strcmp(argv[1], "--frames") == 0, good = true;
    if (argc < 2 + frames) {
        fprintf(stderr, "usage: judge [--frames] STREAM...\n");
        return 2;
    }
    for (int i = 1 + frames; i < argc; i++)
        good &= judge_file(argv[i], frames);
    return !good;
}
