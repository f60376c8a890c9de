/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The file that describes the shim's device (v4l2_shim.c), and its log.
 */
#include "v4l2_shim.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool text_of_file(const char *path, const char *key, char *out, size_t size)
{
    FILE *f = fopen(path, "r");
    char line[512];
    size_t n = strlen(key);
    bool found = false;
    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, key, n) && line[n] == '=') {
            line[strcspn(line, "\n")] = 0;
            snprintf(out, size, "%s", line + n + 1);
            found = true;
        }
    if (f)
        fclose(f);
    return found;
}

double number_of(const char *path, const char *key, double fallback)
{
    char text[512];
    return text_of_file(path, key, text, sizeof(text)) ? atof(text) : fallback;
}

double number(const char *key, double fallback)
{
    return number_of(device.path, key, fallback);
}

bool lies(const char *about)
{
    char text[512];
    return text_of_file(device.path, "lie", text, sizeof(text)) && !strcmp(text, about);
}

bool is_gone(const char *path)
{
    return access(path, F_OK) < 0 || number_of(path, "gone", 0) != 0;
}

void note(const char *path, const char *what, int value)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof(name), "%s.log", path);
    FILE *f = fopen(name, "a");
    if (f) {
        fprintf(f, "%s %d\n", what, value);
        fclose(f);
    }
}

unsigned listed(unsigned index, double *fps)
{
    char formats[512], rates[512] = "";
    if (!text_of_file(device.path, "formats", formats, sizeof(formats)) &&
        !text_of_file(device.path, "fourcc", formats, sizeof(formats)))
        strcpy(formats, "RGGB");
    text_of_file(device.path, "fps", rates, sizeof(rates));
    const char *f = formats, *r = rates;
    for (unsigned i = 0; i < index && f; i++) {
        f = strchr(f, ',') ? strchr(f, ',') + 1 : NULL;
        r = strchr(r, ',') ? strchr(r, ',') + 1 : r;
    }
    *fps = *r ? atof(r) : 30;
    return f && strlen(f) >= 4
               ? v4l2_fourcc((unsigned)f[0], (unsigned)f[1], (unsigned)f[2], (unsigned)f[3])
               : 0;
}

int fail(int error)
{
    errno = error;
    return -1;
}

double rate_of(unsigned fourcc)
{
    double fps = 30, best = 30;
    for (unsigned i = 0, f; (f = listed(i, &fps)) != 0; i++)
        if (f == fourcc)
            best = fps;
    return best;
}

bool is_multi(void)
{
    return number("multi", 0) != 0;
}
