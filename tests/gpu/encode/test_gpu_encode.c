/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's shaders against encode/reference, pass by pass: two streams in one batch, pictures
 * with more and more references, sizes that are not those of workgroups.
 */
#include "tests/gpu/gpuworld.h"

#include "encode/analysis.h"
#include "encode/reference/cost.h"
#include "encode/reference/decide.h"
#include "encode/reference/picture_work.h"
#include "gpu/encode/encode_codes.h"
#include "gpu/encode/gpu_encode.h"
#include "gpu/engine/arena.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/work.h"
#include "tests/encode/scene.h"

#define STREAMS 2
#define TURNS   (1 + ENCODING_REFERENCES) /* the references, and the picture that is decided */
#define SETS    (STREAMS * (1 + TURNS))

/* A frame as pools have it: strides and places that are multiples of four, no more */
struct device_frame {
    struct gpu_host *host;
    struct gpu_arena *arena; /* where it comes from */
    uint8_t *staging;
    void *memory;
    size_t size;
    struct gpu_encode_source source;
};

/* Streams of one size and setting, side by side */
struct beside {
    struct encoding encoding;
    struct encoding_limits limits;
    struct decider *deciders[STREAMS];
    struct scene scenes[STREAMS];
    struct gpu_encode *gpu;
    uint32_t mbs, frame_bytes;
    uint8_t *frames; /* of all streams, in the arena */
    int8_t *offsets; /* of QP */
    int qp[STREAMS];
    struct gpu_arena *arena;
    struct gpu_encode_result got[STREAMS];
    struct device_frame on_device;
    struct enc_analysis *analysis; /* in the arena */
};

static unsigned left_out; /* macroblocks whose intra prediction was not tried */

static void results_open(struct beside *b)
{
    size_t coeffs = b->mbs * ENC_BLOCKS * 32, mbs = b->mbs * sizeof(struct rec_mb);
    size_t motion = b->mbs * sizeof(struct rec_motion), all = coeffs + mbs + motion;
    void *memory;
    assert_int_equal(
        gpu_arena_create(gpu, STREAMS * (all + 2 * b->frame_bytes) + b->mbs * sizeof(*b->analysis),
                         &b->arena, &memory),
        GPU_OK);
    b->analysis = (void *)((uint8_t *)memory + STREAMS * (all + 2 * b->frame_bytes));
    b->frames = (uint8_t *)memory + STREAMS * all;
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint8_t *at = (uint8_t *)memory + i * all;
        b->got[i].frame = b->frames + (STREAMS + i) * b->frame_bytes;
        b->got[i].coeffs = (void *)at;
        b->got[i].mbs = (void *)(at + coeffs);
        b->got[i].motion = (void *)(at + coeffs + mbs);
    }
}

static void device_frame_open(struct device_frame *f, uint32_t width, uint32_t height, bool chroma)
{
    void *staging;
    f->source = (struct gpu_encode_source){.width = width, .height = height};
    f->size = 12; /* it does not begin the memory */
    for (int c = 0; c < (chroma ? 3 : 1); c++) {
        f->source.offset[c] = f->size;
        f->source.stride[c] = ((c ? (width + 1) / 2 : width) + 3) / 4 * 4 + 8 * (uint32_t)c;
        f->size += (size_t)f->source.stride[c] * (c ? (height + 1) / 2 : height);
    }
    f->size = (f->size + 4095) / 4096 * 4096;
    f->memory = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(f->memory, MAP_FAILED);
    assert_int_equal(gpu_host_import(gpu, f->memory, f->size, &f->host), GPU_OK);
    assert_int_equal(gpu_arena_create(gpu, f->size, &f->arena, &staging), GPU_OK);
    f->staging = staging;
    f->source.host = f->host;
}

static void device_frame_close(struct device_frame *f)
{
    gpu_host_free(f->host);
    gpu_arena_free(f->arena);
    munmap(f->memory, f->size);
}

static void record_upload(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct device_frame *f = ctx;
    struct gpu_place from;
    assert_true(gpu_arena_find(g, f->staging, f->size, &from));
    g->vk.vkCmdCopyBuffer(commands, from.buffer, gpu_host_buffer(f->host), 1,
                          &(VkBufferCopy){from.offset, 0, f->size});
}

