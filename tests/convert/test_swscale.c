/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Conversions beside libswscale, which has filters and matrices of its own: no value differs by
 * more than one level, or two where pictures are enlarged. In one row and one column libswscale
 * leaves the sample out that lies before the first one, and these differ by some more. The pictures
 * are made here: smooth shapes, hard edges, and noise.
 */
#include "convert/conversion.h"

#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct shot {
    int width, height;
    uint8_t chroma, depth, matrix, siting;
    bool full_range;
    int to_width, to_height;
    enum conversion_filter filter;
    const char *format;
};

static uint8_t *plane[3];
static int stride[3];

static uint32_t noise(uint32_t x, uint32_t y)
{
    uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca77u;
    h ^= h >> 15;
    h *= 0x2c1b3c6du;
    return h >> 20;
}

/* Kind 0: slow waves; 1: and stripes and boxes; 2: and noise. */
static uint32_t picture(int kind, int p, uint32_t x, uint32_t y, uint32_t top)
{
    uint32_t value = top / 4 + (x * (7 + (uint32_t)p) + y * 3) % (top / 2);
    if (kind > 0 && (x / 9 + y / 7) % 5 == 0)
        value = p ? top / 3 : top / 16 + top * 3 / 4 * (x % 2);
    if (kind > 1)
        value = (value + noise(x, y) % (top / 2)) / 2 + top / 8;
    return value < top ? value : top;
}

static void paint(const struct shot *s, int kind)
{
    for (int p = 0; p < 3; p++) {
        int sx = p && s->chroma < 3, sy = p && s->chroma == 1, bytes = s->depth > 8 ? 2 : 1,
            width = (s->width + sx) >> sx, height = (s->height + sy) >> sy;
        stride[p] = (width * bytes + 63) / 32 * 32;
        plane[p] = calloc((size_t)stride[p], (size_t)height + 1);
        assert_non_null(plane[p]);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                uint16_t value = (uint16_t)picture(kind, p, (uint32_t)(x << sx),
                                                   (uint32_t)(y << sy), (1u << s->depth) - 1);
                memcpy(plane[p] + (size_t)y * (size_t)stride[p] + (size_t)(x * bytes), &value,
                       (size_t)bytes);
            }
    }
}

static enum AVPixelFormat source_format(const struct shot *s)
{
    static const char *const names[4] = {"gray", "yuv420p", "yuv422p", "yuv444p"};
    char name[32];
    snprintf(name, sizeof(name), s->depth > 8 ? "%s%dle" : "%s", names[s->chroma], s->depth);
    return av_get_pix_fmt(name);
}

/* swscale's places are 1/256 of a luma sample; its own for 4:2:0 are those of the wrong siting. */
static struct SwsContext *peer_open(const struct shot *s, enum AVPixelFormat to)
{
    static const int flags[3] = {SWS_BICUBIC, SWS_BILINEAR, SWS_AREA};
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(to);
    struct SwsContext *c = sws_alloc_context();
    bool centre = s->siting == 2, half_out = !(d->flags & AV_PIX_FMT_FLAG_RGB);
    const struct {
        const char *name;
        int value;
    } options[] = {
        {"srcw", s->width},
        {"srch", s->height},
        {"src_format", source_format(s)},
        {"dstw", s->to_width},
        {"dsth", s->to_height},
        {"dst_format", to},
        {"sws_flags", flags[s->filter] | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT |
                          SWS_FULL_CHR_H_INP | SWS_BITEXACT},
        {"src_h_chr_pos", s->chroma < 3 ? (centre ? 128 : 0) : -513},
        {"src_v_chr_pos", s->chroma == 1 ? 128 : -513},
        {"dst_h_chr_pos", half_out && d->log2_chroma_w ? (centre ? 128 : 0) : -513},
        {"dst_v_chr_pos", half_out && d->log2_chroma_h ? 128 : -513},
    };
    assert_non_null(c);
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
        assert_true(av_opt_set_int(c, options[i].name, options[i].value, 0) >= 0);
    assert_true(sws_init_context(c, NULL, NULL) >= 0);
    const int *matrix = sws_getCoefficients(s->matrix);
    sws_setColorspaceDetails(c, matrix, s->full_range, matrix, half_out ? s->full_range : 1, 0,
                             1 << 16, 1 << 16);
    return c;
}

static struct conversion *own_open(const struct shot *s, enum AVPixelFormat to)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(to);
    struct conversion_source source = {.width = (uint32_t)s->width,
                                       .height = (uint32_t)s->height,
                                       .chroma = s->chroma,
                                       .depth = {s->depth, s->depth},
                                       .matrix = s->matrix,
                                       .siting = s->siting,
                                       .full_range = s->full_range};
    struct conversion_wish wish = {.width = (uint32_t)s->to_width,
                                   .height = (uint32_t)s->to_height,
                                   .filter = s->filter,
                                   .chroma = d->log2_chroma_h   ? 1
                                             : d->log2_chroma_w ? 2
                                                                : 3,
                                   .depth = 8};
    char why[160];
    if (d->flags & AV_PIX_FMT_FLAG_RGB) {
        wish.kind = CONVERSION_PIXELS;
        wish.packed = true;
        strcpy(wish.order, "rgb");
    }
    struct conversion *c = conversion_create(&source, &wish, why);
    if (!c)
        fail_msg("%s", why);
    return c;
}

#define EDGE        12 /* from the top or the left side */
#define EDGE_LEVELS 8

static int levels_allowed(const struct conversion *c)
{
    return c->wish.width > c->source.width ? 2 : 1;
}

