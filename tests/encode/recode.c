/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes the pictures of a stream again from their records: each P and I slice of progressive
 * frames in CAVLC or CABAC, whatever it was. Other slices are copied. Then it decodes the result
 * and compares the records of each picture, and the frames.
 *
 *   recode [options] IN OUT
 *     --cavlc, --cabac  The entropy coding that is written; else that of each slice.
 *     --frames N        Ends after N pictures.
 *     --parse           Reconstructs no samples: records alone are compared.
 *     --time            Prints how fast bins are made and coded, and CAVLC is written.
 *
 * Prints pictures, slices that were written and copied, causes of refusals, and the MD5 of all
 * frames. Exit: 0 equal, 1 a difference, 2 usage.
 */
#include "encode/header_writer.h"
#include "encode/slice_writer.h"
#include "tests/encode/same_records.h"
#include "tests/tools/annexb.h"
#include "tests/tools/md5.h"
#include "tests/tools/read_file.h"
#include "tests/tools/refdec.h"

#include "codec/h264_stream.h"
#include "codec/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VARIANT                                                                                    \
    128 /* id of the PPS with the other entropy coding: that of the stream's, plus this */

struct recode {
    struct refdec d; /* first: its functions find the program */
    struct md5 md5;
    uint64_t frames;
    bool second; /* the pass that compares */
    int entropy; /* -1: that of each slice */
    unsigned most, pictures;
    struct rec_view *kept; /* copies of the first pass */
    unsigned kept_capacity;
    struct slice_scratch *scratch;
    struct bit_writer out;
    const struct h264_sps *sps; /* written last */
    const struct h264_pps *pps[256];
    unsigned written, copied, refused, differ;
    char refusal[ENCODING_WHY];
    bool timed;
    struct bin_string bins;
    double seconds[3]; /* to make bins, to code them, to write CAVLC */
    uint64_t bins_coded, bits_cavlc;
};

static void *copy_of(const void *from, size_t size)
{
    void *to = malloc(size ? size : 1);
    if (!to) {
        fprintf(stderr, "recode: no memory\n");
        exit(1);
    }
    if (size)
        memcpy(to, from, size);
    return to;
}

static void keep(struct rec_view *k, const struct rec_view *v)
{
    size_t mbs = v->head.mb_count;
    *k = *v;
    k->mbs = copy_of(v->mbs, mbs * sizeof(*v->mbs));
    k->motion = v->head.has_inter ? copy_of(v->motion, mbs * sizeof(*v->motion)) : NULL;
    k->slices = copy_of(v->slices, v->slice_count * sizeof(*v->slices));
    k->coeffs = copy_of(v->coeffs, (size_t)v->coeff_block_count * 16 * v->head.coeff_bytes);
}

static void kept_free(struct rec_view *k)
{
    free((void *)k->mbs);
    free((void *)k->motion);
    free((void *)k->slices);
    free((void *)k->coeffs);
}

static void compare(struct recode *r, const struct rec_view *kept, const struct rec_view *v)
{
    uint32_t mb;
    const char *what = records_difference(kept, v, &mb);
    if (what && r->differ++ < 5)
        fprintf(stderr, "picture %u: %s of macroblock %" PRIu32 " differs\n", r->pictures, what,
                mb);
}

/* ---- writing ---- */

/* Lists as values in scan order; all are sent. */
static struct scaling_lists lists_of(const struct rec_scaling *s, unsigned present,
                                     unsigned use_default)
{
    struct scaling_lists l = {.present = (uint16_t)present, .use_default = (uint16_t)use_default};
    for (unsigned i = 0; i < 12; i++) {
        l.sent[i] = i < 6 ? 16 : 64;
        for (unsigned k = 0; k < l.sent[i]; k++)
            l.value[i][k] =
                i < 6 ? s->m4[i][h264_scan_4x4[0][k]] : s->m8[i - 6][h264_scan_8x8[0][k]];
    }
    return l;
}

