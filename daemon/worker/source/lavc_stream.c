/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream that libavcodec decodes: see lavc_stream.h.
 *
 * Frames of step 1 and of libavcodec meet by the tag of their access unit. The happy path is admit,
 * send, output, deliver. Three things may fail. libavcodec may not give a frame: after LAVC_LATE
 * further pictures the frame before stands for it, and is marked as damaged. Memory may run out. A
 * reader may go while the pool is full.
 */
#include "daemon/worker/source/lavc_stream.h"

#include "codec/damage.h"
#include "daemon/worker/source/lavc_copy.h"
#include "daemon/worker/source/lavc_decoder.h"
#include "daemon/worker/source/thread_frames.h"
#include "daemon/worker/steps/format.h"

#include <stdio.h>
#include <stdlib.h>

/* Libavcodec may give out a frame so many pictures later than step 1, and one more a thread. */
#define LAVC_LATE    40
#define LAVC_THREADS 16 /* more are of no use to one stream */
#define LAVC_ORPHANS 4
#define NO_TAG       INT64_MIN /* inferred frames have no packet */

/* One frame of step 1, while somebody holds one of its pictures. */
struct lavc_frame {
    struct lavc_stream *of;
    struct lavc_frame *next; /* in lavc_stream.frames */
    int64_t tag;
    int32_t poc[2];
    uint32_t number;  /* of damage that happens in it */
    uint32_t clean;   /* earlier damage is over */
    bool damaged;     /* as step 1 knows */
    bool reference;   /* others may read it */
    uint64_t turn;    /* pictures that were admitted when step 1 gave it out */
    AVFrame *samples; /* NULL: not there yet, or none came */
};

struct lavc_stream {
    struct session *session;
    struct lavc_decoder decoder;
    struct lavc_frame *frames; /* the newest first */
    AVFrame *last;             /* given out */
    struct output *outputs, **outputs_tail;
    /* samples that came before their picture: some profiles tell its end by the next one alone */
    AVFrame *orphans[LAVC_ORPHANS];
    unsigned orphan_next;
    uint32_t serial;   /* of the sequence parameter set of the last picture; 0: there was none */
    int64_t drains;    /* all that waits in libavcodec has to leave before the packet of this tag */
    bool all_came;     /* libavcodec has nothing left */
    int64_t tag;       /* of the last packet */
    uint64_t admitted; /* frames that a packet holds */
    uint32_t damage;   /* number of the latest damage in a reference; 0: none */
};

/* ---- frames ---- */

static struct lavc_frame *frame_of_tag(struct lavc_stream *l, int64_t tag)
{
    struct lavc_frame *f = l->frames;
    while (f && f->tag != tag)
        f = f->next;
    return f;
}

/* The last one of a packet is its own frame; those before it are inferred. */
static void orphan_keep(struct lavc_stream *l, AVFrame *samples)
{
    AVFrame **place = NULL;
    for (unsigned i = 0; i < LAVC_ORPHANS && !place; i++)
        if (l->orphans[i] && l->orphans[i]->pts == samples->pts)
            place = &l->orphans[i];
    place = place ? place : &l->orphans[l->orphan_next++ % LAVC_ORPHANS];
    av_frame_free(place);
    *place = samples;
}

static AVFrame *orphan_take(struct lavc_stream *l, int64_t tag)
{
    AVFrame *found = NULL;
    for (unsigned i = 0; i < LAVC_ORPHANS && !found; i++) {
        if (l->orphans[i] && l->orphans[i]->pts == tag) {
            found = l->orphans[i];
            l->orphans[i] = NULL;
        }
    }
    return found;
}

/* A live frame's buffer comes first, after that of an inferred frame before it. The frame comes
 * later, and tells of damage. */
static void on_got(void *ctx, AVFrame *samples, bool early)
{
    struct lavc_stream *l = ctx;
    struct lavc_frame *f = frame_of_tag(l, samples->pts);
    if (f && f->samples && !early) {
        f->samples->decode_error_flags |= samples->decode_error_flags;
        av_frame_free(&samples);
    } else if (f) {
        av_frame_free(&f->samples);
        f->samples = samples;
    } else if (early || !l->decoder.live) {
        orphan_keep(l, samples);
    } else {
        av_frame_free(&samples);
    }
}

