/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An encoder with the slow decisions of encode/reference, or with those of a device. It serves
 * tests of rate, drift and settings.
 *
 *   refenc IN.y4m [options]
 *
 * Files: -o OUT.264, --recon OUT.yuv, --frames N.
 * Tools: --profile baseline|main|high, --level N (level_idc), --cavlc, --no-8x8, --threads N,
 * --deblocking 0|1|2, --filter-offsets A,B.
 * Pictures: --references N, --slices N, --idr N, --scene-cuts.
 * Rate: --qp N, --crf N, --adaptive, --chroma-qp-offset N, --qp-offsets, --bit-rate N, --buffer N,
 * --max-rate N: a limit for --qp and --crf.
 * --device NAME: a device decides, under validation layers. It prints pictures and bytes alone.
 *
 * I pictures have a QP that is 3 less. It prints pictures, bytes, PSNR of luma, and macroblocks by
 * kind. With a bit rate it is constant, and the worst second is printed, too.
 */
#include "encode/encoder.h"
#include "encode/reference/picture_work.h"
#include "encode/reference/decide.h"
#include "encode/reference/ref_decider.h"
#include "gpu/encode/gpu_encoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct refenc {
    const char *in, *out, *recon, *device; /* device NULL: the reference decides */
    int frames;
    unsigned threads;
    bool qp_offsets, limited; /* limited: the bit rate is a limit alone */
    struct gpu *gpu;
    struct gpu_encoder *gpu_encoder;
    unsigned complaints; /* of the device */
    uint32_t seed;
    int8_t offsets[36864]; /* more macroblocks no level allows */
    unsigned tries, over, left_out;
    uint64_t filler, second;
    double worst; /* how far a second is from its rate, in percent */
    struct encoder_params params;
    struct encoder *encoder;
    FILE *in_file, *out_file, *recon_file;
    uint8_t *picture[3];
    size_t size[3];
    uint64_t bytes;
    double error;
    unsigned kinds[6], skipped, with_8x8;
};

static int usage(void)
{
    fprintf(stderr, "usage: refenc IN.y4m [-o OUT.264] [--recon OUT.yuv] [--qp N] ...\n");
    return 2;
}

static bool option_profile(struct refenc *r, const char *value)
{
    static const char *const names[] = {"baseline", "main", "high"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(value, names[i])) {
            r->params.encoding.profile = (enum encoding_profile)i;
            r->params.encoding.cabac = r->params.encoding.cabac && i > 0;
            r->params.encoding.transform_8x8 =
                r->params.encoding.transform_8x8 && i == ENCODING_HIGH;
            return true;
        }
    return false;
}

/* An option with a number; false: not known */
static bool option_number(struct refenc *r, const char *name, long long number)
{
    struct encoding *e = &r->params.encoding;
    const struct {
        const char *name;
        uint8_t *small;
        int *number;
        uint64_t *large;
    } options[] = {
        {"--qp", NULL, &r->params.rate.qp, NULL},
        {"--frames", NULL, &r->frames, NULL},
        {"--level", &e->level_idc, NULL, NULL},
        {"--references", &e->references, NULL, NULL},
        {"--slices", &e->slices, NULL, NULL},
        {"--deblocking", &e->deblocking, NULL, NULL},
        {"--chroma-qp-offset", NULL, &e->chroma_qp_offset, NULL},
        {"--bit-rate", NULL, NULL, &r->params.rate.bit_rate},
        {"--max-rate", NULL, NULL, &r->params.rate.bit_rate},
        {"--buffer", NULL, NULL, &r->params.rate.buffer},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(name, options[i].name) != 0)
            continue;
        if (options[i].small)
            *options[i].small = (uint8_t)number;
        else if (options[i].number)
            *options[i].number = (int)number;
        else
            *options[i].large = (uint64_t)number;
        r->limited |= !strcmp(name, "--max-rate");
        return true;
    }
    return false;
}

/* An option with a value; false: not known */
static bool option_value(struct refenc *r, const char *name, const char *value)
{
    struct encoding *e = &r->params.encoding;
    if (option_number(r, name, strtoll(value, NULL, 10)))
        return true;
    if (!strcmp(name, "-o"))
        r->out = value;
    else if (!strcmp(name, "--recon"))
        r->recon = value;
    else if (!strcmp(name, "--device"))
        r->device = value;
    else if (!strcmp(name, "--crf")) {
        r->params.rate.mode = RATE_CRF;
        r->params.rate.qp = atoi(value);
    } else if (!strcmp(name, "--idr"))
        r->params.key_interval = (uint32_t)atoi(value);
    else if (!strcmp(name, "--threads"))
        r->threads = (unsigned)atoi(value);
    else if (!strcmp(name, "--filter-offsets"))
        return sscanf(value, "%d,%d", &e->filter_offset_a, &e->filter_offset_b) == 2;
    else
        return !strcmp(name, "--profile") && option_profile(r, value);
    return true;
}