/* Rows and columns of a plane where libswscale leaves a sample out. */
struct odd {
    bool row[EDGE], column[EDGE];
};

/* False: a difference that is too large. */
static bool odd_note(struct odd *odd, uint32_t x, uint32_t y, int difference)
{
    if (difference > EDGE_LEVELS || (x >= EDGE && y >= EDGE))
        return false;
    if (x >= EDGE)
        odd->row[y] = true;
    else if (y >= EDGE)
        odd->column[x] = true;
    return true;
}

/* Luma and chroma have one row and one column each. */
static void odd_check(const struct odd *odd)
{
    int rows = 0, columns = 0;
    for (int i = 0; i < EDGE; i++) {
        rows += odd->row[i];
        columns += odd->column[i];
    }
    assert_in_range(rows, 0, 2);
    assert_in_range(columns, 0, 2);
}

/* Values that differ by one, in thousandths; a larger difference fails. */
static long compare(const struct shot *s, int kind, const struct conversion *c,
                    uint8_t *const own[4], const size_t own_stride[4], uint8_t *const peer[4],
                    const int peer_stride[4])
{
    long differ = 0, all = 0;
    for (uint32_t p = 0; p < c->shape.planes; p++) {
        struct odd odd = {0};
        for (uint32_t y = 0; y < c->shape.rows[p]; y++)
            for (uint32_t i = 0; i < c->shape.row_bytes[p]; i++, all++) {
                int a = own[p][y * own_stride[p] + i], b = peer[p][y * (size_t)peer_stride[p] + i];
                uint32_t x = i / (c->wish.packed ? c->channels : 1);
                if (abs(a - b) > levels_allowed(c) && !odd_note(&odd, x, y, abs(a - b)))
                    fail_msg("%dx%d to %dx%d %s, matrix %u, chroma %u, filter %d, kind %d: plane "
                             "%u, value %u of row %u is %d, swscale has %d",
                             s->width, s->height, s->to_width, s->to_height, s->format, s->matrix,
                             s->chroma, s->filter, kind, p, i, y, a, b);
                differ += a != b;
            }
        odd_check(&odd);
    }
    return 1000 * differ / all;
}

static long shot_compare(const struct shot *s, int kind)
{
    enum AVPixelFormat to = av_get_pix_fmt(s->format);
    paint(s, kind);
    struct conversion *c = own_open(s, to);
    struct SwsContext *peer = peer_open(s, to);
    uint8_t *own[4] = {0}, *theirs[4] = {0};
    size_t own_stride[4] = {0};
    int peer_stride[4] = {0};
    for (uint32_t p = 0; p < c->shape.planes; p++) {
        own_stride[p] = (c->shape.row_bytes[p] + 63) / 32 * 32;
        peer_stride[p] = (int)own_stride[p];
        own[p] = calloc(own_stride[p], c->shape.rows[p] + 1);
        theirs[p] = calloc(own_stride[p], c->shape.rows[p] + 1);
    }
    const struct conversion_input in = {{plane[0], plane[1], plane[2]},
                                        {(size_t)stride[0], (size_t)stride[1], (size_t)stride[2]}};
    assert_true(conversion_run(c, &in, own, own_stride));
    sws_scale(peer, (const uint8_t *const *)plane, stride, 0, s->height, theirs, peer_stride);
    long thousandths = compare(s, kind, c, own, own_stride, theirs, peer_stride);
    for (int p = 0; p < 4; p++) {
        free(own[p]);
        free(theirs[p]);
        if (p < 3)
            free(plane[p]);
    }
    sws_freeContext(peer);
    free(c);
    return thousandths;
}

static void sizes_and_matrices(void **state)
{
    static const struct shot shots[] = {
        {320, 180, 1, 8, 1, 1, false, 112, 112, CONVERSION_BICUBIC, "rgb24"},
        {320, 180, 1, 8, 6, 1, false, 320, 180, CONVERSION_BICUBIC, "rgb24"},
        {320, 180, 1, 8, 5, 2, true, 200, 100, CONVERSION_BICUBIC, "rgb24"},
        {176, 144, 2, 8, 1, 1, false, 440, 300, CONVERSION_BICUBIC, "rgb24"},
        {176, 144, 3, 8, 9, 1, false, 77, 61, CONVERSION_BICUBIC, "rgb24"},
        {320, 180, 1, 10, 9, 1, false, 160, 90, CONVERSION_BICUBIC, "rgb24"},
        {320, 180, 1, 8, 1, 1, false, 112, 112, CONVERSION_BILINEAR, "rgb24"},
        {320, 180, 1, 8, 1, 1, false, 112, 112, CONVERSION_BICUBIC, "yuv420p"},
        {320, 180, 2, 8, 1, 1, false, 200, 150, CONVERSION_BICUBIC, "yuv420p"},
        {176, 144, 1, 8, 7, 1, false, 352, 288, CONVERSION_BICUBIC, "yuv420p"},
        {320, 180, 1, 8, 1, 1, false, 40, 30, CONVERSION_AREA, "rgb24"},
        {1280, 720, 1, 8, 1, 1, false, 448, 448, CONVERSION_BICUBIC, "rgb24"},
    };
    for (size_t i = 0; i < sizeof(shots) / sizeof(*shots); i++)
        for (int kind = 0; kind < 3; kind++) {
            long differ = shot_compare(&shots[i], kind);
            print_message("%dx%d to %dx%d %s, kind %d: %ld of 1000 values differ by one level\n",
                          shots[i].width, shots[i].height, shots[i].to_width, shots[i].to_height,
                          shots[i].format, kind, differ);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_and_matrices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
