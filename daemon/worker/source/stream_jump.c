/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From one key picture of a file to another, and one pass over its packets to learn where they are.
 *
 * The pass runs step 1 over the whole file, as a decode would, and decodes nothing. So frames have
 * the numbers of a whole decode whatever edit lists, open GOPs and gaps there are. A jump is
 * checked: the packet there must be the one that the index knows. Else decoding begins at the
 * file's start.
 */
#include "codec/h264_stream.h"
#include "daemon/worker/source/index_cache.h"
#include "daemon/worker/source/stream_internal.h"

#include <stdio.h>
#include <string.h>

#define JUMP_PACKETS 4096 /* that are read in search of the key's */

static void fail_choice(struct stream *st, int code, const char *what, const char *hint)
{
    char cause[256];
    snprintf(cause, sizeof(cause), "%.120s: %.120s", st->session->name, what);
    stream_report_failure(st, code, cause, hint);
}

/* ---- to a packet ---- */

static bool seeks_by_time(const struct source *src)
{
    return !(src->format->iformat->flags & (AVFMT_NOTIMESTAMPS | AVFMT_TS_DISCONT));
}

static int seek_by_time(struct source *src, const struct index_key *key)
{
    int64_t at = key->dts != AV_NOPTS_VALUE ? key->dts : 0;
    return av_seek_frame(src->format, src->stream->index, at, AVSEEK_FLAG_BACKWARD);
}

/* st->packet becomes the key's packet; false: it is not found there. */
static bool packet_find(struct stream *st, const struct index_key *key, bool by_time)
{
    struct pelton_failure failure;
    struct index_key found;
    for (int i = 0; i < JUMP_PACKETS && !stream_stopped(st); i++) {
        if (source_read(&st->source, st->packet, &failure) <= 0)
            return false;
        packet_place_of(st->packet, &found);
        if (found.size == key->size && found.sum == key->sum && (!by_time || found.pos == key->pos))
            return true;
        av_packet_unref(st->packet);
    }
    return false;
}

static bool packet_reach(struct stream *st, const struct index_key *key)
{
    struct source *src = &st->source;
    src->truncated = src->cut = false;
    if (seeks_by_time(src) && seek_by_time(src, key) >= 0 && packet_find(st, key, true))
        return true;
    return av_seek_frame(src->format, src->stream->index, key->pos, AVSEEK_FLAG_BYTE) >= 0 &&
           packet_find(st, key, false);
}

/* Step 1 begins anew: frame `number` is the next one. */
static bool step1_restart(struct stream *st, uint64_t number)
{
    if (st->held)
        h264_picture_unref(st->held);
    st->held = NULL;
    st->order.open = false;
    st->sequence = number;
    st->selection.chosen.primed = true;
    return stream_open_codec(st) == 0;
}

bool stream_jump(struct stream *st)
{
    struct chosen *c = &st->selection.chosen;
    const struct index_key *key = chosen_jump(c, st->sequence);
    if (!key)
        return true;
    stream_flush(st);
    /* the frames that came out meanwhile may have been wanted */
    key = chosen_remains(c) ? file_index_key(c->index, c->list[c->next]) : NULL;
    if (!key || st->failed)
        return !st->failed;
    c->jumped = c->next;
    if (packet_reach(st, key))
        return step1_restart(st, key->number);
    if (packet_reach(st, &c->index->keys[0]))
        return step1_restart(st, 0);
    if (!stream_stopped(st))
        fail_choice(st, PELTON_ERR_INPUT, "the input cannot be read again from its start",
                    "it may have been changed meanwhile");
    return false;
}

int stream_next_packet(struct stream *st, struct pelton_failure *failure)
{
    bool primed = st->selection.chosen.primed;
    st->selection.chosen.primed = false;
    return primed ? 1 : source_read(&st->source, st->packet, failure);
}

/* ---- the index ---- */

static unsigned length_size(const AVCodecParameters *par)
{
    bool avcc = par->extradata_size > 4 && par->extradata[0] == 1;
    return avcc ? (par->extradata[4] & 3) + 1u : 0;
}

