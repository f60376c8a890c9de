/* SPDX-License-Identifier: BSD-2-Clause
 *
 * References of --verify, and the comparison with them.
 */
#include "client/verify.h"
#include "client/av_picture.h"

#include <ctype.h>
#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/md5.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>

enum reference { REF_FRAMEMD5, REF_MD5, REF_Y4M, REF_RAW };

struct verify {
    enum reference kind;
    const char *path;
    FILE *file;
    uint64_t frames;
    char whole[33];
    struct AVMD5 *md5;
    uint8_t *packed, *expected;
    size_t size;
};

static bool is_hex32(const char *text)
{
    for (int i = 0; i < 32; i++)
        if (!isxdigit((unsigned char)text[i]))
            return false;
    return !isxdigit((unsigned char)text[32]);
}

static void copy_md5(char out[33], const char *hex)
{
    for (int i = 0; i < 32; i++)
        out[i] = (char)tolower((unsigned char)hex[i]);
    out[32] = 0;
}

bool framemd5_next(FILE *text, char md5[33])
{
    char line[512];
    while (fgets(line, sizeof(line), text)) {
        const char *comma = line[0] == '#' ? NULL : strrchr(line, ',');
        if (!comma)
            continue;
        comma += 1 + strspn(comma + 1, " \t");
        if (strlen(comma) >= 32 && is_hex32(comma)) {
            copy_md5(md5, comma);
            return true;
        }
    }
    return false;
}

/* Finds one MD5 in the first line: "MD5=…", "… name", or alone. */
static bool whole_md5(const char *text, char out[33])
{
    for (const char *p = text; *p && *p != '\n'; p++) {
        bool starts = p == text || !isalnum((unsigned char)p[-1]);
        if (starts && strlen(p) >= 32 && is_hex32(p)) {
            copy_md5(out, p);
            return true;
        }
    }
    return false;
}

static enum reference kind_of(const char *head, size_t length, char whole[33])
{
    if (length >= 9 && !memcmp(head, "YUV4MPEG2", 9))
        return REF_Y4M;
    if (memchr(head, 0, length) == NULL) {
        if (!strncmp(head, "#format: frame checksums", 24))
            return REF_FRAMEMD5;
        if (length < 500 && whole_md5(head, whole))
            return REF_MD5;
        if (!strncmp(head, "0,", 2))
            return REF_FRAMEMD5;
    }
    return REF_RAW;
}

int verify_open(const char *path, struct verify **out, struct failure *f)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return fail_errno(f, X_INPUT, errno, path);
    char head[513];
    size_t n = fread(head, 1, 512, file);
    head[n] = 0;
    struct verify *v = n > 0 ? calloc(1, sizeof(*v)) : NULL;
    if (!v) {
        int error = ferror(file) ? errno : 0;
        fclose(file);
        return error ? fail_errno(f, X_INPUT, error, path)
                     : fail_with(f, X_USAGE, "a framemd5, MD5, y4m or raw file is wanted",
                                 "%s: nothing in the reference", path);
    }
    v->kind = kind_of(head, n, v->whole);
    v->path = path;
    v->file = file;
    v->md5 = av_md5_alloc();
    rewind(file);
    if (v->kind == REF_Y4M) {
        for (int c = getc(file); c != EOF && c != '\n'; c = getc(file)) {
        }
    }
    if (!v->md5) {
        verify_close(v);
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    }
    av_md5_init(v->md5);
    *out = v;
    return 0;
}

void verify_close(struct verify *v)
{
    if (!v)
        return;
    fclose(v->file);
    av_free(v->md5);
    av_free(v->packed);
    av_free(v->expected);
    free(v);
}

uint64_t verify_frames(const struct verify *v)
{
    return v->frames;
}

static int mismatch(struct verify *v, const char *expected, const char *got, struct failure *f)
{
    return fail_with(f, X_MISMATCH, "compare the pictures: pelton decode -f png, and ffmpeg",
                     "frame %llu differs from %s: expected %s, got %s",
                     (unsigned long long)v->frames, v->path, expected, got);
}