/* What lies between the rows must not count. */
static void device_frame_fill(struct device_frame *f, const struct decider_source *from)
{
    memset(f->staging, 0x5a, f->size);
    for (int c = 0; c < 3 && f->source.stride[c]; c++) {
        uint32_t width = f->source.width, height = f->source.height;
        for (uint32_t y = 0; y < (c ? (height + 1) / 2 : height); y++)
            memcpy(f->staging + f->source.offset[c] + y * f->source.stride[c],
                   from->plane[c] + y * from->stride[c], c ? (width + 1) / 2 : width);
    }
    assert_int_equal(gpu_run(gpu, record_upload, f), GPU_OK);
}

static void beside_open(struct beside *b, const struct encoding *encoding,
                        enum encode_wavefront wavefront)
{
    char why[ENCODING_WHY];
    struct gpu_encode_params params = {.pictures = STREAMS,
                                       .streams = STREAMS,
                                       .sources = STREAMS,
                                       .sets = SETS,
                                       .wavefront = wavefront,
                                       .no_halves = wavefront == ENCODE_AT_ONCE};
    memset(b, 0, sizeof(*b));
    b->encoding = *encoding;
    assert_int_equal(encoding_check(&b->encoding, &b->limits, why), 0);
    params.mb_width = b->limits.mb_width;
    params.mb_height = b->limits.mb_height;
    encode_quantisers_fill(params.quantiser);
    assert_int_equal(gpu_encode_create(gpu, &params, &b->gpu), GPU_OK);
    b->mbs = params.mb_width * params.mb_height;
    b->frame_bytes = 384 * b->mbs;
    assert_int_equal(gpu_encode_frame_size(b->gpu), b->frame_bytes);
    results_open(b);
    device_frame_open(&b->on_device, encoding->width, encoding->height,
                      encoding->chroma_format_idc);
    b->offsets = test_malloc(STREAMS * b->mbs);
    for (int i = 0; i < STREAMS; i++) {
        assert_non_null(b->deciders[i] = decider_create(&b->encoding, &b->limits));
        scene_open(&b->scenes[i], encoding->width, encoding->height);
    }
}

static void beside_close(struct beside *b)
{
    for (int i = 0; i < STREAMS; i++) {
        scene_close(&b->scenes[i]);
        decider_free(b->deciders[i]);
    }
    test_free(b->offsets);
    gpu_encode_free(b->gpu);
    gpu_arena_free(b->arena);
    device_frame_close(&b->on_device);
}

static void frame_take(const struct ref_frame *frame, uint8_t *out)
{
    for (int c = 0; c < (frame->plane[1] ? 3 : 1); c++) {
        size_t size = (size_t)frame->width * frame->height / (c ? 4 : 1);
        for (size_t i = 0; i < size; i++)
            *out++ = (uint8_t)frame->plane[c][i];
    }
}

/* Decide the next picture of each stream. Every second one has offsets of QP. */
static void beside_decide(struct beside *b, int time, bool skip)
{
    for (int i = 0; i < STREAMS; i++) {
        struct decider_source source = scene_source(&b->scenes[i]);
        int8_t *offsets = b->offsets + (uint32_t)i * b->mbs;
        struct decider_wish wish = {.idr = time == 0,
                                    .qp = b->qp[i] = scene_random(52),
                                    .skip = skip,
                                    .qp_offsets = offsets};
        struct rec_view view;
        for (uint32_t mb = 0; mb < b->mbs; mb++)
            offsets[mb] = (int8_t)(time & 1 ? scene_random(13) - 6 : 0);
        scene_draw(&b->scenes[i], time);
        assert_int_equal(decider_decide(b->deciders[i], &source, &wish, &view), 0);
        frame_take(decider_work(b->deciders[i])->source, b->frames + (uint32_t)i * b->frame_bytes);
    }
}

static uint16_t set_of(uint32_t stream, uint32_t slot)
{
    return (uint16_t)(STREAMS + stream * TURNS + slot % TURNS);
}