/* on_free: the last holder of the frame's first picture is gone. */
static void on_picture_freed(struct h264_picture *pic)
{
    struct lavc_frame *f = pic->holder.user;
    struct lavc_frame **at = &f->of->frames;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
    av_frame_free(&f->samples);
    free(f);
}

bool lavc_has(const struct h264_picture *pic)
{
    return pic->holder.on_free == on_picture_freed;
}

const int32_t *lavc_poc(const struct h264_picture *pic)
{
    return ((const struct lavc_frame *)pic->holder.user)->poc;
}

/* ---- admission ---- */

/* Arbitrary slice order cannot be told from a picture of one slice, which has no order. */
static bool has_several_slices(const struct h264_picture *pic)
{
    return pic->slice_count > 1 && !pic->slices[0].hdr.redundant_pic_cnt;
}

static const char *sequence_refused(const struct h264_sps *sps)
{
    if (sps->profile_idc == 88)
        return "the Extended profile";
    if (sps->profile_idc == 44)
        return "the profile CAVLC 4:4:4 Intra";
    if (sps->separate_colour_plane_flag)
        return "separate colour planes";
    if (sps->chroma_format_idc && sps->bit_depth[0] != sps->bit_depth[1])
        return "luma and chroma of different depths";
    if (sps->bit_depth[0] == 11 || sps->bit_depth[0] == 13)
        return "samples of 11 or 13 bits";
    if (!sps->chroma_format_idc && sps->bit_depth[0] > 8)
        return "luma alone above 8 bits";
    return NULL;
}

const char *lavc_refuses(const struct lavc_stream *l, const struct h264_picture *pic)
{
    const struct h264_slice *slice = pic->slice_count ? &pic->slices[0] : NULL;
    if (!slice || pic->first_field || (l->serial && !pic->idr))
        return NULL;
    const char *why = sequence_refused(pic->sps);
    if (why)
        return why;
    if (slice->pps->num_slice_groups > 1)
        return "slice groups";
    if (pic->sps->profile_idc == 66 && !(pic->sps->constraint_flags & 0x40) &&
        has_several_slices(pic))
        return "slices in any order";
    return pic->mbaff && slice->pps->constrained_intra_pred_flag
               ? "MBAFF with constrained intra prediction"
               : NULL;
}

static struct lavc_frame *frame_new(struct lavc_stream *l, struct h264_picture *pic)
{
    struct lavc_frame *f = calloc(1, sizeof(*f));
    if (!f)
        return NULL;
    *f = (struct lavc_frame){.of = l,
                             .next = l->frames,
                             .tag = pic->non_existing ? NO_TAG : pic->tag,
                             .number = h264_damage_of(pic->id),
                             .clean = pic->damage.clean,
                             .samples = pic->non_existing ? NULL : orphan_take(l, pic->tag)};
    l->frames = f;
    pic->holder.on_free = on_picture_freed;
    return f;
}

/* The size may change, or frames that wait would be dropped: libavcodec must give them out before.
 */
static void note_sequence(struct lavc_stream *l, const struct h264_picture *pic)
{
    bool drops = pic->idr && pic->slice_count && pic->slices[0].hdr.no_output_of_prior_pics_flag;
    if (l->serial && (drops || l->serial != pic->sps->serial))
        l->drains = pic->tag;
    l->serial = pic->sps->serial;
}

int lavc_admit(struct lavc_stream *l, struct h264_picture *pic)
{
    struct lavc_frame *f = pic->first_field ? pic->first_field->holder.user : frame_new(l, pic);
    if (!f) {
        h264_picture_unref(pic);
        return PELTON_ERR_NOMEM;
    }
    note_sequence(l, pic);
    l->admitted += !pic->non_existing && !pic->first_field;
    pic->holder.user = f;
    for (int i = 0; i < 2; i++)
        if (pic->structure & (i ? REC_BOTTOM : REC_TOP))
            f->poc[i] = pic->poc[i];
    f->damaged |= pic->damage.corrupt;
    f->reference |= pic->nal_ref_idc != 0;
    if (pic->non_existing && pic->damage.corrupt)
        l->damage = pic->damage.latest;
    h264_picture_done(pic); /* its references are of no use here */
    h264_picture_unref(pic);
    return 0;
}

