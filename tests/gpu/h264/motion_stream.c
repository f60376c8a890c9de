/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --motion: cases from a stream, and the code that checks and timing share.
 */
#include "codec/h264_export.h"
#include "tests/gpu/h264/check_stream.h"
#include "tests/gpu/h264/motion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct motion_arrays motion_arrays_at(void *memory, uint32_t mb_count)
{
    uint8_t *at = memory;
    struct motion_arrays a = {.mbs = (void *)at,
                              .motion = (void *)(at + mb_count * sizeof(*a.mbs))};
    a.syntax = (void *)(at + mb_count * (sizeof(*a.mbs) + sizeof(*a.motion)));
    return a;
}

static void drop_case(struct motion_case *c)
{
    h264_picture_unref(c->pic);
    free(c->raw);
    free(c->slices);
    free(c->maps);
    *c = (struct motion_case){0};
}

void motion_drop_cases(struct motion_check *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        drop_case(&p->cases[i]);
    p->count = 0;
}

/* What step 3 begins with; the picture's reference becomes the case's. */
static int make_case(struct motion_case *c, struct h264_picture *pic)
{
    *c = (struct motion_case){.pic = pic,
                              .raw = malloc(pic->mb_count * MOTION_MB_BYTES),
                              .slices = calloc(pic->slice_count, sizeof(*c->slices)),
                              .maps = calloc(pic->slice_count, sizeof(*c->maps)),
                              .coeff_blocks = atomic_load(&pic->arrays.coeff_block_count)};
    if (!c->raw || !c->slices || !c->maps)
        return GPU_ERR_NOMEM;
    struct motion_arrays a = motion_arrays_at(c->raw, pic->mb_count);
    memcpy(a.mbs, pic->arrays.mbs, pic->mb_count * sizeof(*a.mbs));
    memcpy(a.motion, pic->arrays.motion, pic->mb_count * sizeof(*a.motion));
    memcpy(a.syntax, pic->arrays.syntax, pic->mb_count * sizeof(*a.syntax));
    for (uint32_t i = 0; i < pic->slice_count; i++)
        h264_slice_export_motion(&pic->slices[i], &c->slices[i], &c->maps[i]);
    return 0;
}

static bool decode(struct motion_check *p, struct h264_picture *pic)
{
    bool good = true;
    uint32_t mbs = 0;
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        good &= h264_slice_decode(&pic->slices[i], p->scratch) == H264_OK;
        mbs += pic->slices[i].mbs_decoded;
    }
    return good && mbs == pic->mb_count;
}

/* The picture's reference is taken. Those that have no slices have their arrays already. */
static int take_picture(void *user, struct h264_picture *pic)
{
    struct motion_check *p = user;
    int err = 0;
    pic->holder.wants_map = 1;
    if (pic->slice_count && h264_picture_alloc(pic) != H264_OK) {
        h264_picture_unref(pic);
        return GPU_ERR_NOMEM;
    }
    bool wanted = decode(p, pic) && h264_picture_exports_motion(pic) && p->most &&
                  pic->mb_count <= p->most_mbs;
    if (wanted && p->count == p->capacity) {
        err = p->flush(p);
        wanted = p->most;
    }
    if (wanted && err == 0) {
        p->most--;
        err = make_case(&p->cases[p->count++], h264_picture_ref(pic));
    }
    if (err == 0 && h264_picture_derive_motion(pic) != H264_OK)
        err = GPU_ERR_NOMEM;
    h264_picture_unref(pic);
    return err;
}

int motion_read_stream(struct motion_check *p, const char *path)
{
    struct check_stream s = {.path = path,
                             .params = {.late_arrays = true},
                             .take = take_picture,
                             .user = p,
                             .wanted = &p->most};
    int err = check_stream_read(&s);
    return err == 0 && p->count ? p->flush(p) : err;
}

int motion_add_case(struct gpu_motion_batch *b, const struct motion_case *c, uint8_t *device,
                    struct rec_mb *to_mbs, struct rec_motion *to_motion, uint16_t *to_still)
{
    const struct h264_picture *pic = c->pic;
    struct motion_arrays a = motion_arrays_at(device, pic->mb_count);
    struct gpu_motion_picture picture = {
        .head = {.mb_count = pic->mb_count,
                 .mb_width = pic->mb_width,
                 .slice_count = pic->slice_count,
                 .coeff_blocks = c->coeff_blocks,
                 .chroma_blocks = pic->sps->chroma_format_idc ? 4 : 0},
        .slices = c->slices,
        .maps = c->maps,
        .mbs = a.mbs,
        .motion = a.motion,
        .syntax = a.syntax,
        .to_mbs = to_mbs,
        .to_motion = to_motion,
        .to_still = to_still};
    uint32_t index = 0;
    return gpu_motion_add(b, &picture, &index);
}

int motion_wait(struct gpu_motion_batch *b)
{
    int err;
    while ((err = gpu_motion_poll(b)) == 1)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    return err;
}

void motion_close(struct motion_check *p)
{
    motion_drop_cases(p);
    free(p->cases);
    h264_scratch_free(p->scratch);
    gpu_motion_free(p->gpu);
    gpu_arena_free(p->device_arena);
    gpu_arena_free(p->host_arena[0]);
    gpu_arena_free(p->host_arena[1]);
    gpu_arena_free(p->arena);
    free(p->scrap);
    free(p->memory);
}
