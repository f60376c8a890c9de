/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gpu_entropy: what its batches have room for, and the memory that they take. checkgpu tests what
 * they decode.
 */
#include "tests/gpu/gpuworld.h"

#include "codec/h264_export.h"
#include "gpu/h264/gpu_entropy.h"

#define MBS   400 /* of a picture */
#define WORDS (9 * MBS)
#define MOST  8 /* pictures of a batch */
#define FEW   2
#define LEFT  (64u << 10) /* bytes: less than a picture takes */

static struct gpu_entropy *entropy;

static void open_entropy(void)
{
    struct ent_tables tables;
    const struct gpu_entropy_params params = {.batches = 2,
                                              .pictures = MOST,
                                              .slices = 2 * MOST,
                                              .mbs = MOST * MBS,
                                              .coeff_blocks = MOST * MBS * 24,
                                              .packed_words = MOST * WORDS,
                                              .bytes = MOST * 4096,
                                              .tables = &tables};
    h264_entropy_tables(&tables);
    assert_int_equal(gpu_entropy_create(gpu, &params, &entropy), GPU_OK);
    assert_int_equal(gpu_entropy_bytes(entropy), 0);
}

/* begin takes what needs says. */
static struct gpu_entropy_batch *begin(uint32_t pictures)
{
    uint64_t before = gpu_entropy_bytes(entropy), needs = gpu_entropy_needs(entropy, pictures);
    struct gpu_entropy_batch *b = gpu_entropy_begin(entropy, pictures);
    assert_non_null(b);
    assert_int_equal(gpu_entropy_bytes(entropy), before + needs);
    return b;
}

/* Pictures up to the room are taken, and no more. */
static void expect_pictures(struct gpu_entropy_batch *b, uint32_t pictures)
{
    uint32_t index;
    assert_int_equal(gpu_entropy_pictures(b), pictures);
    for (uint32_t i = 0; i < pictures; i++)
        assert_int_equal(gpu_entropy_add_picture(b, MBS, MBS * 24, WORDS, &index), GPU_OK);
    assert_int_equal(gpu_entropy_add_picture(b, MBS, MBS * 24, WORDS, &index), GPU_ERR_NOMEM);
    assert_null(gpu_entropy_slice_bytes(b, pictures * 4096 + 1));
    assert_non_null(gpu_entropy_slice_bytes(b, pictures * 4096));
}

static void rooms(void **state)
{
    open_entropy();
    struct gpu_entropy_batch *few = begin(FEW), *most = begin(0);
    expect_pictures(few, FEW);
    expect_pictures(most, MOST);
    assert_null(gpu_entropy_begin(entropy, FEW)); /* both are in use */
    assert_int_equal(gpu_entropy_needs(entropy, FEW), 0);
    gpu_entropy_end(few);
    gpu_entropy_end(most);
    assert_int_equal(gpu_entropy_needs(entropy, MOST), 0);
    assert_ptr_equal(begin(FEW + 1), most); /* that has room */
    assert_true(gpu_entropy_needs(entropy, MOST) > 0);
    assert_ptr_equal(begin(MOST), few); /* which is made again */
    expect_pictures(few, MOST);
    gpu_entropy_trim(entropy);
    assert_int_equal(gpu_entropy_bytes(entropy), 0);
    gpu_entropy_free(entropy);
}

/* Without memory for more a batch keeps the room that it had, and no further one is asked for. */
static void no_memory(void **state)
{
    struct gpu_held held;
    open_entropy();
    struct gpu_entropy_batch *b = begin(FEW);
    gpu_entropy_end(b);
    gpu_memory_held(gpu, &held);
    uint64_t sum = 0;
    for (int use = 0; use < GPU_USES; use++)
        sum += held.device[use];
    gpu_memory_limit(gpu, sum + LEFT);
    assert_ptr_equal(begin(FEW), b);
    assert_null(gpu_entropy_begin(entropy, FEW));
    gpu_entropy_end(b);
    b = gpu_entropy_begin(entropy, MOST);
    expect_pictures(b, FEW);
    gpu_entropy_end(b);
    gpu_memory_limit(gpu, 0);
    assert_ptr_equal(begin(MOST), b);
    expect_pictures(b, MOST);
    gpu_entropy_trim(entropy); /* all that there may be */
    begin(FEW);
    begin(FEW);
    gpu_entropy_free(entropy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rooms),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(no_validation_messages),
    };
    return run_on_device(tests, NULL, NULL);
}