/* The head of the picture that was decided last. Pictures take turns in the sets of a stream. */
static struct enc_picture head_of(const struct beside *b, uint32_t i, int time, bool skip)
{
    const struct picture_work *w = decider_work(b->deciders[i]);
    struct enc_picture p = {.source = i, .qp = (uint32_t)b->qp[i]};
    uint32_t stream = STREAMS - 1 - i; /* in another order than the batch's */
    p.last = 2 * stream + (uint32_t)(time + 1) % 2;
    p.kept = 2 * stream + (uint32_t)time % 2;
    p.pending = set_of(i, (uint32_t)time);
    if (skip)
        p.reference[0] = set_of(i, (uint32_t)time - 1);
    p.ref_count = skip ? 0 : w->ref_count;
    for (uint32_t r = 0; r < p.ref_count; r++)
        p.reference[r] = set_of(i, (uint32_t)time - 1 - r);
    p.lambda = cost_lambda(b->qp[i]);
    p.lambda_ssd = cost_lambda_ssd(b->qp[i]);
    p.mv_max[0] = (uint16_t)b->limits.mv_x;
    p.mv_max[1] = (uint16_t)b->limits.mv_y;
    p.level_max = w->level_max;
    p.chroma_qp_offset = b->encoding.chroma_qp_offset;
    p.flags =
        (uint8_t)((b->encoding.transform_8x8 ? ENC_TRANSFORM_8X8 : 0) |
                  (b->encoding.chroma_format_idc ? ENC_CHROMA : 0) | (skip ? ENC_SKIP_ALL : 0));
    p.slices = b->encoding.slices;
    p.deblocking = b->encoding.deblocking;
    p.filter_offset[0] = (int8_t)(2 * b->encoding.filter_offset_a);
    p.filter_offset[1] = (int8_t)(2 * b->encoding.filter_offset_b);
    return p;
}

/* ---- what was made ---- */

static void *read_binding(struct beside *b, uint32_t binding, uint64_t offset, uint64_t size)
{
    void *out = test_malloc(size);
    assert_int_equal(gpu_encode_read(b->gpu, binding, offset, size, out), GPU_OK);
    return out;
}

static void check_plane(const struct sample_plane *want, const uint8_t *set, uint32_t plane,
                        uint32_t margin)
{
    uint32_t level = ENC_LEVEL(plane), stride = (uint32_t)want->width + 2 * ENC_MARGIN;
    uint32_t full_w = (uint32_t)want->width << level, full_h = (uint32_t)want->height << level;
    const uint8_t *origin =
        set + ENC_PLANE_AT(full_w, full_h, plane) + ENC_MARGIN * stride + ENC_MARGIN;
    for (int y = -(int)margin; y < want->height + (int)margin; y++)
        for (int x = -(int)margin; x < want->width + (int)margin; x++)
            assert_int_equal(origin[y * (int)stride + x], *plane_at(want, x, y));
}

static void check_set(struct beside *b, uint32_t index, const struct luma_planes *want)
{
    uint32_t width = 16 * b->limits.mb_width, height = 16 * b->limits.mb_height;
    uint64_t size = ENC_SET_SIZE(width, height);
    uint8_t *set = read_binding(b, ENC_BIND_PLANES, index * size, size);
    for (uint32_t i = 0; i < HALF_COUNT; i++)
        if (want->full[i].memory)
            check_plane(&want->full[i], set, i, ENC_MARGIN - (i ? 3 : 0));
    check_plane(&want->half, set, ENC_PLANE_HALF, ENC_MARGIN);
    check_plane(&want->quarter, set, ENC_PLANE_FOURTH, ENC_MARGIN);
    test_free(set);
}

_Static_assert(sizeof(struct motion_search) == sizeof(struct enc_search), "one is the other");
_Static_assert(sizeof(struct intra_choice) == sizeof(struct enc_intra), "one is the other");

static void check_search(struct beside *b, uint32_t stream, uint32_t ref_count)
{
    uint64_t size = b->mbs * sizeof(struct enc_search);
    for (uint32_t r = 0; r < ref_count; r++) {
        void *got = read_binding(b, ENC_BIND_SEARCH, (stream * ENC_REFERENCES + r) * size, size);
        assert_memory_equal(got, decider_work(b->deciders[stream])->search[r], size);
        test_free(got);
    }
}

/* Intra choices. What was left out is not there; P pictures have no first round. */
static void check_intra(struct beside *b, uint32_t stream, uint32_t ref_count)
{
    const struct picture_work *w = decider_work(b->deciders[stream]);
    uint64_t size = b->mbs * sizeof(struct enc_intra);
    struct intra_choice *got = read_binding(b, ENC_BIND_INTRA, stream * size, size);
    for (uint32_t mb = 0; mb < b->mbs; mb++) {
        assert_int_equal(got[mb].cost, w->intra[mb].cost);
        left_out += got[mb].cost == UINT32_MAX;
        if (ref_count)
            memcpy(got[mb].mode4, w->intra[mb].mode4, sizeof(got->mode4));
        if (got[mb].cost < UINT32_MAX)
            assert_memory_equal(&got[mb], &w->intra[mb], sizeof(*got));
    }
    test_free(got);
}

