/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slices are independent, and the order of their bytes is that of their addresses. So each is
 * written beside the others, and then appended. A picture of one slice needs neither threads nor
 * the copy. Nor do slices whose bits are there.
 */
#include "encode/picture_writer.h"

#include "encode/row_threads.h"

#include <stdio.h>
#include <stdlib.h>

struct slice_part {
    struct slice_scratch *scratch;
    struct bit_writer out;
    struct slice_sums sums;
    int err;
    char why[ENCODING_WHY];
};

struct picture_writer {
    unsigned slices;
    struct row_threads *threads; /* NULL: the caller alone */
    struct slice_part part[ENCODING_SLICES];
    /* of the picture */
    const struct slice_stream *stream;
    const struct rec_view *view;
    const struct slice_data *data;
    const struct h264_slice_header *header;
};

struct picture_writer *picture_writer_create(unsigned slices)
{
    struct picture_writer *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->slices = slices;
    w->threads = row_threads_create(slices);
    for (unsigned i = 0; i < slices; i++)
        if (!(w->part[i].scratch = slice_scratch_create())) {
            picture_writer_free(w);
            return NULL;
        }
    return w;
}

void picture_writer_free(struct picture_writer *w)
{
    if (!w)
        return;
    row_threads_free(w->threads);
    for (unsigned i = 0; i < w->slices; i++) {
        slice_scratch_free(w->part[i].scratch);
        bit_writer_free(&w->part[i].out);
    }
    free(w);
}

static int part_write(struct picture_writer *w, uint32_t index, struct bit_writer *out)
{
    struct slice_part *p = &w->part[index];
    struct h264_slice_header h = *w->header;
    p->sums = (struct slice_sums){0};
    if (w->data)
        return slice_write_data(p->scratch, w->stream, w->view, index, &w->data[index], &h, out,
                                &p->sums, p->why);
    if (slice_header_of(w->stream, w->view, index, &h, p->why) < 0)
        return -1;
    return slice_write(p->scratch, w->stream, w->view, &h, out, &p->sums, p->why);
}

static void part_run(void *ctx, uint32_t index)
{
    struct picture_writer *w = ctx;
    struct slice_part *p = &w->part[index];
    p->out.bits = 0;
    p->out.failed = false;
    p->err = part_write(w, index, &p->out);
}

static int refuse(const struct slice_part *p, char *why)
{
    snprintf(why, ENCODING_WHY, "%s", p->why);
    return -1;
}

static void sums_add(struct slice_sums *sums, const struct slice_part *p)
{
    sums->bins += p->sums.bins;
    sums->bytes += p->sums.bytes;
}

static int write_in_turn(struct picture_writer *w, struct bit_writer *out, struct slice_sums *sums,
                         char *why)
{
    for (uint32_t i = 0; i < w->view->slice_count; i++) {
        if (part_write(w, i, out) < 0)
            return refuse(&w->part[i], why);
        sums_add(sums, &w->part[i]);
    }
    return 0;
}

static int write_beside(struct picture_writer *w, struct bit_writer *out, struct slice_sums *sums,
                        char *why)
{
    row_threads_run(w->threads, part_run, w, w->view->slice_count);
    for (uint32_t i = 0; i < w->view->slice_count; i++) {
        const struct slice_part *p = &w->part[i];
        if (p->err < 0)
            return refuse(p, why);
        bit_writer_bytes(out, p->out.data, p->out.bits / 8);
        sums_add(sums, p);
    }
    return 0;
}

int picture_write(struct picture_writer *w, const struct slice_stream *stream,
                  const struct rec_view *view, const struct slice_data *data,
                  const struct h264_slice_header *header, struct bit_writer *out, char *why)
{
    struct slice_sums sums = {0};
    w->stream = stream;
    w->view = view;
    w->data = data;
    w->header = header;
    if (view->slice_count > w->slices)
        return snprintf(why, ENCODING_WHY, "more slices than the writer has room for"), -1;
    bool copied = data && !stream->pps->entropy_coding_mode_flag; /* which no thread is woken for */
    if ((view->slice_count == 1 || copied ? write_in_turn : write_beside)(w, out, &sums, why) < 0)
        return -1;
    picture_end(view, &sums, out);
    if (out->failed)
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    return 0;
}
