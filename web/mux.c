/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames of a tap as a body: see mux.h.
 */
#include "web/mux.h"

#include "web/mux_raw.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 256 };

struct mux {
    enum mux_kind kind;
    uint32_t width, height;
    char pix_fmt[16];
    char header[2 * HEADER];
    size_t header_size; /* of y4m: it stands before the first frame */
    struct mux_raw *raw;
};

/* ---- y4m ---- */

/* Y4M's name of a pixel format and its siting; NULL: it has none. */
static const char *y4m_colour(const char *pix_fmt, unsigned siting)
{
    static const struct {
        const char *pix_fmt, *name;
    } names[] = {
        {"gray", "Cmono"},          {"yuv411p", "C411"},        {"yuv422p", "C422"},
        {"yuv444p", "C444"},        {"gray10le", "Cmono10"},    {"gray12le", "Cmono12"},
        {"yuv420p10le", "C420p10"}, {"yuv422p10le", "C422p10"}, {"yuv444p10le", "C444p10"},
        {"yuv420p12le", "C420p12"}, {"yuv422p12le", "C422p12"}, {"yuv444p12le", "C444p12"},
        {"yuv420p9le", "C420p9"},   {"yuv422p9le", "C422p9"},   {"yuv444p9le", "C444p9"},
        {"yuv420p14le", "C420p14"}, {"yuv422p14le", "C422p14"}, {"yuv444p14le", "C444p14"},
    };
    if (strcmp(pix_fmt, "yuv420p") == 0)
        return siting == 1 ? "C420mpeg2" : siting == 3 ? "C420paldv" : "C420jpeg";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i].pix_fmt, pix_fmt) == 0)
            return names[i].name;
    return NULL;
}

static bool y4m_begin(struct mux *m, const struct web_frame *f, struct pelton_rational rate,
                      struct pelton_failure *why)
{
    static const char *const ranges[] = {"", " XCOLORRANGE=LIMITED", " XCOLORRANGE=FULL"};
    const char *colour = y4m_colour(f->pix_fmt, f->colour.siting);
    if (!colour) {
        why->code = PELTON_ERR_UNSUPPORTED;
        snprintf(why->cause, sizeof(why->cause), "y4m has no %.20s", f->pix_fmt);
        snprintf(why->hint, sizeof(why->hint), "add pix_fmt=yuv420p");
        return false;
    }
    if (rate.num <= 0 || rate.den <= 0)
        rate = (struct pelton_rational){25, 1};
    snprintf(m->header, sizeof(m->header), "YUV4MPEG2 W%u H%u F%d:%d Ip A%d:%d %s%s\nFRAME\n",
             f->width, f->height, rate.num, rate.den, f->info.sar.num, f->info.sar.den, colour,
             (unsigned)f->colour.range < 3 ? ranges[f->colour.range] : "");
    m->header_size = strlen(m->header);
    return true;
}

static void y4m_frame(struct mux *m, const struct web_frame *f, struct http_piece *out)
{
    static const char mark[] = "FRAME\n";
    out[0] = m->header_size ? (struct http_piece){m->header, m->header_size}
                            : (struct http_piece){mark, sizeof(mark) - 1};
    out[1] = (struct http_piece){f->bytes, f->size};
    m->header_size = 0;
}

/* ---- parts of JPEG ---- */

static void part_frame(struct mux *m, const struct web_frame *f, struct http_piece *out)
{
    static const char end[] = "\r\n";
    int n = snprintf(m->header, sizeof(m->header),
                     "--pelton\r\nContent-Type: image/jpeg\r\nContent-Length: %zu\r\n"
                     "X-Sequence: %" PRIu64 "\r\nX-Captured-Ns: %" PRId64 "\r\n\r\n",
                     f->size, f->info.sequence, f->info.received_ns);
    out[0] = (struct http_piece){m->header, (size_t)n};
    out[1] = (struct http_piece){f->bytes, f->size};
    out[2] = (struct http_piece){end, sizeof(end) - 1};
}

/* ---- all kinds ---- */

static bool mux_begin(struct mux *m, const struct web_frame *first, struct pelton_rational rate,
                      struct pelton_failure *why)
{
    if (m->kind == MUX_MJPEG)
        return true;
    if (m->kind == MUX_Y4M)
        return y4m_begin(m, first, rate, why);
    m->raw = mux_raw_new(m->kind == MUX_MKV ? "matroska" : "nut", first, rate, why);
    return m->raw != NULL;
}

struct mux *mux_new(enum mux_kind kind, const struct web_frame *first, struct pelton_rational rate,
                    struct pelton_failure *why)
{
    struct mux *m = calloc(1, sizeof(*m));
    if (!m) {
        why->code = PELTON_ERR_NOMEM;
        snprintf(why->cause, sizeof(why->cause), "no memory");
        return NULL;
    }
    m->kind = kind;
    m->width = first->width;
    m->height = first->height;
    memcpy(m->pix_fmt, first->pix_fmt, sizeof(m->pix_fmt));
    if (mux_begin(m, first, rate, why))
        return m;
    mux_free(m);
    return NULL;
}

bool mux_frame(struct mux *m, const struct web_frame *frame, struct http_piece out[HTTP_PIECES])
{
    if (m->kind == MUX_MJPEG) { /* each part has its own size */
        part_frame(m, frame, out);
        return true;
    }
    if (frame->width != m->width || frame->height != m->height ||
        strcmp(frame->pix_fmt, m->pix_fmt) != 0)
        return false;
    if (m->kind == MUX_Y4M) {
        y4m_frame(m, frame, out);
        return true;
    }
    out[0].bytes = mux_raw_frame(m->raw, frame, &out[0].size);
    return out[0].bytes != NULL;
}

void mux_end(struct mux *m, struct http_piece out[HTTP_PIECES])
{
    if (m->raw) /* parts of JPEG end with the body: ffmpeg takes a last boundary for a fault */
        out[0].bytes = mux_raw_end(m->raw, &out[0].size);
}

void mux_free(struct mux *m)
{
    if (m)
        mux_raw_free(m->raw);
    free(m);
}