void lavc_send(struct lavc_stream *l, const AVPacket *packet, int64_t tag)
{
    if (l->drains == tag)
        lavc_decoder_drain(&l->decoder);
    l->all_came = false;
    bool whole = lavc_decoder_send(&l->decoder, packet, tag);
    struct lavc_frame *f = whole ? NULL : frame_of_tag(l, tag);
    if (f)
        f->damaged = true;
    l->tag = tag;
}

void lavc_flush(struct lavc_stream *l)
{
    lavc_decoder_drain(&l->decoder);
    l->all_came = true;
}

/* ---- pools ---- */

/* The pool that the frame fits into; NULL: the session has failed. With the lock, dropped
 * meanwhile. */
static struct pool *pool_for(struct session *s, const struct h264_picture *pic)
{
    struct feed_format format;
    enum recon_format delivered;
    const struct h264_sps *sps = pic->sps;
    char why[OUTPUT_WHY];
    if (s->sub.pools && s->sub.pools->fits[0] == sps->serial)
        return s->sub.pools;
    if (!format_of(s, sps, false, &format, &delivered, why)) {
        thread_frames_fail(s, PELTON_ERR_USAGE, why);
        return NULL;
    }
    if (!s->sub.pools || !format_equal(&format, &s->sub.pools->format))
        thread_frames_replace(s, &format, delivered);
    if (s->window.abort)
        return NULL;
    s->sub.pools->fits[0] = sps->serial;
    return s->sub.pools;
}

/* False: the frame is left out, or nobody wants any more. With the lock, dropped meanwhile. */
static bool slot_for(struct session *s, struct pool *pool, uint32_t *slot)
{
    while (!pool_take(pool, slot)) {
        if (s->params.policy != PELTON_LOSSLESS) {
            s->dropped_decoder++;
            return false;
        }
        if (s->window.abort)
            return false;
        engine_wait(s->engine, &s->room, 0);
    }
    return true;
}

/* ---- deliveries ---- */

static struct lavc_frame *frame_of(const struct delivery *d)
{
    return d->output.pic->holder.user;
}

void lavc_output(struct lavc_stream *l, struct delivery *out)
{
    frame_of(out)->turn = l->admitted;
    *l->outputs_tail = &out->output;
    l->outputs_tail = &out->output.next;
}

static bool delivery_ready(const struct lavc_stream *l, const struct delivery *d)
{
    const struct lavc_frame *f = frame_of(d);
    return f->samples || l->all_came || (l->decoder.live && f->tag <= l->tag) ||
           l->admitted - f->turn > LAVC_LATE + LAVC_THREADS;
}

/* Damage of a reference reaches frames that follow it in decoding order, until it is over. */
static bool frame_is_corrupt(struct lavc_stream *l, const struct lavc_frame *f, bool whole)
{
    bool own = f->damaged || !whole || f->samples->decode_error_flags;
    bool reached = l->damage && l->damage >= f->clean && l->damage < f->number;
    if (own && f->reference)
        l->damage = f->number;
    return own || reached;
}

/* Applies the stream's on_error. True: the frame is not delivered. With the lock. */
static bool delivery_refused(struct session *s, const struct delivery *d)
{
    char what[80];
    if (s->params.on_error == PELTON_ON_ERROR_DROP) {
        s->dropped_decoder++;
        return true;
    }
    if (s->params.on_error != PELTON_ON_ERROR_FAIL)
        return false;
    snprintf(what, sizeof(what), "frame %llu is damaged", (unsigned long long)d->frame.sequence);
    char cause[256];
    snprintf(cause, sizeof(cause), "%.120s: %s", s->name, what);
    session_abort(s, PELTON_ERR_DECODE, cause, "--on-error show or drop goes on after damage");
    return true;
}

