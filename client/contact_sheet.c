/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The length of a stream need not be known. Every n-th frame is kept as a tile. When the tiles fill
 * their room, every second one goes, and n doubles. At the end the tiles of the sheet are taken at
 * even distances from those that are left.
 */
#include "client/contact_sheet.h"
#include "client/convert.h"

#include <libavutil/imgutils.h>
#include <libavutil/mem.h>
#include <libswscale/swscale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE = 8, /* tiles that are kept for each one that is shown */
    SHEET_WIDTH = 1920,
    TILE_LEAST = 64,
    GAP = 4,
    GROUND = 24, /* dark grey */
    GLYPH_WIDTH = 5,
    GLYPH_HEIGHT = 7,
};

struct tile {
    uint8_t *rgb;
    double seconds;
};

struct contact_sheet {
    uint32_t columns, rows;
    int tile_width, tile_height;
    struct tile *tiles;
    unsigned n, room;
    uint64_t seen, stride;
    struct convert *convert;
    struct SwsContext *scaler;
    AVFrame *picture;
};

int contact_sheet_open(uint32_t columns, uint32_t rows, struct contact_sheet **out,
                       struct failure *f)
{
    struct contact_sheet *s = calloc(1, sizeof(*s));
    if (s) {
        s->columns = columns;
        s->rows = rows;
        s->stride = 1;
        s->room = SPARE * columns * rows;
        s->tiles = calloc(s->room, sizeof(*s->tiles));
        s->picture = av_frame_alloc();
    }
    if (!s || !s->tiles || !s->picture) {
        contact_sheet_close(s);
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    }
    *out = s;
    return 0;
}

void contact_sheet_close(struct contact_sheet *s)
{
    if (!s)
        return;
    for (unsigned i = 0; i < s->n; i++)
        av_free(s->tiles[i].rgb);
    free(s->tiles);
    convert_free(s->convert);
    sws_freeContext(s->scaler);
    av_frame_free(&s->picture);
    free(s);
}

/* ---- tiles ---- */

/* The first frame decides. Tiles have square pixels. */
static void choose_tile_size(struct contact_sheet *s, const AVFrame *frame)
{
    AVRational sar = frame->sample_aspect_ratio;
    double wide =
        (double)frame->width * (sar.num > 0 && sar.den > 0 ? (double)sar.num / sar.den : 1);
    int most = ((int)SHEET_WIDTH - GAP) / (int)s->columns - GAP;
    int width = most < TILE_LEAST ? TILE_LEAST : most;
    width = wide < width ? (int)wide : width;
    width = width < TILE_LEAST ? TILE_LEAST : width;
    double height = width * frame->height / wide;
    s->tile_width = width;
    s->tile_height = height < 1 ? 1 : height > 4 * SHEET_WIDTH ? 4 * SHEET_WIDTH : (int)height;
}

/* Every second tile goes. */
static void thin_out(struct contact_sheet *s)
{
    unsigned n = 0;
    for (unsigned i = 0; i < s->n; i++)
        if (i % 2)
            av_free(s->tiles[i].rgb);
        else
            s->tiles[n++] = s->tiles[i];
    s->n = n;
    s->stride *= 2;
}

static int scale_tile(struct contact_sheet *s, const AVFrame *frame, uint8_t *rgb,
                      struct failure *f)
{
    const AVFrame *whole = frame;
    int stride = 3 * s->tile_width;
    if (frame->format != AV_PIX_FMT_RGB24 &&
        convert_frame(&s->convert, frame, AV_PIX_FMT_RGB24, &whole, f))
        return f->code;
    s->scaler = sws_getCachedContext(s->scaler, whole->width, whole->height, AV_PIX_FMT_RGB24,
                                     s->tile_width, s->tile_height, AV_PIX_FMT_RGB24, SWS_AREA,
                                     NULL, NULL, NULL);
    if (!s->scaler)
        return fail_with(f, X_OTHER, "fewer columns give larger tiles", "the tiles cannot be made");
    sws_scale(s->scaler, (const uint8_t *const *)whole->data, whole->linesize, 0, whole->height,
              &rgb, &stride);
    return 0;
}

int contact_sheet_frame(struct contact_sheet *s, const AVFrame *frame, double seconds,
                        struct failure *f)
{
    if (s->seen++ % s->stride != 0)
        return 0;
    if (s->n == s->room) {
        thin_out(s);
        if ((s->seen - 1) % s->stride != 0)
            return 0;
    }
    if (!s->tile_width)
        choose_tile_size(s, frame);
    uint8_t *rgb = av_malloc(3 * (size_t)s->tile_width * (size_t)s->tile_height + 64);
    if (!rgb)
        return fail_with(f, X_OTHER, "a sheet of fewer tiles takes less", "out of memory");
    int rc = scale_tile(s, frame, rgb, f);
    if (rc) {
        av_free(rgb);
        return rc;
    }
    s->tiles[s->n++] = (struct tile){.rgb = rgb, .seconds = seconds};
    return 0;
}