static void write_unit(struct recode *r, unsigned type, struct bit_writer *rbsp)
{
    struct bit_writer unit = {0};
    write_nal_header(3, type, &unit);
    bit_writer_bytes(&unit, rbsp->data, rbsp->bits / 8);
    bit_writer_nal(&r->out, &unit);
    bit_writer_free(&unit);
    bit_writer_free(rbsp);
}

static void write_sps(struct recode *r, const struct h264_sps *sps)
{
    struct h264_sps *copy = copy_of(sps, sizeof(*sps));
    struct scaling_lists lists = lists_of(&sps->scaling, 0xfff, 0);
    struct sps_details details = {.lists = &lists, .log2_max_mv_length = 16};
    struct bit_writer rbsp = {0};
    copy->vui.nal_hrd_present = copy->vui.vcl_hrd_present = 0; /* its rates are not parsed */
    write_sps_data(copy, &details, &rbsp);
    bit_writer_trailing(&rbsp);
    write_unit(r, 7, &rbsp);
    free(copy);
    r->sps = sps;
    memset(r->pps, 0, sizeof(r->pps));
}

static void write_pps(struct recode *r, const struct h264_sps *sps, const struct h264_pps *pps)
{
    struct scaling_lists lists = lists_of(&pps->lists, pps->list_present, pps->list_default);
    struct bit_writer rbsp = {0};
    write_pps_data(sps, pps, &lists, &rbsp);
    bit_writer_trailing(&rbsp);
    write_unit(r, 8, &rbsp);
}

/* The PPS of a slice that is written again, with the other entropy coding maybe. */
static struct h264_pps *variant_of(const struct recode *r, const struct h264_slice *s)
{
    struct h264_pps *pps = copy_of(s->pps, sizeof(*pps));
    pps->entropy_coding_mode_flag =
        (uint8_t)(r->entropy < 0 ? s->pps->entropy_coding_mode_flag : r->entropy);
    if (pps->entropy_coding_mode_flag != s->pps->entropy_coding_mode_flag)
        pps->id = (uint8_t)(s->pps->id + VARIANT);
    return pps;
}

/* They come before the first slice: later they would begin an access unit (7.4.1.2.3). */
static void write_sets(struct recode *r, const struct h264_slice *s)
{
    struct h264_pps *pps = variant_of(r, s);
    if (s->sps != r->sps)
        write_sps(r, s->sps);
    if (r->pps[s->pps->id] != s->pps) {
        write_pps(r, s->sps, s->pps);
        if (pps->id != s->pps->id)
            write_pps(r, s->sps, pps);
        r->pps[s->pps->id] = s->pps;
    }
    free(pps);
}

