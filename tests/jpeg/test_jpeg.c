/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JPEG files of the slow C, read by libjpeg-turbo: the samples are as near to the source as those
 * of libjpeg-turbo's own files.
 */
#include "tests/jpeg/jpeg_frames.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <turbojpeg.h>
#include <cmocka.h>

static const int turbo_sampling[JPEG_SAMPLINGS] = {TJSAMP_GRAY, TJSAMP_420, TJSAMP_422, TJSAMP_444};

static void frame_make(struct built_frame *f, enum frame_kind kind, uint32_t gap)
{
    frame_layout(f, 0, gap);
    uint8_t *data = malloc(f->size);
    assert_non_null(data);
    frame_draw(f, kind, data);
}

static uint8_t *file_make(const struct built_frame *f, size_t *size)
{
    struct jpeg_planes planes = frame_planes(f);
    size_t room = jpeg_most_bytes(&f->settings);
    uint8_t *out = malloc(room);
    char why[JPEG_WHY];
    assert_non_null(out);
    assert_int_equal(jpeg_check(&f->settings, why), 0);
    *size = jpeg_encode(&f->settings, &planes, out, room);
    assert_true(*size > 0 && *size <= room);
    return out;
}

/* Planes of libjpeg-turbo: even sizes where chroma is subsampled */
struct turbo_planes {
    uint8_t *memory, *plane[3];
    int stride[3];
    uint32_t rows[3];
};

