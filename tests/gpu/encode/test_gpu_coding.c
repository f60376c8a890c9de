/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The encoder's shaders of entropy coding against the writer in encode/: random records at their
 * limits, in both codings, with one to four slices, as the encoder makes them: no I_PCM, one vector
 * a quadrant, slices of whole rows. Two pictures are a batch.
 */
#include "tests/gpu/gpuworld.h"

#include "gpu/encode/encode_codes.h"
#include "gpu/encode/encode_table.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/work.h"
#include "tests/encode/random_records.h"

#define PICTURES   2
#define MOST_UNITS (MOST_MBS * ENC_BLOCKS)

/* Buffers of the largest batch, which the host sees */
struct coder {
    const struct gpu_layout *layout;
    VkPipeline pipelines[64];
    VkDescriptorPool pool;
    VkDescriptorSet set;
    struct gpu_buffer of[ENC_BINDINGS];
    const struct encode_pass *pass; /* that is recorded */
    VkPipeline pipeline;
    struct enc_args args;
};

static void coder_pipelines(struct coder *c)
{
    for (uint32_t i = 0; i < encode_pass_count; i++) {
        const struct encode_pass *p = &encode_passes[i];
        struct gpu_pipeline_want want = {.layout = c->layout,
                                         .spirv = p->plain.spirv,
                                         .spirv_size = p->plain.size,
                                         .constant_count = p->constant_count,
                                         .name = p->name,
                                         .out = &c->pipelines[i]};
        memcpy(want.constants, p->constants, sizeof(p->constants));
        if (p->coding)
            assert_int_equal(gpu_pipelines_make(gpu, &want, 1), GPU_OK);
    }
}

static uint64_t size_of(uint32_t binding)
{
    const uint64_t mbs = PICTURES * MOST_MBS;
    return binding == ENC_BIND_PICTURES ? PICTURES * sizeof(struct enc_picture)
           : binding == ENC_BIND_MBS    ? mbs * sizeof(struct rec_mb)
           : binding == ENC_BIND_MOTION ? mbs * sizeof(struct rec_motion)
           : binding == ENC_BIND_LEVELS || binding == ENC_BIND_COEFFS ? mbs * ENC_BLOCKS * 32
           : binding == ENC_BIND_TOTALS ? PICTURES * sizeof(struct enc_total)
           : binding == ENC_BIND_CODES  ? sizeof(struct enc_codes)
           : binding == ENC_BIND_SYNTAX ? mbs * sizeof(struct enc_syntax)
           : binding == ENC_BIND_PLACES ? mbs * sizeof(struct enc_place)
                                        : 64;
}

static void coder_open(struct coder *c)
{
    VkBuffer buffers[ENC_BINDINGS];
    memset(c, 0, sizeof(*c));
    assert_int_equal(gpu_layout_get(gpu,
                                    &(struct gpu_bindings){.buffers = (1u << ENC_BINDINGS) - 1},
                                    sizeof(struct enc_args), &c->layout),
                     GPU_OK);
    assert_int_equal(gpu_sets_create(gpu, c->layout, 1, &c->pool, &c->set), GPU_OK);
    for (uint32_t i = 0; i < ENC_BINDINGS; i++) {
        assert_int_equal(gpu_buffer_create(gpu, size_of(i), VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                           GPU_MEMORY_READBACK, &c->of[i]),
                         GPU_OK);
        buffers[i] = c->of[i].buffer;
    }
    gpu_set_write_all(gpu, c->set, buffers, ENC_BINDINGS);
    encode_codes_fill((struct enc_codes *)(void *)c->of[ENC_BIND_CODES].map);
    coder_pipelines(c);
}

static void coder_close(struct coder *c)
{
    gpu->vk.vkDestroyDescriptorPool(gpu->device, c->pool, NULL);
    for (uint32_t i = 0; i < ENC_BINDINGS; i++)
        gpu_buffer_free(gpu, &c->of[i]);
}