static bool can_write(const struct rec_view *v, const struct h264_slice *s)
{
    return v->head.structure == REC_FRAME && !v->head.mbaff && v->head.chroma_format_idc <= 1 &&
           v->head.bit_depth[0] == 8 && v->head.bit_depth[1] == 8 && !s->slice_group_map &&
           s->hdr.nal_unit_type != 2 && s->hdr.nal_unit_type != 20 && !s->hdr.redundant_pic_cnt &&
           (s->hdr.type == H264_P || s->hdr.type == H264_I);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The same slice once more, into nothing, by the clock */
static void write_timed(struct recode *r, const struct slice_stream *stream,
                        const struct rec_view *v, const struct h264_slice_header *h)
{
    struct bit_writer out = {0};
    struct slice_sums sums = {0};
    double begin = now(), made;
    if (stream->pps->entropy_coding_mode_flag) {
        slice_bins(r->scratch, stream, v, h, &r->bins, r->refusal);
        made = now();
        slice_code(r->scratch, stream, h, r->bins.codes, r->bins.count, &out, &sums, r->refusal);
        r->seconds[0] += made - begin;
        r->seconds[1] += now() - made;
        r->bins_coded += sums.bins;
    } else {
        slice_write(r->scratch, stream, v, h, &out, &sums, r->refusal);
        r->seconds[2] += now() - begin;
        r->bits_cavlc += out.bits;
    }
    bit_writer_free(&out);
}

static void print_times(const struct recode *r)
{
    if (r->bins_coded)
        printf("CABAC: %.1f million bins; made at %.1f, coded at %.1f million a second\n",
               (double)r->bins_coded * 1e-6, (double)r->bins_coded * 1e-6 / r->seconds[0],
               (double)r->bins_coded * 1e-6 / r->seconds[1]);
    if (r->bits_cavlc)
        printf("CAVLC: %.1f million bits, written at %.1f million a second\n",
               (double)r->bits_cavlc * 1e-6, (double)r->bits_cavlc * 1e-6 / r->seconds[2]);
}

static bool write_again(struct recode *r, const struct rec_view *v, const struct h264_slice *s)
{
    struct h264_pps *pps = variant_of(r, s);
    struct slice_stream stream = {.sps = s->sps, .pps = pps};
    struct h264_slice_header h = s->hdr;
    struct slice_sums sums = {0};
    int error;
    error = slice_header_of(&stream, v, s->index, &h, r->refusal);
    if (!error)
        error = slice_write(r->scratch, &stream, v, &h, &r->out, &sums, r->refusal);
    if (!error)
        picture_end(v, &sums, &r->out);
    if (!error && r->timed)
        write_timed(r, &stream, v, &h);
    free(pps);
    r->written += !error;
    r->refused += error != 0;
    if (error)
        printf("refused: %s\n", r->refusal);
    return !error;
}

static void copy_unit(struct recode *r, const uint8_t *nal, size_t size)
{
    static const uint8_t start[4] = {0, 0, 0, 1};
    if (!nal)
        return;
    bit_writer_bytes(&r->out, start, sizeof(start));
    bit_writer_bytes(&r->out, nal, size);
}

static void write_picture(struct recode *r, struct h264_picture *pic, const struct rec_view *v)
{
    for (uint32_t i = 0; i < pic->slice_count; i++)
        write_sets(r, &pic->slices[i]);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        const struct h264_slice *s = &pic->slices[i];
        if (can_write(v, s) && write_again(r, v, s))
            continue;
        copy_unit(r, s->nal, s->nal_size);
        copy_unit(r, s->nal_b, s->nal_b_size);
        copy_unit(r, s->nal_c, s->nal_c_size);
        r->copied++;
    }
}

/* ---- decoding ---- */

static void after(struct refdec *d, struct h264_picture *pic)
{
    struct recode *r = (struct recode *)d;
    struct rec_view view;
    if (pic->non_existing || h264_picture_view(pic, &view) < 0 || r->pictures == r->most)
        return;
    if (r->second) {
        compare(r, &r->kept[r->pictures++], &view);
        return;
    }
    if (r->pictures == r->kept_capacity) {
        r->kept_capacity = 2 * r->kept_capacity + 64;
        r->kept = realloc(r->kept, r->kept_capacity * sizeof(*r->kept));
        if (!r->kept)
            exit(1);
    }
    keep(&r->kept[r->pictures++], &view);
    write_picture(r, pic, &view);
}

static void emit(struct refdec *d, const struct h264_picture *pic)
{
    struct recode *r = (struct recode *)d;
    const struct ref_frame *f = d->slots[pic->holder.slot].frame;
    const struct h264_sps *sps = pic->sps;
    uint8_t row[16384];
    if (d->parse_alone)
        return;
    r->frames++;
    for (unsigned c = 0; c < (f->chroma_format_idc ? 3u : 1u); c++) {
        unsigned half = c && f->chroma_format_idc == 1;
        uint32_t x0 = sps->crop_left >> half, x1 = (f->width - sps->crop_right) >> half,
                 y1 = (f->height - sps->crop_bottom) >> half;
        for (uint32_t y = sps->crop_top >> half; y < y1; y++) {
            for (uint32_t x = x0; x < x1; x++)
                row[x - x0] = (uint8_t)f->plane[c][y * f->stride[c] + x];
            md5_update(&r->md5, row, x1 - x0);
        }
    }
}