static void index_read(struct stream *st)
{
    struct pelton_failure failure;
    while (!stream_stopped(st) && !st->failed &&
           source_read(&st->source, st->packet, &failure) > 0) {
        stream_parse(st); /* errors show when it is decoded */
        av_packet_unref(st->packet);
    }
    h264_stream_flush(st->codec);
    stream_drain(st);
}

/* Back to the start of the file, as if nothing had been read. */
static bool index_rewind(struct stream *st)
{
    st->discontinuity = st->interlaced = st->enough = false;
    st->frames = st->pictures = 0;
    st->loop_begin = st->loop_end = TIMESTAMPS_NONE;
    if (st->selection.chosen.index->n_keys &&
        packet_reach(st, &st->selection.chosen.index->keys[0]))
        return step1_restart(st, 0);
    fail_choice(st, PELTON_ERR_INPUT, "the input cannot be read again from its start", "");
    return false;
}

static bool index_make(struct stream *st, uint64_t identity)
{
    const AVCodecParameters *par = st->source.stream->codecpar;
    struct chosen *c = &st->selection.chosen;
    bool good = chosen_make(c, identity, length_size(par), par->extradata_size > 0);
    if (good) {
        index_read(st);
        good = chosen_made(c);
    }
    if (!good) {
        fail_choice(st, PELTON_ERR_NOMEM, "no memory for the index of its frames", "");
        return false;
    }
    if (stream_stopped(st) || st->failed || !index_rewind(st))
        return false;
    index_cache_store(st->engine->indexes, c->index);
    return true;
}

/* The end by the container or, where that is later, by the last frame and its distance to the one
 * before it. Microseconds. */
static int64_t end_of_file(const struct stream *st)
{
    const struct file_index *x = st->selection.chosen.index;
    const AVFormatContext *format = st->source.format;
    int64_t last = x->pts[x->frames - 1], step = x->frames > 1 ? last - x->pts[x->frames - 2] : 1;
    int64_t by_frames = av_rescale_q(last + step, st->source.stream->time_base, AV_TIME_BASE_Q);
    if (format->duration == AV_NOPTS_VALUE)
        return by_frames;
    int64_t start = format->start_time == AV_NOPTS_VALUE ? 0 : format->start_time;
    return FFMAX(by_frames, start + format->duration);
}

/* False: at one of the times that are wanted no frame is shown any more. */
static bool times_within(struct stream *st, const struct pelton_open_params *p)
{
    int64_t end = end_of_file(st), latest = INT64_MIN;
    char what[120];
    for (uint32_t i = 0; i < p->n_wanted_us; i++)
        latest = FFMAX(latest, p->wanted_us[i]);
    if (latest <= end)
        return true;
    snprintf(what, sizeof(what), "no frame is shown at %.3f s: the file ends at %.3f s",
             (double)latest * 1e-6, (double)end * 1e-6);
    fail_choice(st, PELTON_ERR_INPUT, what, "times are those of the frames, in seconds");
    return false;
}

bool stream_choose(struct stream *st)
{
    const struct pelton_open_params *p = &st->session->params;
    struct chosen *c = &st->selection.chosen;
    char what[120];
    uint64_t past;
    if (!c->active)
        return true;
    uint64_t identity = st->source.live ? 0 : index_identity(st->source.fd, p->video);
    if (!identity) {
        fail_choice(st, PELTON_ERR_USAGE, "frames can be chosen in a file alone",
                    "name a file, not a pipe or a live source");
        return false;
    }
    c->index = index_cache_find(st->engine->indexes, identity);
    if (!c->index && !index_make(st, identity))
        return false;
    if (c->index->frames && !times_within(st, p))
        return false;
    if (!c->index->frames || chosen_resolve(c, p, av_q2d(st->source.stream->time_base), &past))
        return true;
    snprintf(what, sizeof(what), "the file ends before frame %llu: it has %llu",
             (unsigned long long)past, (unsigned long long)c->index->frames);
    fail_choice(st, PELTON_ERR_INPUT, what, "the first frame has number 0");
    return false;
}