static int pack(struct verify *v, const AVFrame *frame, struct failure *f)
{
    int size = av_image_get_buffer_size(frame->format, frame->width, frame->height, 1);
    if (size > 0 && (size_t)size != v->size) {
        av_freep(&v->packed);
        av_freep(&v->expected);
        v->packed = av_malloc((size_t)size);
        v->expected = av_malloc((size_t)size);
        v->size = v->packed && v->expected ? (size_t)size : 0;
    }
    if (size <= 0 || v->size == 0)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    av_image_copy_to_buffer(v->packed, size, (const uint8_t *const *)frame->data, frame->linesize,
                            frame->format, frame->width, frame->height, 1);
    return 0;
}

static void sample_position(const AVFrame *frame, size_t at, char *out, size_t size)
{
    int linesize[4] = {0};
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(frame->format);
    av_image_fill_linesizes(linesize, frame->format, frame->width);
    for (int p = 0; p < av_pix_fmt_count_planes(frame->format); p++) {
        size_t rows = (size_t)(p == 1 || p == 2 ? AV_CEIL_RSHIFT(frame->height, d->log2_chroma_h)
                                                : frame->height);
        if (linesize[p] > 0 && at < rows * (size_t)linesize[p]) {
            snprintf(out, size, " at plane %d, row %zu, byte %zu", p, at / (size_t)linesize[p],
                     at % (size_t)linesize[p]);
            return;
        }
        at -= rows * (size_t)linesize[p];
    }
    out[0] = 0;
}

/* Reads the bytes of the next frame of a y4m or raw reference. */
static int compare_bytes(struct verify *v, const AVFrame *frame, struct failure *f)
{
    char header[256];
    if (pack(v, frame, f))
        return f->code;
    if (v->kind == REF_Y4M &&
        (!fgets(header, sizeof(header), v->file) || strncmp(header, "FRAME", 5))) {
        return mismatch(v, "no further frame", "one", f);
    }
    size_t n = fread(v->expected, 1, v->size, v->file);
    if (n < v->size)
        return mismatch(v, n ? "a shorter frame" : "no further frame", "one", f);
    for (size_t i = 0; i < n; i++) {
        if (v->expected[i] != v->packed[i]) {
            char expected[96], got[8], where[64];
            sample_position(frame, i, where, sizeof(where));
            snprintf(expected, sizeof(expected), "%u%s", v->expected[i], where);
            snprintf(got, sizeof(got), "%u", v->packed[i]);
            return mismatch(v, expected, got, f);
        }
    }
    return 0;
}

int verify_frame(struct verify *v, const AVFrame *frame, struct failure *f)
{
    char expected[33], got[33];
    int rc = 0;
    switch (v->kind) {
    case REF_FRAMEMD5:
        picture_md5(frame, got);
        if (!framemd5_next(v->file, expected))
            rc = mismatch(v, "no further frame", got, f);
        else if (strcmp(expected, got))
            rc = mismatch(v, expected, got, f);
        break;
    case REF_MD5:
        rc = pack(v, frame, f);
        if (rc == 0)
            av_md5_update(v->md5, v->packed, v->size);
        break;
    default:
        rc = compare_bytes(v, frame, f);
        break;
    }
    v->frames += rc == 0;
    return rc;
}

static int compare_whole(struct verify *v, struct failure *f)
{
    uint8_t digest[16];
    char got[33];
    av_md5_final(v->md5, digest);
    for (int i = 0; i < 16; i++)
        snprintf(got + 2 * i, 3, "%02x", digest[i]);
    if (strcmp(got, v->whole)) {
        return fail_with(f, X_MISMATCH, "a framemd5 reference would name the frame",
                         "the %llu frames differ from %s: expected %s, got %s",
                         (unsigned long long)v->frames, v->path, v->whole, got);
    }
    return 0;
}

int verify_end(struct verify *v, struct failure *f)
{
    char expected[33];
    switch (v->kind) {
    case REF_MD5:
        return compare_whole(v, f);
    case REF_FRAMEMD5:
        return framemd5_next(v->file, expected) ? mismatch(v, expected, "no further frame", f) : 0;
    default:
        return getc(v->file) != EOF ? mismatch(v, "a further frame", "none", f) : 0;
    }
}