static bool parse_options(struct refenc *r, int argc, char **argv)
{
    for (int i = 2; i < argc; i++)
        if (!strcmp(argv[i], "--cavlc"))
            r->params.encoding.cabac = false;
        else if (!strcmp(argv[i], "--qp-offsets"))
            r->qp_offsets = true;
        else if (!strcmp(argv[i], "--adaptive"))
            r->params.adaptive = true;
        else if (!strcmp(argv[i], "--scene-cuts"))
            r->params.scene_cuts = true;
        else if (!strcmp(argv[i], "--no-8x8"))
            r->params.encoding.transform_8x8 = false;
        else if (i + 1 >= argc || !option_value(r, argv[i], argv[i + 1]))
            return false;
        else
            i++;
    return true;
}

/* The header line of a .y4m: size, rate, and whether it has chroma */
static bool read_header(struct refenc *r)
{
    char line[256], *word, *rest = NULL;
    unsigned width = 0, height = 0, rate = 25, scale = 1;
    bool mono = false;
    if (!fgets(line, sizeof(line), r->in_file) || strncmp(line, "YUV4MPEG2 ", 10) != 0)
        return false;
    for (word = strtok_r(line + 10, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        mono = mono || !strncmp(word, "Cmono", 5);
        if (word[0] == 'W')
            width = (unsigned)strtoul(word + 1, NULL, 10);
        else if (word[0] == 'H')
            height = (unsigned)strtoul(word + 1, NULL, 10);
        else if (word[0] == 'F')
            sscanf(word + 1, "%u:%u", &rate, &scale);
    }
    encoding_default(&r->params.encoding, width, height);
    r->params.encoding.chroma_format_idc = !mono;
    r->params.encoding.rate = rate;
    r->params.encoding.rate_scale = scale;
    r->size[0] = (size_t)width * height;
    r->size[1] = r->size[2] = mono ? 0 : (size_t)((width + 1) / 2) * ((height + 1) / 2);
    for (int c = 0; c < 3; c++)
        if (!(r->picture[c] = malloc(r->size[c] + 1)))
            return false;
    return width > 0 && height > 0;
}

static bool read_picture(struct refenc *r)
{
    char line[256];
    if (!fgets(line, sizeof(line), r->in_file) || strncmp(line, "FRAME", 5) != 0)
        return false;
    for (int c = 0; c < 3; c++)
        if (fread(r->picture[c], 1, r->size[c], r->in_file) != r->size[c])
            return false;
    return true;
}

static void count_error(struct refenc *r, const struct ref_frame *frame)
{
    uint64_t sum = 0;
    for (uint32_t y = 0; y < r->params.encoding.height; y++)
        for (uint32_t x = 0; x < r->params.encoding.width; x++) {
            int d = r->picture[0][y * r->params.encoding.width + x] -
                    frame->plane[0][y * frame->stride[0] + x];
            sum += (uint64_t)(d * d);
        }
    r->error += (double)sum / (double)r->size[0];
}

static bool write_recon(const struct refenc *r, const struct ref_frame *frame)
{
    for (int c = 0; c < 3 && r->recon_file; c++) {
        uint32_t width = c ? (r->params.encoding.width + 1) / 2 : r->params.encoding.width;
        for (size_t i = 0; i < r->size[c]; i++)
            if (putc(frame->plane[c][i / width * frame->stride[c] + i % width], r->recon_file) < 0)
                return false;
    }
    return true;
}

static const struct decider *decider_of(const struct refenc *r)
{
    return encoder_decider(r->encoder);
}

static void count_kinds(struct refenc *r)
{
    const struct picture_work *w = decider_work(decider_of(r));
    for (uint32_t i = 0; i < w->mb_count; i++) {
        r->kinds[w->mbs[i].kind]++;
        r->skipped += (w->mbs[i].flags & REC_MB_SKIP) != 0;
        r->with_8x8 += (w->mbs[i].flags & REC_MB_TRANSFORM_8X8) != 0;
    }
}

/* QP of macroblocks that goes up and down: mostly two or so in a row are the same */
static const int8_t *random_offsets(struct refenc *r)
{
    int8_t offset = 0;
    for (uint32_t i = 0; i < sizeof(r->offsets); i++) {
        r->seed = r->seed * 1664525u + 1013904223u;
        if (r->seed >> 16 & 8)
            offset = (int8_t)((int)(r->seed >> 20 & 15) - 8);
        r->offsets[i] = offset;
    }
    return r->offsets;
}

/* Pictures of a second, whole seconds alone */
static void count_second(struct refenc *r, int index, size_t size)
{
    int pictures = (int)(r->params.encoding.rate / r->params.encoding.rate_scale);
    double off;
    r->second += 8 * size;
    if (pictures == 0 || (index + 1) % pictures != 0)
        return;
    off = fabs((double)r->second / (double)r->params.rate.bit_rate - 1) * 100;
    r->worst = off > r->worst ? off : r->worst;
    r->second = 0;
}

static void count_unit(struct refenc *r, const struct encoder_unit *unit, int index)
{
    r->bytes += unit->size;
    r->tries += unit->tries;
    r->over += unit->over;
    r->left_out += unit->repeated;
    r->filler += unit->filler;
    if (r->params.rate.bit_rate)
        count_second(r, index, unit->size);
    if (!r->device)
        count_kinds(r);
}

static bool encode_one(struct refenc *r, int index)
{
    size_t width = r->params.encoding.width, half = (width + 1) / 2;
    struct encoder_frame frame = {
        .source = {{r->picture[0], r->picture[1], r->picture[2]}, {width, half, half}},
        .pts = index,
        .qp_offsets = r->qp_offsets ? random_offsets(r) : NULL};
    struct encoder_unit unit;
    char why[ENCODING_WHY];
    if (encoder_push(r->encoder, &frame, &unit, why) < 0) {
        fprintf(stderr, "%s\n", why);
        return false;
    }
    if (!r->device)
        count_error(r, decider_frame(decider_of(r)));
    count_unit(r, &unit, index);
    return (!r->out_file || fwrite(unit.data, 1, unit.size, r->out_file) == unit.size) &&
           (r->device || write_recon(r, decider_frame(decider_of(r))));
}

static void report(const struct refenc *r, int count)
{
    double mse = r->error / count;
    if (r->device)
        printf("pictures %d bytes %llu\n", count, (unsigned long long)r->bytes);
    else
        printf("pictures %d bytes %llu psnr %.4f i4x4 %u i8x8 %u i16x16 %u inter %u skipped %u "
               "with_8x8 %u\n",
               count, (unsigned long long)r->bytes, mse > 0 ? 10 * log10(65025 / mse) : 100,
               r->kinds[REC_MB_INTRA_4X4], r->kinds[REC_MB_INTRA_8X8], r->kinds[REC_MB_INTRA_16X16],
               r->kinds[REC_MB_INTER], r->skipped, r->with_8x8);
    if (r->params.rate.bit_rate)
        printf("tries %u over %u skipped %u filler %llu worst second %.2f\n", r->tries, r->over,
               r->left_out, (unsigned long long)r->filler, r->worst);
}

/* A bit rate that is no limit is constant, and QP at least 10. */
static void settle_rate(struct refenc *r)
{
    struct rate_settings *rate = &r->params.rate;
    bool constant = rate->bit_rate && !r->limited;
    rate->mode = constant ? RATE_BITS : rate->mode;
    rate->qp = constant ? 10 : rate->qp;
    rate->intra_less = 3;
    r->params.encoding.bit_rate = rate->bit_rate;
    r->params.encoding.buffer = rate->buffer;
}

/* ---- a device ---- */

static void device_says(void *ctx, int level, const char *line)
{
    unsigned *complaints = ctx;
    if (level == 0)
        fprintf(stderr, "%s\n", line);
    *complaints += level == 0;
}

static bool open_device(struct refenc *r)
{
    struct gpu_params params = {.device = r->device,
                                .validation = true,
                                .keep_pipelines = true,
                                .log = device_says,
                                .log_ctx = &r->complaints};
    int err = gpu_open(&params, &r->gpu);
    if (err == GPU_OK)
        err =
            gpu_encoder_create(r->gpu, &(struct gpu_encoder_params){.streams = 1}, &r->gpu_encoder);
    if (err < 0)
        fprintf(stderr, "%s: %s\n", r->device, gpu_error_text(err));
    return err == GPU_OK;
}

static int begin_encoder(struct refenc *r, char *why)
{
    if (r->device)
        return encoder_new(&r->params, gpu_decider_begin, r->gpu_encoder, &r->encoder, why);
    return encoder_new(&r->params, ref_decider_begin, &r->threads, &r->encoder, why);
}

static int refenc_run(struct refenc *r)
{
    char why[ENCODING_WHY];
    int count = 0;
    settle_rate(r);
    if (r->device && !open_device(r))
        return 1;
    if (begin_encoder(r, why) < 0) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    r->out_file = r->out ? fopen(r->out, "wb") : NULL;
    r->recon_file = r->recon ? fopen(r->recon, "wb") : NULL;
    if ((r->out && !r->out_file) || (r->recon && !r->recon_file))
        return 1;
    for (; count < r->frames && read_picture(r); count++)
        if (!encode_one(r, count))
            return 1;
    if (count > 0)
        report(r, count);
    return (r->out_file && fclose(r->out_file) != 0) ||
           (r->recon_file && fclose(r->recon_file) != 0) || count == 0;
}

int main(int argc, char **argv)
{
    static struct refenc r = {.params = {.rate = {.qp = 26}}, .frames = INT32_MAX};
    int status;
    if (argc < 2)
        return usage();
    r.in_file = fopen(argv[1], "rb");
    if (!r.in_file || !read_header(&r)) {
        fprintf(stderr, "%s: no .y4m of 8-bit 4:2:0 or luma alone\n", argv[1]);
        return 1;
    }
    if (!parse_options(&r, argc, argv))
        return usage();
    status = refenc_run(&r);
    encoder_free(r.encoder);
    gpu_encoder_free(r.gpu_encoder);
    gpu_close(r.gpu);
    status = r.complaints ? 1 : status;
    for (int c = 0; c < 3; c++)
        free(r.picture[c]);
    fclose(r.in_file);
    return status;
}
