/* SPDX-License-Identifier: BSD-2-Clause
 *
 * score: the distance between the frames of a damaged stream and those of the undamaged one.
 *
 *   score FRAME_BYTES SAMPLE_BYTES MAX TRUTH DECODED
 *
 * Both files hold raw frames. The decoder of the damaged stream may have dropped or added frames.
 * Frames are matched in order, with the greatest sum of PSNR. The first output line has the numbers
 * of frames of TRUTH and of DECODED. Then each frame of TRUTH has a line: the matched frame of
 * DECODED (-1: none) and a PSNR over all samples. The PSNR is that of the frame shown at its time:
 * the matched one, or the one shown before it. Identical frames have 100 dB. Exit: 0, 1 a file
 * error, 2 usage.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* frames that a match may lie off the diagonal, plus the difference in length */
#define BAND      12
#define IDENTICAL 100.0

struct frames {
    uint8_t *data;
    size_t count;
};

struct problem {
    struct frames truth, decoded;
    size_t bytes;
    unsigned sample_bytes;
    double peak;
    size_t head, tail; /* frames at both ends that are identical in turn */
};

static int read_frames(const char *path, size_t bytes, struct frames *out)
{
    FILE *file = fopen(path, "rb");
    size_t capacity = 64 * bytes, size = 0, n;
    uint8_t *data = malloc(capacity), *more;
    while (file && data && (n = fread(data + size, 1, capacity - size, file)) > 0) {
        size += n;
        if (size < capacity)
            continue;
        capacity *= 2;
        more = realloc(data, capacity);
        if (!more)
            free(data);
        data = more;
    }
    if (!file || !data) {
        perror(path);
        free(data);
        if (file)
            fclose(file);
        return -1;
    }
    fclose(file);
    *out = (struct frames){data, size / bytes};
    return 0;
}

static uint64_t squares_8(const uint8_t *a, const uint8_t *b, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n;) {
        uint32_t part = 0;
        for (size_t end = n - i < 32768 ? n : i + 32768; i < end; i++)
            part += (uint32_t)((a[i] - b[i]) * (a[i] - b[i]));
        sum += part;
    }
    return sum;
}

static uint64_t squares_16(const uint8_t *a, const uint8_t *b, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i + 1 < n; i += 2) {
        int64_t d = (a[i] | a[i + 1] << 8) - (b[i] | b[i + 1] << 8);
        sum += (uint64_t)(d * d);
    }
    return sum;
}

static double psnr(const struct problem *p, size_t i, size_t j)
{
    const uint8_t *a = p->truth.data + i * p->bytes, *b = p->decoded.data + j * p->bytes;
    uint64_t sum = p->sample_bytes == 1 ? squares_8(a, b, p->bytes) : squares_16(a, b, p->bytes);
    return sum ? 10 * log10(p->peak * p->peak * (double)(p->bytes / p->sample_bytes) / (double)sum)
               : IDENTICAL;
}

static int same(const struct problem *p, size_t i, size_t j)
{
    return memcmp(p->truth.data + i * p->bytes, p->decoded.data + j * p->bytes, p->bytes) == 0;
}

static void strip(struct problem *p)
{
    size_t n = p->truth.count, m = p->decoded.count, least = n < m ? n : m;
    while (p->head < least && same(p, p->head, p->head))
        p->head++;
    while (p->tail < least - p->head && same(p, n - 1 - p->tail, m - 1 - p->tail))
        p->tail++;
}

/* Longest common subsequence with PSNR as weight: best[i][j] of the first i and j frames between
 * head and tail. */
static int match(const struct problem *p, long *matched)
{
    size_t n = p->truth.count - p->head - p->tail, m = p->decoded.count - p->head - p->tail,
           row = m + 1;
    size_t band = BAND + (n > m ? n - m : m - n);
    double *best = calloc((n + 1) * row, sizeof(*best));
    uint8_t *take = calloc((n + 1) * row, 1);
    if (!best || !take) {
        free(best);
        free(take);
        return -1;
    }
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= m; j++) {
            double skip = fmax(best[(i - 1) * row + j], best[i * row + j - 1]), with = -1;
            if (i < j + band && j < i + band)
                with = best[(i - 1) * row + j - 1] + psnr(p, p->head + i - 1, p->head + j - 1);
            take[i * row + j] = with >= skip;
            best[i * row + j] = fmax(with, skip);
        }
    for (size_t i = n, j = m; i && j;)
        if (take[i * row + j])
            matched[p->head + --i] = (long)(p->head + --j);
        else if (best[(i - 1) * row + j] >= best[i * row + j - 1])
            i--;
        else
            j--;
    free(best);
    free(take);
    return 0;
}

static int score(struct problem *p)
{
    size_t n = p->truth.count, m = p->decoded.count;
    long *matched = malloc((n + 1) * sizeof(*matched)), shown = m ? 0 : -1;
    if (!matched)
        return -1;
    strip(p);
    for (size_t i = 0; i < n; i++)
        matched[i] = i < p->head ? (long)i : i + p->tail >= n ? (long)(i + m - n) : -1;
    if (match(p, matched) < 0) {
        free(matched);
        return -1;
    }
    printf("%zu %zu\n", n, m);
    for (size_t i = 0; i < n; i++) {
        shown = matched[i] >= 0 ? matched[i] : shown;
        printf("%ld %.3f\n", matched[i], shown >= 0 ? psnr(p, i, (size_t)shown) : 0.0);
    }
    free(matched);
    return 0;
}

int main(int argc, char **argv)
{
    struct problem p = {0};
    int status = 1;
    if (argc != 6 || atol(argv[1]) <= 0 || atoi(argv[2]) < 1 || atoi(argv[2]) > 2) {
        fprintf(stderr, "usage: score FRAME_BYTES SAMPLE_BYTES MAX TRUTH DECODED\n");
        return 2;
    }
    p.bytes = (size_t)atol(argv[1]);
    p.sample_bytes = (unsigned)atoi(argv[2]);
    p.peak = atof(argv[3]);
    if (read_frames(argv[4], p.bytes, &p.truth) == 0 &&
        read_frames(argv[5], p.bytes, &p.decoded) == 0 && score(&p) == 0)
        status = 0;
    free(p.truth.data);
    free(p.decoded.data);
    return status;
}