static void pass_record(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    struct coder *c = ctx;
    uint32_t xyz[3];
    encode_pass_grid(c->pass, c->args.mb_width, c->args.mb_height, PICTURES, 1, xyz);
    g->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, c->layout->pipeline, 0,
                                  1, &c->set, 0, NULL);
    g->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, c->pipeline);
    g->vk.vkCmdPushConstants(commands, c->layout->pipeline, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             sizeof(c->args), &c->args);
    g->vk.vkCmdDispatch(commands, xyz[0], xyz[1], xyz[2]);
}

static void coder_run(struct coder *c, const struct world *w)
{
    c->args = (struct enc_args){w->limits.mb_width, w->limits.mb_height, PICTURES, 0};
    for (uint32_t i = 0; i < encode_pass_count; i++)
        if (encode_passes[i].coding) {
            c->pass = &encode_passes[i];
            c->pipeline = c->pipelines[i];
            assert_int_equal(gpu_run(gpu, pass_record, c), GPU_OK);
        }
}

/* ---- records as the encoder makes them ---- */

static bool is_tame(const struct world *w, uint32_t i)
{
    const struct rec_motion *m = &w->made.motion[i];
    for (unsigned b = 0; b < 16; b++)
        if (memcmp(m->mv[0][b], m->mv[0][b & 10], sizeof(m->mv[0][b])) != 0)
            return false;
    return w->made.mbs[i].kind != REC_MB_INTRA_PCM;
}

static void make_tame(struct world *w)
{
    make_picture(w);
    for (unsigned i = 0; i < w->slices; i++)
        w->made.slices[i] = (struct rec_slice){.slice_type = w->p ? H264_P : H264_I,
                                               .num_ref = {(uint8_t)(w->p ? w->num_ref : 0)}};
    w->made.view.coeff_block_count = 0;
    for (uint32_t i = 0; i < w->made.view.head.mb_count; i++) {
        uint32_t blocks = w->made.view.coeff_block_count;
        int qp = w->qp;
        do {
            w->made.view.coeff_block_count = blocks;
            w->qp = qp;
            make_mb(w, i);
        } while (!is_tame(w, i));
    }
}

/* Slices of whole rows, as encode_begin makes them */
static void make_world(struct world *w, unsigned turn)
{
    do {
        begin_world(w, 1 + below(w, 8), 1 + below(w, 8));
    } while (w->e.constrained_intra);
    w->style = turn % STYLES == ALL_PCM ? LARGE_LEVELS : turn % STYLES;
    w->slices = 1 + below(w, 4);
    w->slices = w->slices < w->limits.mb_height ? w->slices : w->limits.mb_height;
    for (uint32_t i = 0; i < w->slices; i++)
        w->cuts[i] = i * w->limits.mb_height / w->slices * w->limits.mb_width;
    w->p = !one_in(w, 3);
    w->num_ref = w->e.references;
}

/* Levels lie by macroblock; others than those of coded blocks are noise. */
static void levels_load(struct coder *c, const struct world *w, uint32_t picture, uint32_t mb)
{
    const struct rec_mb *from = &w->made.mbs[mb];
    uint32_t record = picture * w->made.view.head.mb_count + mb, block = from->coeff;
    uint8_t *to = c->of[ENC_BIND_LEVELS].map + (size_t)record * ENC_BLOCKS * 32;
    memset(to, 77, ENC_BLOCKS * 32);
    for (unsigned k = 0; k < ENC_BLOCKS; k++) {
        unsigned component = k < 16 ? 0 : k / 4 - 3, bit = k < 16 ? k : k % 4;
        if (from->coded[component] >> bit & 1)
            memcpy(to + (size_t)32 * k, w->made.coeffs[block++], 32);
    }
}