/* Both fields of vectors: of the last round and of the one before */
static void check_fields(struct beside *b, uint32_t stream, uint32_t ref_count)
{
    const struct picture_work *w = decider_work(b->deciders[stream]);
    uint64_t field = b->mbs * sizeof(struct rec_motion);
    void *got;
    for (uint32_t i = 0; i < (ref_count ? 2 : 1); i++) {
        got = read_binding(b, ENC_BIND_MOTION, (i * STREAMS + stream) * field, field);
        assert_memory_equal(got, i ? w->field : w->motion, field);
        test_free(got);
    }
}

static void check_unfiltered(struct beside *b, uint32_t stream)
{
    const struct picture_work *w = decider_work(b->deciders[stream]);
    uint8_t *got =
        read_binding(b, ENC_BIND_UNFILTERED, stream * (uint64_t)b->frame_bytes, b->frame_bytes);
    uint8_t *want = test_calloc(1, b->frame_bytes);
    frame_take(w->rebuilt, want);
    assert_memory_equal(got, want, b->encoding.chroma_format_idc ? b->frame_bytes : 256 * b->mbs);
    test_free(got);
    test_free(want);
}

/* The filtered reconstruction */
static void check_frame(struct beside *b, uint32_t stream)
{
    uint8_t *want = test_calloc(1, b->frame_bytes);
    frame_take(decider_frame(b->deciders[stream]), want);
    assert_memory_equal(b->got[stream].frame, want,
                        b->encoding.chroma_format_idc ? b->frame_bytes : 256 * b->mbs);
    test_free(want);
}

static void check_records(struct beside *b, uint32_t stream)
{
    const struct picture_work *w = decider_work(b->deciders[stream]);
    const struct gpu_encode_result *got = &b->got[stream];
    for (uint32_t mb = 0; mb < b->mbs; mb++)
        assert_memory_equal(&got->mbs[mb], &w->mbs[mb], sizeof(*w->mbs));
    assert_memory_equal(got->motion, w->motion, b->mbs * sizeof(*w->motion));
    assert_int_equal(got->coeff_block_count, w->coeff_block_count);
    assert_memory_equal(got->coeffs, w->coeffs, w->coeff_block_count * sizeof(w->coeffs[0]));
}

/* The source that lies on the device */
static void analyse(struct beside *b, const struct enc_picture *picture)
{
    const struct gpu_encode_look look = {
        .picture = *picture, .source = b->on_device.source, .analysis = b->analysis};
    const struct gpu_encode_look *one = &look;
    assert_int_equal(gpu_encode_analyse(b->gpu, &one, 1), GPU_OK);
}

/* A picture whose source was loaded for its analysis */
static void load_source(struct beside *b, uint32_t stream, struct enc_picture *picture)
{
    analyse(b, &(struct enc_picture){.source = stream, .before = ENC_NO_SET});
    picture->flags |= ENC_LOADED;
}

static void check_picture(struct beside *b, int time, bool skip)
{
    struct gpu_encode_decision decisions[STREAMS], *list[STREAMS];
    uint32_t on_device = (uint32_t)time % STREAMS; /* the other one lies in host memory */
    beside_decide(b, time, skip);
    struct decider_source source = scene_source(&b->scenes[on_device]);
    device_frame_fill(&b->on_device, &source);
    for (uint32_t i = 0; i < STREAMS; i++) {
        list[i] = &decisions[i];
        decisions[i] = (struct gpu_encode_decision){
            .picture = head_of(b, i, time, skip),
            .source = {.frame = b->frames + i * b->frame_bytes},
            .offsets = time & 1 ? b->offsets + i * b->mbs : NULL,
            .result = b->got[i],
        };
    }
    decisions[on_device].source = b->on_device.source;
    if (time & 1)
        load_source(b, on_device, &decisions[on_device].picture);
    assert_int_equal(gpu_encode_decide(b->gpu, list, STREAMS), GPU_OK);
    for (uint32_t i = 0; i < STREAMS; i++)
        b->got[i] = decisions[i].result;
    for (uint32_t i = 0; i < STREAMS; i++)
        check_records(b, i);
    for (uint32_t i = 0; i < STREAMS; i++) {
        check_set(b, i, &decider_work(b->deciders[i])->source_planes);
        check_search(b, i, decisions[i].picture.ref_count);
        check_frame(b, i);
        if (skip)
            continue;
        check_intra(b, i, decisions[i].picture.ref_count);
        check_fields(b, i, decisions[i].picture.ref_count);
        check_unfiltered(b, i);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct picture_work *w = decider_work(b->deciders[i]);
        decider_accept(b->deciders[i]);
        check_set(b, set_of(i, (uint32_t)time), &w->slot[w->ref_slot[0]].planes);
    }
}