static struct turbo_planes turbo_planes_new(const struct built_frame *f)
{
    struct turbo_planes p = {0};
    struct jpeg_shape shape;
    size_t size = 0, at[3];
    jpeg_shape_of(&f->settings, &shape);
    for (uint32_t c = 0; c < shape.components; c++) {
        at[c] = size;
        p.stride[c] = (int)shape.plane_size[c][0] + 1;
        p.rows[c] = shape.plane_size[c][1] + 1;
        size += (size_t)p.stride[c] * p.rows[c];
    }
    p.memory = calloc(1, size);
    assert_non_null(p.memory);
    for (uint32_t c = 0; c < shape.components; c++)
        p.plane[c] = p.memory + at[c];
    return p;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The sum of squared errors of a file's samples, without a change of colours */
static double file_error(const uint8_t *file, size_t size, const struct built_frame *f)
{
    tjhandle tj = tjInitDecompress();
    int width, height, sampling, colours;
    struct turbo_planes got = turbo_planes_new(f);
    struct jpeg_shape shape;
    double sum = 0;
    jpeg_shape_of(&f->settings, &shape);
    assert_int_equal(tjDecompressHeader3(tj, file, size, &width, &height, &sampling, &colours), 0);
    assert_int_equal(width, f->settings.width);
    assert_int_equal(height, f->settings.height);
    assert_int_equal(sampling, turbo_sampling[f->settings.sampling]);
    assert_int_equal(tjDecompressToYUVPlanes(tj, file, size, got.plane, width, got.stride, height,
                                             TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING),
                     0);
    for (uint32_t c = 0; c < shape.components; c++)
        for (uint32_t y = 0; y < shape.plane_size[c][1]; y++)
            for (uint32_t x = 0; x < shape.plane_size[c][0]; x++) {
                double d = (double)got.plane[c][y * (uint32_t)got.stride[c] + x] -
                           f->data[f->offset[c] + y * f->stride[c] + x];
                sum += d * d;
            }
    free(got.memory);
    tjDestroy(tj);
    return sum;
}

static double turbo_error(const struct built_frame *f, unsigned long *size)
{
    tjhandle tj = tjInitCompress();
    unsigned char *file = NULL;
    struct turbo_planes in = turbo_planes_new(f);
    struct jpeg_shape shape;
    double error;
    jpeg_shape_of(&f->settings, &shape);
    for (uint32_t c = 0; c < shape.components; c++)
        for (uint32_t y = 0; y < in.rows[c]; y++)
            for (uint32_t x = 0; x < (uint32_t)in.stride[c]; x++)
                in.plane[c][y * (uint32_t)in.stride[c] + x] =
                    f->data[f->offset[c] + smaller(y, shape.plane_size[c][1] - 1) * f->stride[c] +
                            smaller(x, shape.plane_size[c][0] - 1)];
    *size = 0;
    assert_int_equal(tjCompressFromYUVPlanes(
                         tj, (const unsigned char **)in.plane, (int)f->settings.width, in.stride,
                         (int)f->settings.height, turbo_sampling[f->settings.sampling], &file, size,
                         (int)f->settings.quality, TJFLAG_ACCURATEDCT),
                     0);
    error = file_error(file, *size, f);
    tjFree(file);
    free(in.memory);
    tjDestroy(tj);
    return error;
}

/* The same PSNR within `limit` dB, where the error is more than rounding. Adds to both errors. */
static void expect_like_turbo(struct built_frame *f, double limit, double sums[2])
{
    unsigned long turbo_size;
    size_t size, samples = f->size;
    uint8_t *file = file_make(f, &size);
    double error = file_error(file, size, f), turbo = turbo_error(f, &turbo_size);
    double difference = 10 * log10((error + samples / 4.0) / (turbo + samples / 4.0));
    if (difference > limit)
        fail_msg("%u x %u, sampling %d, quality %u: %.2f dB behind libjpeg-turbo",
                 f->settings.width, f->settings.height, (int)f->settings.sampling,
                 f->settings.quality, difference);
    /* restart markers take two bytes and some bits a row */
    assert_true((double)size < 1.03 * (double)turbo_size + 700 + 4 * f->settings.height);
    sums[0] += error;
    sums[1] += turbo;
    free(file);
    free(f->data);
}

static void test_like_turbo(void **state)
{
    static const struct {
        uint32_t width, height, quality;
    } cases[] = {{1, 1, 75},    {8, 8, 50},    {17, 9, 90},    {16, 16, 100}, {33, 65, 1},
                 {160, 96, 75}, {160, 96, 95}, {320, 184, 30}, {5, 300, 60},  {300, 3, 60}};
    double sums[2] = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int sampling = 0; sampling < JPEG_SAMPLINGS; sampling++)
            for (int kind = 0; kind < FRAME_KINDS; kind++) {
                struct built_frame f = {.settings = {.width = cases[i].width,
                                                     .height = cases[i].height,
                                                     .quality = cases[i].quality,
                                                     .sampling = sampling}};
                assert_true(jpeg_colours_of(6, true, 0, &f.settings.colours));
                frame_make(&f, kind, i % 5);
                expect_like_turbo(&f, 0.2, sums);
            }
    assert_true(fabs(10 * log10(sums[0] / sums[1])) < 0.02);
}

static void test_random(void **state)
{
    double sums[2] = {0};
    frame_seed = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)frame_seed);
    for (int i = 0; i < 150; i++) {
        struct built_frame f;
        frame_settings_random(&f.settings, 90);
        assert_true(jpeg_colours_of(6, true, 0, &f.settings.colours));
        frame_make(&f, frame_random(FRAME_KINDS), frame_random(9));
        /* blocks that are alike may all lie between two levels, and round otherwise */
        expect_like_turbo(&f, 10, sums);
    }
    assert_true(fabs(10 * log10(sums[0] / sums[1])) < 0.05);
}

/* Every level of DC and AC that 8 bits can have: none is too large for the codes. */
static void test_steepest(void **state)
{
    double sums[2] = {0};
    struct built_frame f = {
        .settings = {.width = 512, .height = 64, .quality = 100, .sampling = JPEG_GREY}};
    assert_true(jpeg_colours_of(6, true, 0, &f.settings.colours));
    frame_make(&f, FRAME_FLAT, 0);
    for (uint32_t y = 0; y < 64; y++) /* block (x, y): the signs of a cosine */
        for (uint32_t x = 0; x < 512; x++) {
            bool up = (jpeg_cosines[y / 8][y % 8] < 0) != (jpeg_cosines[x / 8 % 8][x % 8] < 0);
            f.data[y * 512 + x] = up != (x / 64 % 2 == 0) ? 255 : 0;
        }
    expect_like_turbo(&f, 0.2, sums);
}

