/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Other inputs for entropy decoding than those of the stream: damaged slices, slices with bytes
 * behind their data, slices with other scaling lists. The pictures are as before afterwards.
 */
#include "tests/gpu/h264/entropy.h"

#include "codec/abi/entropy_abi.h"

#include <stdlib.h>
#include <string.h>

/* A slice as it was. */
struct whole {
    struct h264_slice *slice;
    uint8_t *nal;
    size_t size;
};

/* Other bytes, or an early end; of the slice data above all, and often of its end, so that some
 * other valid slice comes of it. */
static int damage(struct entropy *p, struct h264_slice *slice, struct whole *whole)
{
    size_t header = slice->data_bit_offset / 8 + 2, last = slice->nal_size - 1;
    *whole = (struct whole){slice, malloc(slice->nal_size), slice->nal_size};
    if (!whole->nal)
        return GPU_ERR_NOMEM;
    memcpy(whole->nal, slice->nal, slice->nal_size);
    if (header >= last)
        return 0;
    if (check_chance(p->env, 15)) {
        slice->nal_size -= check_random(p->env, (uint32_t)(last - header));
        return 0;
    }
    if (check_chance(p->env, 40))
        header = last - header > 4 ? last - 4 : header;
    for (unsigned n = 1 + check_random(p->env, 3); n > 0; n--)
        slice->nal[header + check_random(p->env, (uint32_t)(last - header))] =
            (uint8_t)check_random(p->env, 256);
    return 0;
}

static void repair(struct whole *whole)
{
    if (whole->nal) {
        memcpy(whole->slice->nal, whole->nal, whole->size);
        whole->slice->nal_size = whole->size;
    }
    free(whole->nal);
}

int entropy_run_damaged(struct entropy *p, struct h264_picture **pictures, uint32_t n)
{
    int err = 0;
    for (unsigned round = 0; round < p->damage && err == 0; round++) {
        struct whole wholes[ENTROPY_PICTURES] = {{0}};
        for (uint32_t i = 0; i < n && err == 0; i++)
            err = damage(p, &pictures[i]->slices[check_random(p->env, pictures[i]->slice_count)],
                         &wholes[i]);
        if (err == 0)
            err = entropy_run_batch(p, pictures, n, ENTROPY_DAMAGED);
        for (uint32_t i = 0; i < n; i++)
            repair(&wholes[i]);
    }
    return err;
}

/* One byte more than may stand between slice data and the byte of the stop bit (9.3.1.2): slice
 * data end within the byte that has had it, and the new one is the last. */
static int lengthen(struct h264_slice *slice, struct whole *whole)
{
    size_t more = ENT_BYTES_BEHIND + 2;
    uint8_t *longer = malloc(slice->nal_size + more);
    if (!longer)
        return GPU_ERR_NOMEM;
    *whole = (struct whole){slice, slice->nal, slice->nal_size};
    memcpy(longer, slice->nal, slice->nal_size);
    memset(longer + slice->nal_size, 0x55, more);
    slice->nal = longer;
    slice->nal_size += more;
    return 0;
}

int entropy_run_longer(struct entropy *p, struct h264_picture **pictures, uint32_t n)
{
    struct whole wholes[ENTROPY_PICTURES] = {{0}};
    int err = 0;
    for (uint32_t i = 0; i < n && err == 0; i++)
        err = lengthen(&pictures[i]->slices[i % pictures[i]->slice_count], &wholes[i]);
    if (err == 0)
        err = entropy_run_batch(p, pictures, n, ENTROPY_LONGER);
    for (uint32_t i = 0; i < n && wholes[i].nal; i++) {
        free(wholes[i].slice->nal);
        wholes[i].slice->nal = wholes[i].nal;
        wholes[i].slice->nal_size = wholes[i].size;
    }
    return err;
}

/* Parameter sets of a slice with other scaling lists, and its own. */
struct scaled_sets {
    struct h264_slice *slice;
    struct h264_sps sps;
    struct h264_pps pps;
    const struct h264_sps *own_sps;
    const struct h264_pps *own_pps;
};

static void scaled_begin(struct entropy *p, struct scaled_sets *s, struct h264_slice *slice)
{
    uint32_t most = 4u << check_random(p->env, 7);
    uint8_t *lists = (uint8_t *)&s->sps.scaling;
    s->slice = slice;
    s->own_sps = slice->sps;
    s->own_pps = slice->pps;
    memcpy(&s->sps, slice->sps, sizeof(s->sps));
    memcpy(&s->pps, slice->pps, sizeof(s->pps));
    s->sps.seq_scaling_matrix_present_flag = 1;
    s->pps.pic_scaling_matrix_present_flag = 0;
    for (size_t i = 0; i < sizeof(struct rec_scaling); i++)
        lists[i] = (uint8_t)(1 + check_random(p->env, most < 255 ? most : 255));
    slice->sps = &s->sps;
    slice->pps = &s->pps;
}

/* Random scaling lists, which change no syntax, so that values of some pictures are out of range.
 */
int entropy_run_scaled(struct entropy *p, struct h264_picture **pictures, uint32_t n)
{
    uint32_t slices = 0, used = 0;
    for (uint32_t i = 0; i < n; i++)
        slices += pictures[i]->slice_count;
    struct scaled_sets *sets = calloc(slices, sizeof(*sets));
    if (!sets)
        return GPU_ERR_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < pictures[i]->slice_count; k++)
            scaled_begin(p, &sets[used++], &pictures[i]->slices[k]);
    int err = entropy_run_batch(p, pictures, n, ENTROPY_SCALED);
    for (uint32_t i = 0; i < used; i++) {
        sets[i].slice->sps = sets[i].own_sps;
        sets[i].slice->pps = sets[i].own_pps;
    }
    free(sets);
    return err;
}