/* I, then P pictures with all references; the last one is skipped. */
static void check_encoding(const struct encoding *encoding, enum encode_wavefront wavefront)
{
    struct beside b;
    beside_open(&b, encoding, wavefront);
    for (int time = 0; time < encoding->references + 2; time++)
        check_picture(&b, time, time == encoding->references + 1);
    beside_close(&b);
}

static void test_high(void **state)
{
    struct encoding e;
    (void)state;
    encoding_default(&e, 100, 50);
    e.references = 3;
    e.slices = 2;
    e.chroma_qp_offset = -3;
    check_encoding(&e, ENCODE_DIAGONALS);
    encoding_default(&e, 16, 16);
    check_encoding(&e, ENCODE_DIAGONALS);
    encoding_default(&e, 70, 120); /* more rows than columns */
    check_encoding(&e, ENCODE_AT_ONCE);
    assert_true(left_out > 0);
}

static void test_baseline(void **state)
{
    struct encoding e;
    (void)state;
    encoding_default(&e, 130, 90);
    e.profile = ENCODING_BASELINE;
    e.cabac = e.transform_8x8 = false;
    e.references = 2;
    e.slices = 4;
    e.deblocking = 2;
    check_encoding(&e, ENCODE_AT_ONCE);
}

static void test_luma_alone(void **state)
{
    struct encoding e;
    (void)state;
    encoding_default(&e, 33, 47);
    e.chroma_format_idc = 0;
    e.references = 4;
    e.deblocking = 1;
    check_encoding(&e, ENCODE_AT_ONCE);
}

/* ---- analysis ---- */

/* Flat blocks with hard edges, which move by some samples from picture to picture */
static void blocks_draw(struct scene *s, int time)
{
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            uint32_t block = (x + 3 * (uint32_t)time) / 11 * 7 + (y + 5 * (uint32_t)time) / 6 * 13;
            s->plane[0][y * s->width + x] =
                (uint8_t)(block * block * 37 + (uint32_t)scene_random(1 + time));
        }
}

static void check_analysis(const struct beside *b, struct analysis *reference,
                           const struct decider_source *source)
{
    struct analysis_costs got = {0}, want;
    int8_t *offsets = test_malloc(b->mbs);
    want = analysis_picture(reference, source, offsets);
    for (uint32_t mb = 0; mb < b->mbs; mb++) {
        assert_int_equal(b->analysis[mb].qp_offset, offsets[mb]);
        got.intra += b->analysis[mb].intra;
        got.inter += b->analysis[mb].inter;
    }
    assert_int_equal(got.intra, want.intra);
    assert_int_equal(got.inter, want.inter);
    test_free(offsets);
}

/* The next source, looked at beside the one that is decided */
static void look_ahead(struct beside *b, const struct enc_picture *next)
{
    struct gpu_encode_decision decision = {
        .picture = {.source = next->before,
                    .pending = set_of(0, 0),
                    .qp = 30,
                    .flags = ENC_LOADED,
                    .slices = 1},
        .ahead = {.picture = *next, .source = b->on_device.source, .analysis = b->analysis},
        .result = b->got[0],
    };
    struct gpu_encode_decision *one = &decision;
    uint32_t batch;
    assert_int_equal(gpu_encode_submit(b->gpu, &one, 1, &batch), GPU_OK);
    assert_int_equal(gpu_encode_wait(b->gpu, batch), GPU_OK);
    assert_int_equal(gpu_encode_wait_stream(b->gpu, 0), GPU_OK);
}

static void test_analysis(void **state)
{
    static const enum encode_wavefront ways[] = {ENCODE_DIAGONALS, ENCODE_AT_ONCE};
    struct encoding e;
    struct beside b;
    (void)state;
    encoding_default(&e, 90, 50);
    for (int way = 0; way < 2; way++) { /* with half floats, and without */
        beside_open(&b, &e, ways[way]);
        struct analysis *reference = analysis_create(&b.encoding, &b.limits);
        struct decider_source source = scene_source(&b.scenes[0]);
        assert_non_null(reference);
        for (int time = 0; time < 8; time++) {
            uint32_t set = (uint32_t)time % 2;
            const struct enc_picture head = {.source = set, .before = time ? 1 - set : ENC_NO_SET};
            blocks_draw(&b.scenes[0], time);
            device_frame_fill(&b.on_device, &source);
            memset(b.analysis, 0xff, b.mbs * sizeof(*b.analysis));
            if (time < 4)
                analyse(&b, &head);
            else
                look_ahead(&b, &head);
            check_analysis(&b, reference, &source);
        }
        analysis_free(reference);
        beside_close(&b);
    }
}

