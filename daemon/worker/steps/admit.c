/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures from step 1 into the window of their session. The last reference to a picture frees what
 * is made here (picture_freed).
 */
#include "daemon/worker/steps/admit.h"

#include "codec/h264_export.h"
#include "daemon/worker/schedule/knobs.h"
#include "daemon/worker/schedule/queues.h"
#include "daemon/worker/schedule/split.h"
#include "daemon/worker/schedule/xorshift.h"
#include "proto/start_trace.h"

#include <stdlib.h>

/* Where pictures go that this thread frees, to be forgotten together; NULL: each at once. */
static _Thread_local struct picture **freed;

/* With the lock. */
static void picture_forget(struct picture *p)
{
    window_forget(p);
    free(p->entropy.slice_order);
    free(p);
}

/* on_free: the last holder is gone, and with it the frame slot. Any thread, without the lock. */
static void picture_freed(struct h264_picture *pic)
{
    struct picture *p = pic->holder.user;
    struct engine *e = session_of(p->window)->engine;
    if (freed) {
        p->next = *freed;
        *freed = p;
        return;
    }
    engine_lock(e);
    picture_forget(p);
    engine_unlock(e);
}

void pictures_unref(struct engine *e, struct h264_picture **pictures, uint32_t count)
{
    struct picture *first = NULL, *next;
    if (!count)
        return;
    engine_unlock(e);
    freed = &first;
    for (uint32_t i = 0; i < count; i++)
        h264_picture_unref(pictures[i]);
    freed = NULL;
    engine_lock(e);
    for (struct picture *p = first; p; p = next) {
        next = p->next;
        picture_forget(p);
    }
}

/* With shuffle_seed: a random permutation. */
static int shuffle_slices(struct picture *p, uint64_t seed)
{
    uint32_t n = p->pic->slice_count;
    uint32_t *order = malloc((n ? n : 1) * sizeof(*order));
    if (!order)
        return PELTON_ERR_NOMEM;
    uint64_t state = (seed + p->pic->id * 0x9e3779b97f4a7c15ull) | 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)(next_random(&state) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    p->entropy.slice_order = order;
    return 0;
}

int picture_begin_following(struct picture *p, bool *per_slice)
{
    struct rec_view view;
    int err = h264_picture_follow_begin(p->pic);
    if (err < 0)
        return err;
    *per_slice = err > 0;
    if (err > 0) {
        h264_picture_records(p->pic, &view);
        *per_slice = records_validate_begin(&view, NULL) == 0;
    }
    return 0;
}

int picture_alloc(struct picture *p)
{
    bool grows = p->pace == PACE_AHEAD; /* nobody follows its slice */
    if (window_packs(p))
        return h264_picture_alloc_packed(p->pic, split_coder_words(p->pic));
    return h264_picture_alloc_growing(p->pic, grows ? split_coder_blocks(p->pic) : UINT32_MAX);
}

int picture_make_arrays(struct picture *p, bool *per_slice)
{
    int err = picture_alloc(p);
    return err ? err : picture_begin_following(p, per_slice);
}

/* A LIVE picture is decoded as it comes. Its arrays exist at once, so that coders for all of its
 * slices wake together. */
static int begin_live(struct session *s, struct picture *p)
{
    bool per_slice;
    p->pace = PACE_AHEAD;
    if (!s->window.live) /* set by this thread */
        return 0;
    engine_lock(s->engine);
    p->pace = window_pace(&s->window, p->entropy.slices_left);
    engine_unlock(s->engine);
    if (p->pace != PACE_LIVE)
        return 0;
    if (picture_make_arrays(p, &per_slice))
        return PELTON_ERR_NOMEM;
    p->can |= per_slice ? CAN_PER_SLICE : 0;
    p->records = p->coeffs = LIVES_HOST;
    return 0;
}

static void facts_of(const struct session *s, const struct picture *p, struct picture_facts *out)
{
    const struct h264_picture *pic = p->pic;
    *out = (struct picture_facts){0};
    if (!p->entropy.slices_left)
        return;
    out->colocated_count = h264_picture_colocated(pic, out->colocated);
    for (uint32_t i = 0; i < pic->slice_count && s->engine->entropy_gpu; i++)
        out->reads_records |=
            pic->slices[i].hdr.type == H264_B && h264_slice_reads_records(&pic->slices[i]);
    if (!s->engine->entropy_gpu || p->pace == PACE_LIVE || !h264_picture_exports_entropy(pic))
        return;
    if (s->engine->schedule.setting.tuning.cavlc == CAVLC_CODERS &&
        !pic->slices[0].pps->entropy_coding_mode_flag)
        return;
    out->entropy_gpu = true;
    out->motion_gpu = h264_picture_exports_motion(pic);
    for (uint32_t i = 0; i < pic->slice_count; i++) {
        uint64_t weight = split_slice_weight(&pic->slices[i]);
        out->largest_slice = weight > out->largest_slice ? weight : out->largest_slice;
    }
}

static struct picture *picture_new(struct session *s, struct h264_picture *pic)
{
    uint64_t seed = s->engine->params.shuffle_seed;
    struct picture *p = aligned_alloc(PICTURE_ALIGN, align_up(sizeof(*p), PICTURE_ALIGN));
    if (!p)
        return NULL;
    *p = (struct picture){0};
    p->pic = pic;
    p->window = &s->window;
    p->entropy.bytes = pic->bytes_size;
    p->entropy.slices_left = pic->non_existing ? 0 : pic->slice_count;
    p->entropy.slice_chunk = 1;
    if (!seed && pic->mb_count)
        p->entropy.slice_chunk +=
            (uint32_t)((uint64_t)WINDOW_CHUNK_MBS * pic->slice_count / pic->mb_count);
    if (!seed || shuffle_slices(p, seed) == 0)
        return p;
    free(p);
    return NULL;
}

int picture_admit(struct session *s, struct h264_picture *pic)
{
    struct engine *e = s->engine;
    struct picture_facts facts;
    struct picture *p = picture_new(s, pic);
    if (!p)
        return PELTON_ERR_NOMEM;
    pic->holder.wants_map = e->entropy_gpu && e->params.gpu_motion;
    if (begin_live(s, p)) {
        free(p->entropy.slice_order);
        free(p);
        return PELTON_ERR_NOMEM;
    }
    START_TRACE_FIRST("first picture waits for its coder");
    facts_of(s, p, &facts);
    pic->holder.slot = -1;
    pic->holder.user = p;
    pic->holder.on_free = picture_freed;
    engine_lock(e);
    window_add(&s->window, p, &facts, now_ns());
    engine_unlock(e);
    return 0;
}