/* ---- drawing ---- */

/* One row of a glyph is 5 bits; the leftmost is the highest. */
static const uint8_t *glyph(char c)
{
    static const uint8_t digits[12][GLYPH_HEIGHT] = {
        {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}, {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e},
        {0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f}, {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e},
        {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}, {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e},
        {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}, {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
        {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}, {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c},
        {0x00, 0x0c, 0x0c, 0x00, 0x0c, 0x0c, 0x00}, {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c},
    };
    return digits[c == ':' ? 10 : c == '.' ? 11 : c - '0'];
}

static void time_text(double seconds, char *out, size_t size)
{
    uint64_t tenths = seconds > 0 ? (uint64_t)(seconds * 10 + 0.5) : 0, s = tenths / 10;
    if (s < 3600) {
        snprintf(out, size, "%u:%02u.%u", (unsigned)(s / 60), (unsigned)(s % 60),
                 (unsigned)(tenths % 10));
    } else {
        snprintf(out, size, "%u:%02u:%02u", (unsigned)(s / 3600), (unsigned)(s / 60 % 60),
                 (unsigned)(s % 60));
    }
}

/* Sets a rectangle of a tile to a grey; what lies outside the tile is left out. */
static void tile_fill(const struct contact_sheet *s, uint8_t *rgb, int x, int y, int width,
                      int height, uint8_t grey)
{
    for (int row = y < 0 ? 0 : y; row < y + height && row < s->tile_height; row++)
        for (int column = x < 0 ? 0 : x; column < x + width && column < s->tile_width; column++)
            memset(rgb + 3 * ((size_t)row * (size_t)s->tile_width + (size_t)column), grey, 3);
}

/* White on black, in the lower left corner. */
static void tile_label(const struct contact_sheet *s, struct tile *tile)
{
    char text[32];
    time_text(tile->seconds, text, sizeof(text));
    int dot = s->tile_height / 100 + 1, length = (int)strlen(text);
    int width = (length * (GLYPH_WIDTH + 1) + 1) * dot, height = (GLYPH_HEIGHT + 2) * dot;
    int top = s->tile_height - height;
    tile_fill(s, tile->rgb, 0, top, width, height, 0);
    for (int i = 0; i < length; i++) {
        const uint8_t *rows = glyph(text[i]);
        for (int y = 0; y < GLYPH_HEIGHT; y++)
            for (int x = 0; x < GLYPH_WIDTH; x++)
                if (rows[y] >> (GLYPH_WIDTH - 1 - x) & 1)
                    tile_fill(s, tile->rgb, (1 + i * (GLYPH_WIDTH + 1) + x) * dot,
                              top + (1 + y) * dot, dot, dot, 255);
    }
}

static int prepare_picture(struct contact_sheet *s, unsigned shown, struct failure *f)
{
    unsigned rows = (shown + s->columns - 1) / s->columns;
    AVFrame *p = s->picture;
    p->format = AV_PIX_FMT_RGB24;
    p->width = (int)s->columns * (s->tile_width + GAP) + GAP;
    p->height = (int)rows * (s->tile_height + GAP) + GAP;
    p->sample_aspect_ratio = (AVRational){1, 1};
    p->time_base = (AVRational){1, 25};
    p->colorspace = AVCOL_SPC_RGB;
    p->color_range = AVCOL_RANGE_JPEG;
    if (av_frame_get_buffer(p, 0) < 0)
        return fail_with(f, X_OTHER, "a sheet of fewer tiles takes less", "out of memory");
    for (int y = 0; y < p->height; y++)
        memset(p->data[0] + (ptrdiff_t)y * p->linesize[0], GROUND, 3 * (size_t)p->width);
    return 0;
}

int contact_sheet_draw(struct contact_sheet *s, const AVFrame **out, struct failure *f)
{
    unsigned most = s->columns * s->rows, shown = s->n < most ? s->n : most;
    *out = NULL;
    if (shown == 0 || prepare_picture(s, shown, f))
        return f->code;
    for (unsigned i = 0; i < shown; i++) {
        struct tile *tile = &s->tiles[(2 * i + 1) * s->n / (2 * shown)];
        int left = GAP + (int)(i % s->columns) * (s->tile_width + GAP),
            top = GAP + (int)(i / s->columns) * (s->tile_height + GAP);
        tile_label(s, tile);
        av_image_copy_plane(s->picture->data[0] + (ptrdiff_t)top * s->picture->linesize[0] +
                                3 * (ptrdiff_t)left,
                            s->picture->linesize[0], tile->rgb, 3 * s->tile_width,
                            3 * s->tile_width, s->tile_height);
    }
    *out = s->picture;
    return 0;
}
