/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which streams of MP4 files are known without a decoder.
 */
#include "daemon/worker/source/mp4_parameters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

/* High, 64x48, two frames reordered */
static const uint8_t told[] = {
    0x01, 0x64, 0x00, 0x0a, 0xff, 0xe1, 0x00, 0x18, 0x67, 0x64, 0x00, 0x0a, 0xac, 0xd9, 0x44,
    0x7b, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03, 0x20, 0xf1, 0x22,
    0x59, 0x60, 0x01, 0x00, 0x06, 0x68, 0xeb, 0xe3, 0xcb, 0x22, 0xc0, 0xfd, 0xf8, 0xf8, 0x00};
/* Baseline, 128x96, without VUI */
static const uint8_t untold[] = {1,    0x42, 0,    0x0a, 0xff, 0xe1, 0, 7,    0x67, 0x42, 0x00,
                                 0x0a, 0xf8, 0x41, 0xa2, 1,    0,    4, 0x68, 0xce, 0x38, 0x80};

static AVFormatContext *format_new(const char *name)
{
    AVFormatContext *f = avformat_alloc_context();
    assert_non_null(f);
    f->iformat = av_find_input_format(name);
    assert_non_null(f->iformat);
    return f;
}

static AVCodecParameters *stream_new(AVFormatContext *f, enum AVMediaType type,
                                     const uint8_t *extradata, size_t size)
{
    AVStream *st = avformat_new_stream(f, NULL);
    assert_non_null(st);
    st->codecpar->codec_type = type;
    st->codecpar->codec_id = type == AVMEDIA_TYPE_VIDEO ? AV_CODEC_ID_H264 : AV_CODEC_ID_AAC;
    st->codecpar->extradata = av_mallocz(size + AV_INPUT_BUFFER_PADDING_SIZE);
    assert_non_null(st->codecpar->extradata);
    memcpy(st->codecpar->extradata, extradata, size);
    st->codecpar->extradata_size = (int)size;
    return st->codecpar;
}

static void test_told(void **state)
{
    AVFormatContext *f = format_new("mp4");
    AVCodecParameters *par = stream_new(f, AVMEDIA_TYPE_VIDEO, told, sizeof(told));
    stream_new(f, AVMEDIA_TYPE_AUDIO, told, sizeof(told));
    assert_true(mp4_tells_all(f));
    assert_int_equal(par->video_delay, 2);
    par->video_delay = 3; /* as the index says */
    assert_true(mp4_tells_all(f));
    assert_int_equal(par->video_delay, 3);
    stream_new(f, AVMEDIA_TYPE_VIDEO, told, sizeof(told)); /* which one is the best? */
    assert_false(mp4_tells_all(f));
    avformat_free_context(f);
}

static void test_untold(void **state)
{
    AVFormatContext *f = format_new("mp4");
    AVCodecParameters *par = stream_new(f, AVMEDIA_TYPE_VIDEO, untold, sizeof(untold));
    assert_false(mp4_tells_all(f));
    par->codec_id = AV_CODEC_ID_HEVC;
    assert_false(mp4_tells_all(f));
    avformat_free_context(f);
    f = format_new("mp4");
    assert_false(mp4_tells_all(f));
    avformat_free_context(f);
}

/* Of each shorter box the parameter set is damaged, or it is none. */
static void test_cut(void **state)
{
    AVFormatContext *f = format_new("mp4");
    AVCodecParameters *par = stream_new(f, AVMEDIA_TYPE_VIDEO, told, sizeof(told));
    for (int size = 0; size < 8 + 0x18; size++) {
        par->extradata_size = size;
        assert_false(mp4_tells_all(f));
    }
    avformat_free_context(f);
}

static void test_other_containers(void **state)
{
    AVFormatContext *f = format_new("matroska");
    stream_new(f, AVMEDIA_TYPE_VIDEO, told, sizeof(told));
    assert_false(mp4_tells_all(f));
    avformat_free_context(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_told), cmocka_unit_test(test_untold),
                                       cmocka_unit_test(test_cut),
                                       cmocka_unit_test(test_other_containers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
