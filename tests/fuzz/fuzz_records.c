/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: records. The input chooses a format and then writes bytes into the arrays of a
 * valid picture. Records that pass the validator are reconstructed by the slow reference: any index
 * that leads out of an array is the validator's mistake.
 */
#include "codec/abi/records.h"
#include "reference/recon_ref.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4, SLICES = 2, SCALINGS = 2, WEIGHTS = 64, BLOCKS_PER_MB = 48, HEAD_BYTES = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each array has its own block of memory, so that a byte too far is seen. */
struct arrays {
    struct rec_view view;
    struct rec_mb *mbs;
    struct rec_motion *motion;
    struct rec_slice *slices;
    uint8_t *coeffs;
    int16_t *weights;
    struct rec_scaling *scaling;
    size_t coeff_bytes;
    uint32_t mb_count; /* of the arrays; the head's may become another */
    struct ref_frame *frames[SLOTS], *unfiltered;
};

static void *array_of(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        abort();
    return memory;
}

static struct rec_picture head_of(const uint8_t *c)
{
    struct rec_picture h = {.slot = 3, .mb_width = 1 + (c[0] & 3), .structure = REC_FRAME};
    h.mbaff = c[1] & 1;
    if (!h.mbaff && (c[1] & 6))
        h.structure = c[1] >> 1 & 3;
    h.mb_height = 2 * (1 + (c[0] >> 2 & 1));
    h.chroma_format_idc = c[1] >> 3 & 3;
    h.bit_depth[0] = (uint8_t)(8 + (c[2] & 7) % 7);
    h.bit_depth[1] = (uint8_t)(8 + (c[2] >> 3 & 7) % 7);
    h.coeff_bytes = h.bit_depth[0] > 8 || h.bit_depth[1] > 8 ? 4 : 2;
    h.has_inter = h.has_deblock = 1;
    h.has_intra = c[3] & 1;
    h.mb_count = h.mb_width * h.mb_height / (h.structure == REC_FRAME ? 1 : 2);
    return h;
}

static void build_macroblocks(struct arrays *a)
{
    const struct rec_picture *h = &a->view.head;
    for (uint32_t i = 0; i < h->mb_count; i++) {
        bool b_slice = i >= h->mb_count / 2;
        a->mbs[i] = (struct rec_mb){.slice = b_slice,
                                    .coeff = i * BLOCKS_PER_MB,
                                    .kind = REC_MB_INTER,
                                    .flags = h->structure == REC_FRAME ? 0 : REC_MB_FIELD,
                                    .qp = {26, 26, 26},
                                    .deblock = REC_DEBLOCK_INTERNAL};
        memset(a->motion[i].ref_idx[1], b_slice ? 0 : -1, 4);
    }
    a->mbs[0].coded[0] = 0x00ff;
}

/* P and B; three references of the picture's own structure. */
static void build_slices(struct arrays *a)
{
    uint8_t structure = a->view.head.structure;
    for (unsigned i = 0; i < SLICES; i++) {
        a->slices[i] = (struct rec_slice){
            .num_ref = {2, (uint8_t)i}, .scaling = i, .weights = 24 * i, .slice_type = (uint8_t)i};
        for (unsigned k = 0; k < 2; k++)
            a->slices[i].ref[k][0] = a->slices[i].ref[k][1] = (uint16_t)REC_REF(k, structure);
        memset(&a->scaling[i], 16, sizeof(a->scaling[i]));
    }
}

static void arrays_open(struct arrays *a, const struct rec_picture *h)
{
    *a = (struct arrays){.view.head = *h, .mb_count = h->mb_count};
    a->coeff_bytes = (size_t)h->mb_count * BLOCKS_PER_MB * 16 * h->coeff_bytes;
    a->mbs = array_of(h->mb_count * sizeof(*a->mbs));
    a->motion = array_of(h->mb_count * sizeof(*a->motion));
    a->slices = array_of(SLICES * sizeof(*a->slices));
    a->coeffs = array_of(a->coeff_bytes);
    a->weights = array_of(WEIGHTS * sizeof(*a->weights));
    a->scaling = array_of(SCALINGS * sizeof(*a->scaling));
    build_macroblocks(a);
    build_slices(a);
    a->view.mbs = a->mbs;
    a->view.motion = a->motion;
    a->view.slices = a->slices;
    a->view.coeffs = a->coeffs;
    a->view.weights = a->weights;
    a->view.scaling = a->scaling;
    a->view.slice_count = SLICES;
    a->view.coeff_block_count = h->mb_count * BLOCKS_PER_MB;
    a->view.weight_count = WEIGHTS;
    a->view.scaling_count = SCALINGS;
    for (unsigned i = 0; i <= SLOTS; i++) {
        struct ref_frame *f = ref_frame_create(h->mb_width, h->mb_height, h->chroma_format_idc);
        if (!f)
            abort();
        *(i < SLOTS ? &a->frames[i] : &a->unfiltered) = f;
    }
}

static void arrays_close(struct arrays *a)
{
    for (unsigned i = 0; i < SLOTS; i++)
        ref_frame_free(a->frames[i]);
    ref_frame_free(a->unfiltered);
    free(a->mbs);
    free(a->motion);
    free(a->slices);
    free(a->coeffs);
    free(a->weights);
    free(a->scaling);
}

/* Four bytes: array and place, and the byte that goes there. */
static void arrays_patch(struct arrays *a, const uint8_t *p)
{
    struct {
        void *memory;
        size_t size;
    } arrays[] = {
        {a->mbs, a->mb_count * sizeof(*a->mbs)},     {a->motion, a->mb_count * sizeof(*a->motion)},
        {a->slices, SLICES * sizeof(*a->slices)},    {a->coeffs, a->coeff_bytes},
        {a->weights, WEIGHTS * sizeof(*a->weights)}, {a->scaling, SCALINGS * sizeof(*a->scaling)},
        {&a->view.head, sizeof(a->view.head)},       {&a->view.slice_count, 4 * sizeof(uint32_t)},
    };
    unsigned which = p[0] & 7;
    size_t at = (p[1] | (size_t)p[2] << 8) % arrays[which].size;
    /* The head's sizes and counts may shrink: arrays have the first size. */
    if (which < 6 || p[3] < ((uint8_t *)arrays[which].memory)[at])
        ((uint8_t *)arrays[which].memory)[at] = p[3];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arrays a;
    const char *reason = NULL;
    if (size < HEAD_BYTES)
        return 0;
    struct rec_picture head = head_of(data);
    arrays_open(&a, &head);
    for (size_t at = HEAD_BYTES; at + 4 <= size; at += 4)
        arrays_patch(&a, data + at);
    bool same = a.view.head.mb_width == head.mb_width && a.view.head.mb_height == head.mb_height &&
                a.view.head.chroma_format_idc == head.chroma_format_idc;
    if (records_validate(&a.view, SLOTS, &reason) == 0 && same)
        ref_reconstruct(&a.view, a.frames, SLOTS, a.unfiltered);
    arrays_close(&a);
    return 0;
}