static void pass(struct recode *r, const uint8_t *data, size_t size, bool second, char md5[33])
{
    bool parse_alone = r->d.parse_alone;
    size_t at = annexb_start(data, size, 0);
    r->d = (struct refdec){.parse_alone = parse_alone, .after = after, .emit = emit};
    r->second = second;
    r->pictures = 0;
    r->frames = 0;
    md5_init(&r->md5);
    if (!refdec_open(&r->d, 1))
        exit(1);
    while (at < size && r->pictures < r->most) {
        struct h264_diag diag = {0};
        size_t next = annexb_start(data, size, at + 3);
        h264_stream_feed(r->d.stream, data + at, next - at, 0, &diag);
        refdec_drain(&r->d, false);
        at = next;
    }
    h264_stream_flush(r->d.stream);
    refdec_drain(&r->d, true);
    r->differ += r->d.failed;
    refdec_close(&r->d);
    md5_finish(&r->md5, md5);
}

static const char *parse_arguments(struct recode *r, int argc, char **argv, const char **out)
{
    const char *in = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--cavlc") == 0)
            r->entropy = 0;
        else if (strcmp(argv[i], "--cabac") == 0)
            r->entropy = 1;
        else if (strcmp(argv[i], "--parse") == 0)
            r->d.parse_alone = true;
        else if (strcmp(argv[i], "--time") == 0)
            r->timed = true;
        else if (strcmp(argv[i], "--frames") == 0 && i + 1 < argc)
            r->most = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (argv[i][0] == '-' || *out)
            return NULL;
        else if (in)
            *out = argv[i];
        else
            in = argv[i];
    return *out ? in : NULL;
}

static int run(struct recode *r, const uint8_t *data, size_t size, const char *out)
{
    FILE *file = fopen(out, "wb");
    char md5[2][33];
    unsigned pictures;
    r->scratch = slice_scratch_create();
    if (!file || !r->scratch)
        return 1;
    pass(r, data, size, false, md5[0]);
    pictures = r->pictures;
    if (r->out.failed || fwrite(r->out.data, 1, r->out.bits / 8, file) != r->out.bits / 8)
        r->differ++;
    fclose(file);
    pass(r, r->out.data, r->out.bits / 8, true, md5[1]);
    printf("%u pictures, slices: %u written, %u copied, %u refused; bytes %zu -> %zu; md5 %s\n",
           pictures, r->written, r->copied, r->refused, size, r->out.bits / 8, md5[0]);
    print_times(r);
    if (r->pictures != pictures || strcmp(md5[0], md5[1]) != 0) {
        printf("differs: %u pictures, md5 %s\n", r->pictures, md5[1]);
        r->differ++;
    }
    for (unsigned i = 0; i < pictures; i++)
        kept_free(&r->kept[i]);
    free(r->kept);
    bin_string_free(&r->bins);
    slice_scratch_free(r->scratch);
    bit_writer_free(&r->out);
    return r->differ != 0;
}

int main(int argc, char **argv)
{
    struct recode r = {.entropy = -1, .most = UINT32_MAX};
    const char *out = NULL, *in = parse_arguments(&r, argc, argv, &out);
    size_t size = 0;
    uint8_t *data;
    int status;
    if (!in) {
        fprintf(stderr, "usage: recode [--cavlc|--cabac] [--frames N] [--parse] [--time] IN OUT\n");
        return 2;
    }
    data = read_file(in, &size);
    if (!data) {
        perror(in);
        return 1;
    }
    status = run(&r, data, size, out);
    free(data);
    return status;
}
