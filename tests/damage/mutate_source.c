/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reads streams and decodes them with the slow reference.
 */
#include "tests/damage/mutate_source.h"
#include "codec/h264_stream.h"
#include "codec/nal.h"
#include "tests/tools/annexb.h"
#include "tests/tools/grow.h"
#include "tests/tools/read_file.h"
#include "tests/tools/refdec.h"

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

enum { MOST_ACCESS_UNITS = 12, LEAST_ACCESS_UNITS = 2, NAL_IDR = 5, MOST_READERS = 16 };

static const uint8_t end_of_sequence[] = {10}, delimiter[] = {9, 0xf0};

/* ---- decoding ---- */

struct decoding {
    struct refdec d; /* first: its functions find the rest */
    struct decoded *out;
    struct judge *judge; /* or NULL */
    unsigned completed;  /* pictures that came out of step 1 */
    unsigned macroblocks;
};

static uint64_t hash_words(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *at = data;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, at + i, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Rows of one parity. */
static uint64_t field_hash(const struct ref_frame *f, unsigned parity)
{
    uint64_t hash = rng_mix(f->width * 65536u + f->height);
    for (int p = 0; p < 3; p++) {
        uint32_t mb_w = ref_mb_width(f->chroma_format_idc, p);
        uint32_t rows = ref_mb_height(f->chroma_format_idc, p) * (f->height / 16);
        for (uint32_t y = parity; mb_w && y < rows; y += 2)
            hash = hash_words(hash, f->plane[p] + (size_t)y * f->stride[p],
                              mb_w * (f->width / 16) * sizeof(uint16_t));
    }
    return hash;
}

/* Of a field whose other one never came, its rows alone. */
static void shown_hash(struct shown *s, const struct ref_frame *f, const struct h264_picture *pic)
{
    s->fields[0] = field_hash(f, 0);
    s->fields[1] = field_hash(f, 1);
    if (pic->structure != REC_FRAME && !pic->paired)
        s->hash = s->fields[pic->structure == REC_BOTTOM];
    else
        s->hash = rng_mix(s->fields[0] ^ rng_mix(s->fields[1]));
}

static void on_emit(struct refdec *d, const struct h264_picture *pic)
{
    struct decoded *out = ((struct decoding *)d)->out;
    const struct slot *slot = &d->slots[pic->holder.slot];
    if (!grow_by_one(&out->at, out->count, &out->capacity, sizeof(*out->at))) {
        d->failed = true;
        return;
    }
    out->at[out->count] =
        (struct shown){.tag = pic->tag, .last_tag = slot->last_tag, .marked = slot->corrupt};
    if (((struct decoding *)d)->judge)
        out->at[out->count].breach =
            judge_frame(((struct decoding *)d)->judge, pic->id, &out->at[out->count].alone);
    shown_hash(&out->at[out->count++], slot->frame, pic);
}

static void on_begin(struct refdec *d, struct h264_picture *pic)
{
    struct decoding *c = (struct decoding *)d;
    if (c->judge)
        judge_before(c->judge, pic);
}

static void on_picture(struct refdec *d, struct h264_picture *pic)
{
    struct decoding *c = (struct decoding *)d;
    if (c->judge)
        judge_after(c->judge, pic);
    c->completed += !pic->non_existing;
    c->macroblocks += pic->mb_count;
}

/* bytes: with a start code. */
static void feed_bytes(struct decoding *c, const uint8_t *bytes, size_t size, int64_t tag)
{
    struct h264_diag diag;
    if (c->judge)
        judge_unit(c->judge, c->d.stream, bytes + 3, size - 3);
    int error = h264_stream_feed(c->d.stream, bytes, size, tag, &diag);
    if (c->judge)
        judge_fed(c->judge, c->d.stream, error);
    refdec_drain(&c->d, false);
}

/* Damage may have put start codes into it: the judge has the units one by one. */
static void feed_each(struct decoding *c, const uint8_t *bytes, size_t size, int64_t tag)
{
    struct h264_nal_iter it;
    const uint8_t *nal;
    size_t nal_size;
    h264_nal_iter_init(&it, bytes, size, 0);
    while (h264_nal_next(&it, &nal, &nal_size))
        feed_bytes(c, nal - 3, nal_size + 3, tag);
}

static void feed_unit(struct decoding *c, const struct unit *u, int64_t tag)
{
    uint8_t *bytes = malloc(u->size + 3);
    if (!bytes) {
        c->d.failed = true;
        return;
    }
    memcpy(bytes, "\0\0\1", 3);
    memcpy(bytes + 3, u->data, u->size);
    if (c->judge)
        feed_each(c, bytes, u->size + 3, tag);
    else
        feed_bytes(c, bytes, u->size + 3, tag);
    free(bytes);
}

static void decoding_open(struct decoding *c, unsigned views, struct decoded *out)
{
    *c = (struct decoding){
        .d = {.quiet = true, .before = on_begin, .after = on_picture, .emit = on_emit}, .out = out};
    if (!refdec_open(&c->d, views))
        c->d.failed = true;
}

static void decoding_close(struct decoding *c)
{
    if (c->d.stream) {
        h264_stream_flush(c->d.stream);
        refdec_drain(&c->d, true);
    }
    c->out->failed |= c->d.failed;
    refdec_close(&c->d);
}

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void decode(const struct units *u, bool tagged, unsigned views, struct judge *judge,
                   struct decoded *out)
{
    struct decoding c;
    double begin = cpu_now();
    *out = (struct decoded){.count = 0};
    decoding_open(&c, views, out);
    c.judge = judge;
    for (unsigned i = 0; i < u->count && c.d.stream; i++)
        feed_unit(&c, &u->at[i], tagged ? u->at[i].tag : 0);
    decoding_close(&c);
    out->cpu_s = cpu_now() - begin;
}

void decode_units(const struct units *u, bool tagged, unsigned views, struct decoded *out)
{
    decode(u, tagged, views, NULL, out);
}

bool decode_judged(const struct units *u, bool tagged, const struct breaches *allowed,
                   struct breaches *seen, struct decoded *out)
{
    struct judge *judge = judge_create(allowed);
    if (!judge)
        return false;
    decode(u, tagged, 1, judge, out);
    if (seen)
        *seen = *judge_breaches(judge);
    bool good = judge_good(judge);
    judge_free(judge);
    return good;
}

void decoded_free(struct decoded *d)
{
    free(d->at);
    *d = (struct decoded){.count = 0};
}

/* ---- reading ---- */

bool units_split(struct units *u, const uint8_t *data, size_t size)
{
    size_t next;
    for (size_t at = annexb_start(data, size, 0); at < size; at = next) {
        next = annexb_start(data, size, at + 3);
        struct unit unit = {.data = data + at + 3, .size = next - at - 3};
        if (!units_insert(u, u->count, unit))
            return false;
    }
    return true;
}

/* Numbers the access units: one ends before the unit with which step 1 completes its picture.
 * Returns how many units to keep, so that few macroblocks are in them. */
static unsigned number_access_units(struct units *u, unsigned macroblocks, int64_t *total)
{
    struct decoded ignored = {.count = 0};
    struct decoding c;
    unsigned from = 0, completed = 0;
    bool slices = false;
    *total = 0;
    decoding_open(&c, 1, &ignored);
    for (unsigned i = 0; i < u->count && c.d.stream; i++) {
        feed_unit(&c, &u->at[i], 0);
        if (c.completed > completed && slices) {
            for (; from < i; from++)
                u->at[from].tag = *total;
            ++*total;
            slices = false;
            if (c.macroblocks > macroblocks || *total == MOST_ACCESS_UNITS)
                break;
        }
        completed = c.completed;
        slices |= unit_is_slice(&u->at[i]);
    }
    decoding_close(&c);
    decoded_free(&ignored);
    return from;
}

static bool starts_with_idr(const struct units *u)
{
    for (unsigned i = 0; i < u->count; i++)
        if (unit_is_slice(&u->at[i]))
            return unit_type(&u->at[i]) == NAL_IDR;
    return false;
}

/* All of it a second time, behind an end of sequence. */
static bool units_double(struct units *u, int64_t total)
{
    unsigned n = u->count;
    struct unit end = {.data = end_of_sequence, .size = 1, .tag = total - 1},
                begin = {.data = delimiter, .size = 2, .tag = total};
    if (!units_insert(u, u->count, end) || !units_insert(u, u->count, begin))
        return false;
    for (unsigned i = 0; i < n; i++) {
        struct unit again = u->at[i];
        again.tag += total;
        if (!units_insert(u, u->count, again))
            return false;
    }
    u->open = n;
    return true;
}

static bool shows_the_same(const struct decoded *a, const struct decoded *b)
{
    for (unsigned i = 0; i < a->count && a->count == b->count; i++)
        if (a->at[i].hash != b->at[i].hash)
            return false;
    return a->count == b->count && !a->failed && !b->failed;
}

/* Whether the second half shows what the first one does. */
static bool repeats(const struct decoded *d)
{
    unsigned half = d->count / 2;
    for (unsigned i = 0; i < half; i++)
        if (d->at[i].hash != d->at[half + i].hash || d->at[i].marked)
            return false;
    return half && d->count == 2 * half && !d->failed;
}

static const char *source_build(struct source *s, size_t size, unsigned macroblocks)
{
    struct decoded tagged;
    if (!units_split(&s->units, s->bytes, size))
        return "no memory";
    if (!starts_with_idr(&s->units))
        return "it does not begin with an IDR picture";
    s->units.count = number_access_units(&s->units, macroblocks, &s->units_total);
    if (s->units_total < LEAST_ACCESS_UNITS)
        return "its pictures are too large, or too few";
    if (!units_double(&s->units, s->units_total))
        return "no memory";
    decode_units(&s->units, false, 1, &s->clean);
    if (!repeats(&s->clean))
        return "its second half is not as the first";
    decode_units(&s->units, true, 1, &tagged);
    s->tagged = shows_the_same(&tagged, &s->clean);
    if (s->tagged) {
        decoded_free(&s->clean);
        s->clean = tagged;
    } else {
        decoded_free(&tagged);
    }
    return NULL;
}

static void source_free(struct source *s)
{
    if (!s)
        return;
    decoded_free(&s->clean);
    units_free(&s->units);
    free(s->bytes);
    free(s);
}

/* NULL: none of use, *why says why. */
static struct source *source_read(const char *path, unsigned macroblocks, const char **why)
{
    struct source *s = calloc(1, sizeof(*s));
    size_t size = 0;
    *why = "no memory";
    if (!s)
        return NULL;
    s->name = path;
    s->bytes = read_file(path, &size);
    *why = s->bytes ? source_build(s, size, macroblocks) : "it cannot be read";
    if (!*why)
        return s;
    source_free(s);
    return NULL;
}

/* Every step-th path from the first one on. */
struct reader {
    pthread_t thread;
    char **paths;
    int from, count, step;
    unsigned macroblocks;
    struct source **out; /* by path; NULL: of no use */
};

static void *reader_run(void *arg)
{
    const struct reader *r = arg;
    for (int i = r->from; i < r->count; i += r->step) {
        const char *why;
        r->out[i] = source_read(r->paths[i], r->macroblocks, &why);
        if (!r->out[i])
            printf("left out %s: %s\n", r->paths[i], why);
    }
    return NULL;
}

bool sources_read(struct sources *s, char **paths, int n, unsigned macroblocks, unsigned threads)
{
    struct reader readers[MOST_READERS];
    unsigned count = threads < MOST_READERS ? threads : MOST_READERS, started = 0;
    *s = (struct sources){.at = calloc((size_t)n, sizeof(struct source *))};
    for (; started < count && s->at; started++) {
        readers[started] = (struct reader){.paths = paths,
                                           .from = (int)started,
                                           .count = n,
                                           .step = (int)count,
                                           .macroblocks = macroblocks,
                                           .out = s->at};
        if (pthread_create(&readers[started].thread, NULL, reader_run, &readers[started]))
            break;
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(readers[i].thread, NULL);
    for (int i = 0; i < n && s->at; i++)
        if (s->at[i])
            s->at[s->count++] = s->at[i];
    return s->count && started == count;
}

void sources_free(struct sources *s)
{
    for (unsigned i = 0; i < s->count; i++)
        source_free(s->at[i]);
    free(s->at);
}

/* ---- damage ---- */

bool damaged_make(struct damaged *d, uint64_t seed, uint64_t number, const struct sources *sources)
{
    struct rng rng = rng_fork((struct rng){seed}, number);
    *d = (struct damaged){.number = number,
                          .kind = (enum mutation)(number % MUTATION_KINDS),
                          .source = sources->at[rng_below(&rng, sources->count)],
                          .first = INT64_MAX};
    unsigned damages = 1 + (rng_one_in(&rng, 3) ? rng_below(&rng, MOST_DAMAGES) : 0);
    if (!units_copy(&d->units, &d->source->units))
        return false;
    for (unsigned i = 0; i < damages; i++) {
        const struct source *other = sources->at[rng_below(&rng, sources->count)];
        int64_t tag = mutate(&rng, d->kind, &d->units, &other->units);
        if (tag < 0)
            return false;
        d->others[d->other_count++] = other;
        d->first = tag < d->first ? tag : d->first;
    }
    return true;
}

void damaged_failed(const struct damaged *d, uint64_t seed, const char *format, va_list args)
{
    printf("FAILED seed %" PRIu64 " mutation %" PRIu64 " (%s of %s): ", seed, d->number,
           mutation_names[d->kind], d->source->name);
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
}

bool damaged_write(const struct damaged *d, FILE *file)
{
    bool good = true;
    for (unsigned i = 0; i < d->units.count && good; i++) {
        const struct unit *u = &d->units.at[i];
        good = fwrite("\0\0\1", 1, 3, file) == 3 && fwrite(u->data, 1, u->size, file) == u->size;
    }
    return good;
}
