/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Developer's look at step 1 of the decoder. It reads an Annex B file and prints the headers of
 * each picture in decoding order, and the output order. No slice data is decoded.
 *
 *     h264_headers [-q] [-l] FILE
 *
 * -q prints totals only, -l outputs with low delay. Exit status: 1 if the file cannot be read,
 * otherwise 0, even after errors of the stream.
 */
#include "codec/h264.h"
#include "codec/h264_stream.h"
#include "tests/tools/annexb.h"
#include "tests/tools/read_file.h"

#include <stdio.h>
#include <stdlib.h>

struct totals {
    bool quiet;
    uint64_t decoded, inferred, output, disorder, corrupt;
    bool have_last;
    int32_t last_poc;
};

static const char type_names[] = "PBIpi";

static void print_refs(const struct h264_slice *slice)
{
    for (unsigned list = 0; list < 2; list++) {
        if (!slice->num_ref[list])
            continue;
        printf(" L%u[", list);
        for (unsigned i = 0; i < slice->num_ref[list]; i++)
            if (slice->ref[list][i].pic)
                printf("%s%u%s", i ? " " : "", slice->ref[list][i].pic->id,
                       slice->ref[list][i].long_term ? "L" : "");
            else
                printf("%s-", i ? " " : "");
        printf("]");
    }
}

static void print_decoded(const struct h264_picture *pic)
{
    printf("decode %u", pic->id);
    if (pic->non_existing) {
        printf(" inferred\n");
        return;
    }
    printf("%s%s ref_idc %u frame_num %u poc %d slices %u", pic->idr ? " IDR" : "",
           pic->recovery.present ? " recovery" : "", pic->nal_ref_idc, pic->slices[0].hdr.frame_num,
           pic->output_poc, pic->slice_count);
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (!i || pic->slices[i].hdr.type != pic->slices[i - 1].hdr.type) {
            printf(" %c", type_names[pic->slices[i].hdr.type]);
            print_refs(&pic->slices[i]);
        }
    printf("\n");
}

static void drain(struct h264_stream *s, struct totals *t)
{
    struct h264_picture *pic;
    while ((pic = h264_stream_next_decode(s))) {
        if (!t->quiet)
            print_decoded(pic);
        t->decoded++;
        t->inferred += pic->non_existing;
        t->corrupt += pic->damage.corrupt && !pic->non_existing;
        h264_picture_done(pic);
        h264_picture_unref(pic);
    }
    while ((pic = h264_stream_next_output(s))) {
        if (!t->quiet)
            printf("output %u poc %d\n", pic->id, pic->output_poc);
        /* An operation 5 starts POC anew as an IDR picture does; it is not told apart here, so it
         * counts once. */
        t->disorder += t->have_last && !pic->idr && pic->output_poc <= t->last_poc;
        t->have_last = true;
        t->last_poc = pic->output_poc;
        t->output++;
        h264_picture_unref(pic);
    }
}

/* One call of h264_stream_feed for each NAL unit: cut before every start code. */
static void feed(struct h264_stream *s, const uint8_t *data, size_t size, struct totals *t)
{
    uint64_t errors = 0;
    for (size_t from = 0, at; from < size; from = at) {
        struct h264_diag diag;
        int error;
        at = annexb_start(data, size, from + 3);
        error = h264_stream_feed(s, data + from, at - from, 0, &diag);
        if (error && (errors++ < 3 || !t->quiet))
            fprintf(stderr, "%s: %s = %lld: %s\n", h264_error_text(error), diag.element,
                    (long long)diag.value, diag.what);
        drain(s, t);
    }
}

int main(int argc, char **argv)
{
    struct h264_stream_params params = {0};
    struct totals t = {0};
    struct h264_stream *s;
    struct h264_stats stats;
    uint8_t *data;
    size_t size;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        t.quiet |= argv[i][1] == 'q';
        params.low_delay_output |= argv[i][1] == 'l';
    }
    if (i + 1 != argc || !(data = read_file(argv[i], &size))) {
        fprintf(stderr, "usage: h264_headers [-q] [-l] FILE\n");
        return 1;
    }
    if (h264_stream_create(&params, &s)) {
        free(data);
        return 1;
    }
    feed(s, data, size, &t);
    h264_stream_flush(s);
    drain(s, &t);
    h264_stream_stats(s, &stats);
    printf("total decoded %llu inferred %llu output %llu disorder %llu corrupt %llu slices %llu "
           "errors %llu gaps %llu skipped "
           "%llu\n",
           (unsigned long long)t.decoded, (unsigned long long)t.inferred,
           (unsigned long long)t.output, (unsigned long long)t.disorder,
           (unsigned long long)t.corrupt, (unsigned long long)stats.slices,
           (unsigned long long)stats.errors, (unsigned long long)stats.gaps,
           (unsigned long long)stats.skipped_before_idr);
    h264_stream_free(s);
    free(data);
    return 0;
}