static void check_bad(struct gpu_encode *e, struct enc_picture picture, const uint8_t *frame)
{
    struct gpu_encode_decision decision = {.picture = picture, .source = {.frame = frame}};
    struct gpu_encode_decision *one = &decision;
    assert_int_equal(gpu_encode_decide(e, &one, 1), GPU_ERR_INVALID);
}

static void test_bad(void **state)
{
    struct gpu_encode_params params = {
        .mb_width = 2, .mb_height = 2, .pictures = 2, .streams = 2, .sources = 2, .sets = 2};
    const struct enc_picture good = {.pending = 2};
    struct gpu_encode_decision decision = {.picture = good};
    struct gpu_encode_decision *three[3] = {&decision, &decision, &decision};
    struct gpu_encode *e = NULL;
    struct gpu_arena *arena;
    void *frame;
    (void)state;
    assert_int_equal(gpu_arena_create(gpu, 1536, &arena, &frame), GPU_OK);
    decision.source.frame = frame;
    assert_int_equal(gpu_encode_create(gpu, &params, &e), GPU_ERR_INVALID); /* no references */
    params.sets = 4;
    assert_int_equal(gpu_encode_create(gpu, &params, &e), GPU_OK);
    check_bad(e, (struct enc_picture){.pending = 2, .source = 2}, frame);
    check_bad(e, (struct enc_picture){.pending = 1}, frame); /* a source */
    check_bad(e, (struct enc_picture){.pending = 4}, frame);
    check_bad(e, (struct enc_picture){.pending = 2, .ref_count = 1}, frame); /* of a source */
    check_bad(e, (struct enc_picture){.pending = 2, .flags = ENC_SKIP_ALL}, frame);
    check_bad(e, (struct enc_picture){.pending = 2, .last = 4}, frame);
    check_bad(e, (struct enc_picture){.pending = 2, .kept = 4}, frame);
    assert_int_equal(gpu_encode_decide(e, three, 0), GPU_ERR_INVALID);
    assert_int_equal(gpu_encode_decide(e, three, 3), GPU_ERR_INVALID);
    check_bad(e, good, frame);                  /* the results lie in no arena */
    check_bad(e, good, (const uint8_t *)&good); /* the frame does not */
    assert_int_equal(gpu_encode_read(e, ENC_BIND_TOTALS, 4096, 4, frame), GPU_ERR_INVALID);
    gpu_encode_free(e);
    gpu_arena_free(arena);
}

/* Frames on the device that are none */
static void test_bad_source(void **state)
{
    struct gpu_encode_params params = {
        .mb_width = 2, .mb_height = 2, .pictures = 1, .streams = 1, .sources = 1, .sets = 3};
    struct device_frame f;
    struct gpu_encode *e = NULL;
    (void)state;
    device_frame_open(&f, 32, 32, true);
    assert_int_equal(gpu_encode_create(gpu, &params, &e), GPU_OK);
    for (int i = 0; i < 6; i++) {
        struct gpu_encode_decision decision = {.picture = {.pending = 1, .flags = ENC_CHROMA},
                                               .source = f.source};
        struct gpu_encode_decision *one = &decision;
        struct gpu_encode_source *bad = &decision.source;
        bad->width = i == 0 ? 34 : i == 1 ? 0 : bad->width;
        bad->height = i == 2 ? 34 : bad->height;
        bad->stride[0] = i == 3 ? 28 : bad->stride[0];
        bad->offset[1] += i == 4 ? 2 : 0;
        bad->offset[2] = i == 5 ? f.size - 16 : bad->offset[2];
        assert_int_equal(gpu_encode_decide(e, &one, 1), GPU_ERR_INVALID);
    }
    gpu_encode_free(e);
    device_frame_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_high),
        cmocka_unit_test(test_baseline),
        cmocka_unit_test(test_analysis),
        cmocka_unit_test(test_luma_alone),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_bad_source),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
