/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names of pixel formats: a family and, above 8 bits, a depth.
 */
#include "daemon/worker/feed/pixels.h"
#include "codec/h264_params.h"

#include <stdio.h>
#include <string.h>

#define PLANE_ALIGN 256u

static const struct family {
    const char *name;
    enum recon_format planes;
    bool rgb;
} families[] = {
    {"gray", RECON_GRAY, false},    {"yuv420p", RECON_I420, false}, {"nv12", RECON_NV12, false},
    {"yuv422p", RECON_I422, false}, {"yuv444p", RECON_I444, false}, {"gbrp", RECON_I444, true},
};

static const struct {
    const char *suffix;
    uint8_t depth;
} depths[] = {{"", 8}, {"9le", 9}, {"10le", 10}, {"12le", 12}, {"14le", 14}};

enum {
    FAMILIES = sizeof(families) / sizeof(families[0]),
    DEPTHS = sizeof(depths) / sizeof(depths[0])
};

static void compose(const struct family *family, unsigned depth, struct pixels *out)
{
    *out =
        (struct pixels){.planes = family->planes, .depth = depths[depth].depth, .rgb = family->rgb};
    snprintf(out->name, sizeof(out->name), "%s%s", family->name, depths[depth].suffix);
}

bool pixels_by_name(const char *name, struct pixels *out)
{
    for (unsigned f = 0; f < FAMILIES; f++) {
        size_t length = strlen(families[f].name);
        if (strncmp(name, families[f].name, length))
            continue;
        for (unsigned d = 0; d < DEPTHS; d++)
            if (!strcmp(name + length, depths[d].suffix) &&
                (d == 0 || families[f].planes != RECON_NV12)) {
                compose(&families[f], d, out);
                return true;
            }
    }
    return false;
}

/* matrix_coefficients 0 (Table E-5): Y, Cb, Cr are G, B, R. */
static bool is_rgb(const struct h264_sps *sps)
{
    return sps->chroma_format_idc == 3 && sps->vui_present && sps->vui.colour_description_present &&
           sps->vui.matrix == 0;
}

void pixels_of(const struct h264_sps *sps, struct pixels *out)
{
    static const enum recon_format planes[4] = {RECON_GRAY, RECON_I420, RECON_I422, RECON_I444};
    uint8_t depth = sps->bit_depth[0] > sps->bit_depth[1] ? sps->bit_depth[0] : sps->bit_depth[1];
    unsigned f = 0, d = 0;
    while (families[f].planes != planes[sps->chroma_format_idc & 3] ||
           families[f].rgb != is_rgb(sps))
        f++;
    while (depths[d].depth < depth && d + 1 < DEPTHS)
        d++;
    compose(&families[f], d, out);
}

bool pixels_choose(const char *wish, const struct h264_sps *sps, struct pixels *out,
                   enum recon_format *delivered)
{
    struct pixels own, wanted;
    pixels_of(sps, &own);
    if (!wish || !strcmp(wish, own.name)) {
        *out = own;
        *delivered = own.planes;
        return true;
    }
    if (!pixels_by_name(wish, &wanted) || wanted.depth != own.depth || wanted.rgb || own.rgb)
        return false;
    bool luma = wanted.planes == RECON_GRAY || own.planes == RECON_GRAY;
    if (!luma && !(wanted.planes == RECON_NV12 && own.planes == RECON_I420))
        return false;
    *out = wanted;
    *delivered = luma ? RECON_GRAY : RECON_NV12;
    return true;
}

void pixels_layout(const struct pixels *pixels, uint32_t width, uint32_t height,
                   struct feed_format *f)
{
    uint32_t bytes = pixels->depth > 8 ? 2 : 1, half_width = (width + 1) / 2,
             half_height = (height + 1) / 2;
    f->planes = 0;
    f->slot_size = 0;
    feed_format_plane(f, bytes * width, height, PLANE_ALIGN);
    if (pixels->planes == RECON_NV12)
        feed_format_plane(f, bytes * 2 * half_width, half_height, PLANE_ALIGN);
    else
        for (int p = 0; p < 2 && pixels->planes != RECON_GRAY; p++)
            feed_format_plane(f, bytes * (pixels->planes == RECON_I444 ? width : half_width),
                              pixels->planes == RECON_I420 ? half_height : height, PLANE_ALIGN);
    feed_format_close(f);
    strcpy(f->pix_fmt, pixels->name);
    f->width = width;
    f->height = height;
}