static void picture_load(struct coder *c, const struct world *w, uint32_t picture)
{
    struct enc_picture *head = (struct enc_picture *)(void *)c->of[ENC_BIND_PICTURES].map;
    uint32_t mbs = w->made.view.head.mb_count;
    memset(&head[picture], 0, sizeof(*head));
    head[picture].ref_count = w->p ? w->num_ref : 0;
    head[picture].slices = (uint8_t)w->slices;
    head[picture].flags =
        (uint8_t)((w->e.transform_8x8 ? ENC_TRANSFORM_8X8 : 0) |
                  (w->e.chroma_format_idc ? ENC_CHROMA : 0) | (w->e.cabac ? ENC_BINS : ENC_CAVLC));
    memcpy(c->of[ENC_BIND_MBS].map + picture * mbs * sizeof(struct rec_mb), w->made.mbs,
           mbs * sizeof(struct rec_mb));
    memcpy(c->of[ENC_BIND_MOTION].map + picture * mbs * sizeof(struct rec_motion), w->made.motion,
           mbs * sizeof(struct rec_motion));
    for (uint32_t i = 0; i < mbs; i++)
        levels_load(c, w, picture, i);
}

/* ---- the bytes ---- */

static void check_slice(struct world *w, struct slice_scratch *scratch, uint32_t index,
                        const struct slice_data *data)
{
    struct slice_stream stream = {&w->sps, &w->pps, &w->limits};
    struct h264_slice_header h = {.nal_unit_type = 1, .nal_ref_idc = 1}, got_h = h;
    struct bit_writer want = {0}, got = {0};
    struct slice_sums want_sums = {0}, got_sums = {0};
    struct rec_view bare = {
        .head = w->made.view.head, .slices = w->made.slices, .slice_count = w->slices};
    char why[ENCODING_WHY];
    if (slice_header_of(&stream, &w->made.view, index, &h, why) < 0 ||
        slice_write(scratch, &stream, &w->made.view, &h, &want, &want_sums, why) < 0 ||
        slice_write_data(scratch, &stream, &bare, index, data, &got_h, &got, &got_sums, why) < 0)
        fail_msg("%s", why);
    assert_int_equal(got.bits, want.bits);
    assert_memory_equal(got.data, want.data, want.bits / 8);
    assert_memory_equal(&got_sums, &want_sums, sizeof(want_sums));
    bit_writer_free(&want);
    bit_writer_free(&got);
}

/* Returns whether the data had room. */
static bool check_picture(struct coder *c, struct world *w, uint32_t picture,
                          struct slice_scratch *scratch)
{
    const struct enc_total *total = (const struct enc_total *)(void *)c->of[ENC_BIND_TOTALS].map;
    uint32_t room = w->made.view.head.mb_count * ENC_BLOCKS;
    uint32_t unit = picture * room, size = w->e.cabac ? ENC_UNIT_CODES : ENC_UNIT_BITS;
    if (total[picture].units > room)
        return false;
    for (uint32_t i = 0; i < w->slices; i++) {
        struct slice_data data = {.first_mb = w->cuts[i],
                                  .deblocking =
                                      (uint8_t)(w->e.deblocking == 2 && !i ? 0 : w->e.deblocking),
                                  .qp = (int8_t)total[picture].qp[i],
                                  .data = c->of[ENC_BIND_COEFFS].map + (size_t)32 * unit,
                                  .count = total[picture].count[i]};
        check_slice(w, scratch, i, &data);
        unit += (total[picture].count[i] + size - 1) / size;
    }
    return true;
}

static void test_random(void **state)
{
    static struct world worlds[PICTURES];
    struct slice_scratch *scratch = slice_scratch_create();
    struct coder coder;
    uint64_t first = seed_of_day();
    unsigned fits[2] = {0};
    (void)state;
    coder_open(&coder);
    for (unsigned turn = 0; turn < 400; turn++) {
        struct world *w = worlds;
        w[0].rng.state = first + turn;
        make_world(&w[0], turn);
        w[1] = w[0];
        w[1].p = !w[0].p;
        for (unsigned i = 0; i < PICTURES; i++) {
            make_tame(&w[i]);
            picture_load(&coder, &w[i], i);
        }
        memset(coder.of[ENC_BIND_COEFFS].map, 0x55, coder.of[ENC_BIND_COEFFS].size);
        coder_run(&coder, w);
        for (unsigned i = 0; i < PICTURES; i++)
            fits[check_picture(&coder, &w[i], i, scratch)]++;
    }
    assert_true(fits[1] > 600 && fits[0] > 0); /* some found no room */
    coder_close(&coder);
    slice_scratch_free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
