/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG files of raw frames by jpeg/, one after the other, for tests of the whole way:
 *   jpegof WIDTH HEIGHT PIX_FMT QUALITY MATRIX FULL_RANGE [SAR SAR] < frames > files
 * PIX_FMT is gray, yuv420p, yuv422p or yuv444p; MATRIX counts as H.273. SAR: a sample's shape.
 */
#include "jpeg/jpeg_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sampling_of(const char *name)
{
    static const char *const names[JPEG_SAMPLINGS] = {"gray", "yuv420p", "yuv422p", "yuv444p"};
    for (int i = 0; i < JPEG_SAMPLINGS; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

static size_t planes_of(const struct jpeg_settings *s, const uint8_t *frame,
                        struct jpeg_planes *out)
{
    struct jpeg_shape shape;
    size_t at = 0;
    jpeg_shape_of(s, &shape);
    memset(out, 0, sizeof(*out));
    for (uint32_t c = 0; c < shape.components; c++) {
        out->data[c] = frame + at;
        out->stride[c] = shape.plane_size[c][0];
        at += (size_t)shape.plane_size[c][0] * shape.plane_size[c][1];
    }
    return at;
}

static int files_write(const struct jpeg_settings *s)
{
    struct jpeg_planes planes;
    uint8_t *frame = malloc(3ull * s->width * s->height), *file = malloc(jpeg_most_bytes(s));
    int rc = frame && file ? 0 : 1;
    size_t size = rc ? 0 : planes_of(s, frame, &planes);
    while (!rc && fread(frame, 1, size, stdin) == size) {
        size_t n = jpeg_encode(s, &planes, file, jpeg_most_bytes(s));
        rc = !n || fwrite(file, 1, n, stdout) != n;
    }
    free(frame);
    free(file);
    return rc;
}

int main(int argc, char **argv)
{
    struct jpeg_settings s;
    char why[JPEG_WHY] = "no such pixels, or no way from this matrix";
    int sampling = argc == 7 || argc == 9 ? sampling_of(argv[3]) : -1;
    if (sampling >= 0)
        s = (struct jpeg_settings){.width = (uint32_t)atoi(argv[1]),
                                   .height = (uint32_t)atoi(argv[2]),
                                   .sampling = (enum jpeg_sampling)sampling,
                                   .quality = (uint32_t)atoi(argv[4])};
    for (int i = 7; i < argc && sampling >= 0; i++)
        s.aspect[i - 7] = (uint16_t)atoi(argv[i]);
    if (sampling < 0 ||
        !jpeg_colours_of((uint8_t)atoi(argv[5]), atoi(argv[6]) != 0, s.height, &s.colours) ||
        jpeg_check(&s, why) < 0) {
        fprintf(stderr, "jpegof: %s\n", why);
        return 2;
    }
    return files_write(&s);
}
