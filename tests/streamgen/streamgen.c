/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes a valid H.264 stream that is chosen at random. The same seed and options give the same
 * bytes.
 *
 *   streamgen --seed N [options] -o FILE
 *     --only A,B       allows these optional features and no others
 *     --with A,B       looks for a stream that has these
 *     --without A,B    forbids these
 *     --frames N, --mbs WxH, --slices N, --no-residual
 *     --sei FILE       writes the expected output of "refdec --sei"
 *   streamgen --list
 *
 * The line on stdout has these fields: seed, FFmpeg's state, profile, pixel format, size in
 * macroblocks, frames, bytes, features used. FFmpeg's state is "ffmpeg", or the reason why it does
 * not decode the stream by the standard.
 */
#include "check.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS 50 /* at a stream that has what --with names */

struct options {
    uint64_t seed, force, forbid;
    uint64_t wanted; /* must come up */
    bool only;
    struct limits limits;
    const char *out, *notes;
};

/* What FFmpeg does not decode, or not by the standard. */
static const uint64_t not_ffmpeg[] = {
    FEATURE_FMO0, FEATURE_FMO1, FEATURE_FMO2,   FEATURE_FMO3,      FEATURE_FMO4,
    FEATURE_FMO5, FEATURE_FMO6, FEATURE_ASO,    FEATURE_REDUNDANT, FEATURE_PARTITIONS,
    FEATURE_SP,   FEATURE_SI,   FEATURE_PLANES, FEATURE_DEPTHDIFF, FEATURE_LOSSLESS};

static int usage(void)
{
    fprintf(stderr,
            "usage: streamgen --seed N [--only A,B] [--with A,B] [--without A,B] [--frames N] "
            "[--mbs WxH]\n"
            "                 [--slices N] [--no-residual] [--sei FILE] -o FILE | --list\n");
    return 2;
}

static int list(void)
{
    for (unsigned i = 0; i < FEATURE_COUNT; i++)
        puts(feature_names[i]);
    return 0;
}

static int parse(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {{"seed", 1, NULL, 's'},   {"only", 1, NULL, 'O'},
                                          {"with", 1, NULL, 'w'},   {"without", 1, NULL, 'W'},
                                          {"frames", 1, NULL, 'f'}, {"mbs", 1, NULL, 'm'},
                                          {"slices", 1, NULL, 'S'}, {"no-residual", 0, NULL, 'n'},
                                          {"list", 0, NULL, 'l'},   {"sei", 1, NULL, 'e'},
                                          {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "o:", table, NULL)) != -1) {
        switch (c) {
        case 's':
            o->seed = strtoull(optarg, NULL, 0);
            break;
        case 'O':
            o->only = true;
            if (!features_parse(optarg, &o->force))
                return 2;
            break;
        case 'w':
            if (!features_parse(optarg, &o->force) || !features_parse(optarg, &o->wanted))
                return 2;
            break;
        case 'W':
            if (!features_parse(optarg, &o->forbid))
                return 2;
            break;
        case 'f':
            o->limits.frames = (unsigned)atoi(optarg);
            break;
        case 'm':
            if (sscanf(optarg, "%ux%u", &o->limits.width, &o->limits.height) != 2 ||
                !o->limits.width || !o->limits.height || o->limits.width > 16 ||
                o->limits.height > 16)
                return usage();
            break;
        case 'S':
            o->limits.slices = (unsigned)atoi(optarg);
            break;
        case 'n':
            o->limits.no_residual = true;
            break;
        case 'e':
            o->notes = optarg;
            break;
        case 'l':
            exit(list());
        case 'o':
            o->out = optarg;
            break;
        default:
            return usage();
        }
    }
    return o->out && optind == argc ? 0 : usage();
}

/* The stream of a seed, with vectors halved until all are in range. */
static bool generate_from(const struct options *o, uint64_t seed, struct gen *g, FILE *notes)
{
    for (unsigned shift = 0; shift < 16; shift++) {
        bit_writer_free(&g->out);
        memset(g, 0, sizeof(*g));
        rewind(notes);
        g->notes = notes;
        g->rng.state = seed;
        g->limits = o->limits;
        g->limits.mvd_shift = shift;
        g->profile = features_choose(&g->rng, o->force, o->forbid, o->only, &g->on);
        if (!g->profile) {
            fprintf(stderr, "streamgen: no profile has all of these features\n");
            return false;
        }
        g->rng = rng_fork((struct rng){seed}, 1);
        gen_stream(g);
        if (g->out.failed) {
            fprintf(stderr, "streamgen: no memory\n");
            return false;
        }
        if (check_vectors(g))
            return true;
    }
    fprintf(stderr, "streamgen: vectors out of range\n");
    return false;
}

/* A feature that is allowed need not come up: other seeds, which follow from the one asked for, are
 * tried. Where none has all that are wanted the last one stays. */
static bool generate(const struct options *o, struct gen *g, FILE *notes)
{
    uint64_t seed = o->seed;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        if (!generate_from(o, seed, g, notes))
            return false;
        if (!(o->wanted & ~g->used))
            break;
        seed = rng_fork((struct rng){o->seed}, 100 + i).state;
    }
    return true;
}

static void report(const struct options *o, struct gen *g)
{
    static const char *const formats[4] = {"gray", "yuv420p", "yuv422p", "yuv444p"};
    char depth[16];
    for (unsigned i = 0; i < sizeof(not_ffmpeg) / sizeof(not_ffmpeg[0]); i++)
        gen_not_ffmpeg(g, g->used >> not_ffmpeg[i] & 1, feature_names[not_ffmpeg[i]]);
    gen_not_ffmpeg(g, g->sps.bit_depth[0] == 11 || g->sps.bit_depth[0] == 13, "depth");
    snprintf(depth, sizeof(depth),
             g->sps.bit_depth[0] == 8 && g->sps.bit_depth[1] == 8 ? "" : "%dle",
             g->sps.bit_depth[0] > g->sps.bit_depth[1] ? g->sps.bit_depth[0] : g->sps.bit_depth[1]);
    printf("%llu\t%s\t%s\t%s%s\t%ux%u\t%u\t%zu\t", (unsigned long long)o->seed,
           g->not_ffmpeg ? g->not_ffmpeg : "ffmpeg", g->profile->name,
           formats[g->sps.chroma_format_idc], depth, g->sps.mb_width, g->sps.mb_height,
           g->frame_count + 1, g->out.bits / 8);
    for (unsigned i = 0, n = 0; i < FEATURE_COUNT; i++)
        if (g->used >> i & 1)
            printf("%s%s", n++ ? "," : "", feature_names[i]);
    printf("\n");
}

static bool write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(data, 1, size, f) == size;
    if (f && fclose(f))
        good = false;
    if (!good)
        perror(path);
    return good;
}

static int run(const struct options *o, struct gen *g)
{
    char *text = NULL;
    size_t size = 0;
    FILE *notes = open_memstream(&text, &size);
    int status = 1;
    if (!notes)
        return 1;
    if (generate(o, g, notes) && fflush(notes) == 0 &&
        write_file(o->out, g->out.data, g->out.bits / 8) &&
        (!o->notes || write_file(o->notes, text, (size_t)ftell(notes)))) {
        report(o, g);
        status = 0;
    }
    fclose(notes);
    free(text);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {.seed = 1};
    int status = parse(argc, argv, &o);
    struct gen *g = calloc(1, sizeof(*g));
    if (!status && g)
        status = run(&o, g);
    else if (!status)
        status = 1;
    if (g)
        bit_writer_free(&g->out);
    free(g);
    return status;
}