/* With the lock. */
static void delivery_post(struct session *s, struct pool *pool, struct delivery *d)
{
    d->frame.epoch = pool->format.epoch;
    d->frame.generation = pool->slots[d->frame.slot].generation;
    d->frame.dropped_decoder = s->dropped_decoder;
    d->frame.decoded_ns = now_ns();
    s->stats.frames++;
    s->stats.corrupt += (d->frame.flags & PELTON_FRAME_CORRUPT) != 0;
    s->stats.bytes_delivered += pool->format.slot_size;
    session_post_frame(s, pool, &d->frame);
    session_account_memory(s);
}

/* Of a frame without samples those before it stand. */
static const AVFrame *samples_of(struct lavc_stream *l, const struct lavc_frame *f,
                                 const struct h264_sps *sps)
{
    if (f->samples && lavc_frame_fits(f->samples, sps)) {
        av_frame_free(&l->last);
        l->last = av_frame_clone(f->samples);
        return f->samples;
    }
    return l->last && lavc_frame_fits(l->last, sps) ? l->last : NULL;
}

static void deliver_one(struct lavc_stream *l, struct delivery *d)
{
    struct session *s = l->session;
    const struct h264_picture *pic = d->output.pic;
    const struct lavc_frame *f = frame_of(d);
    const AVFrame *samples = samples_of(l, f, pic->sps);
    bool corrupt =
        frame_is_corrupt(l, f, f->samples && samples == f->samples) || pic->damage.second_lost;
    d->frame.flags |= corrupt ? PELTON_FRAME_CORRUPT : 0;
    engine_lock(s->engine);
    struct pool *pool = NULL;
    if (!s->window.abort && !(corrupt && delivery_refused(s, d)))
        pool = pool_for(s, pic);
    if (pool && slot_for(s, pool, &d->frame.slot)) {
        engine_unlock(s->engine);
        bool made = lavc_copy(pool, d->frame.slot, samples, pic->sps, d->output.structure);
        engine_lock(s->engine);
        if (!made)
            thread_frames_fail(s, PELTON_ERR_NOMEM, "no memory to convert its frames");
        if (made)
            delivery_post(s, pool, d);
        else
            pool_put(pool, d->frame.slot);
        if (pool->next)
            subscription_pools_free(&s->sub, false);
    }
    engine_unlock(s->engine);
    engine_notify(s->engine);
}

static struct delivery *delivery_take(struct lavc_stream *l)
{
    struct delivery *d = delivery_of(l->outputs);
    l->outputs = d->output.next;
    if (!l->outputs)
        l->outputs_tail = &l->outputs;
    return d;
}

void lavc_deliver(struct lavc_stream *l)
{
    while (l->outputs && delivery_ready(l, delivery_of(l->outputs))) {
        struct delivery *d = delivery_take(l);
        deliver_one(l, d);
        delivery_discard(d);
    }
}

void lavc_finish(struct lavc_stream *l, bool last, uint64_t frames)
{
    struct output *out = l->outputs;
    while (out && out->next)
        out = out->next;
    if (out && last && (!frames || delivery_of(out)->frame.sequence + 1 == frames))
        delivery_of(out)->frame.flags |= PELTON_FRAME_LAST;
    l->all_came = true;
    lavc_deliver(l);
}

/* ---- life ---- */

int lavc_stream_create(struct session *s, const AVCodecParameters *par, struct lavc_stream **out)
{
    struct lavc_stream *l = calloc(1, sizeof(*l));
    if (!l)
        return PELTON_ERR_NOMEM;
    l->session = s;
    l->outputs_tail = &l->outputs;
    l->decoder = (struct lavc_decoder){.live = s->window.live, .got = on_got, .ctx = l};
    /* one more than CPUs: they go on while the stream thread copies */
    unsigned threads = s->engine->threads.cores + 1;
    int err = lavc_decoder_open(&l->decoder, par, threads < LAVC_THREADS ? threads : LAVC_THREADS);
    if (err) {
        lavc_stream_free(l);
        return err;
    }
    *out = l;
    return 0;
}

void lavc_stream_free(struct lavc_stream *l)
{
    if (!l)
        return;
    while (l->outputs)
        delivery_discard(delivery_take(l));
    lavc_decoder_close(&l->decoder);
    for (unsigned i = 0; i < LAVC_ORPHANS; i++)
        av_frame_free(&l->orphans[i]);
    av_frame_free(&l->last);
    free(l);
}