static void test_no_room(void **state)
{
    struct built_frame f = {
        .settings = {.width = 40, .height = 24, .quality = 80, .sampling = JPEG_420}};
    size_t size;
    assert_true(jpeg_colours_of(6, true, 0, &f.settings.colours));
    frame_make(&f, FRAME_NOISE, 0);
    struct jpeg_planes planes = frame_planes(&f);
    uint8_t *file = file_make(&f, &size), *less = malloc(size);
    assert_non_null(less);
    assert_int_equal(jpeg_encode(&f.settings, &planes, less, size), size);
    assert_memory_equal(less, file, size);
    for (size_t room = 0; room < size; room += 97)
        assert_int_equal(jpeg_encode(&f.settings, &planes, less, room), 0);
    assert_int_equal(jpeg_encode(&f.settings, &planes, less, size - 1), 0);
    free(less);
    free(file);
    free(f.data);
}

static void test_check(void **state)
{
    const struct jpeg_settings good = {
        .width = 64, .height = 48, .sampling = JPEG_420, .quality = 75};
    struct jpeg_settings bad[] = {good, good, good, good, good, good};
    char why[JPEG_WHY];
    bad[0].width = 0, bad[1].height = 0, bad[2].width = JPEG_MOST_SIZE + 1;
    bad[3].quality = 0, bad[4].quality = 101, bad[5].sampling = JPEG_SAMPLINGS;
    assert_int_equal(jpeg_check(&good, why), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        why[0] = 0;
        assert_int_equal(jpeg_check(&bad[i], why), -1);
        assert_true(why[0] != 0);
    }
}

/* A source of BT.601 with full range stays; white and black of limited range become 255 and 0. */
static void test_colours(void **state)
{
    struct jpeg_colours k;
    assert_true(jpeg_colours_of(6, true, 0, &k));
    assert_int_equal(k.luma[0], 16384);
    assert_int_equal(k.chroma[0][0], 16384);
    assert_int_equal(k.chroma[1][1], 16384);
    assert_int_equal(k.luma[1] | k.luma[2] | k.chroma[0][1] | k.chroma[1][0] | k.black, 0);
    assert_true(jpeg_colours_of(2, false, 480, &k));
    assert_int_equal((k.luma[0] * (235 - k.black) + 8192) >> 14, 255);
    assert_int_equal(k.luma[1] | k.luma[2], 0);
    for (uint8_t matrix = 0; matrix < 16; matrix++)
        assert_int_equal(jpeg_colours_of(matrix, true, 0, &k), matrix == 1 || matrix == 2 ||
                                                                   (matrix >= 4 && matrix <= 7) ||
                                                                   matrix == 9 || matrix == 10);
}

/* Red, of BT.709 with limited range: as JFIF has it */
static void test_colours_of_red(void **state)
{
    struct jpeg_colours k;
    const double red = 0.2126, blue = 0.0722;
    double y = 16 + 219 * red, cb = 128 + 224 * (0 - red) / (2 * (1 - blue)),
           cr = 128 + 224 * (1 - red) / (2 * (1 - red));
    assert_true(jpeg_colours_of(2, false, 1080, &k));
    double luma = (k.luma[0] * (y - k.black) + k.luma[1] * (cb - 128) + k.luma[2] * (cr - 128)),
           of_cb = k.chroma[0][0] * (cb - 128) + k.chroma[0][1] * (cr - 128),
           of_cr = k.chroma[1][0] * (cb - 128) + k.chroma[1][1] * (cr - 128);
    assert_true(fabs(luma / 16384 - 255 * 0.299) < 0.1);
    assert_true(fabs(of_cb / 16384 - 255 * -0.299 / 1.772) < 0.1);
    assert_true(fabs(of_cr / 16384 - 255 * 0.701 / 1.402) < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_turbo),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_steepest),       cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_check),          cmocka_unit_test(test_colours),
        cmocka_unit_test(test_colours_of_red),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
