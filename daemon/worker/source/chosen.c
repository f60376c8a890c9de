/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames by number, and the index: see chosen.h.
 *
 * Decoding may start at a key picture where nothing later in output order comes before it in
 * decoding order, and where its parameter sets are known: they come with it, or they are the same
 * in the whole file.
 */
#include "daemon/worker/source/chosen.h"

#include "codec/h264.h"
#include "codec/nal.h"
#include "daemon/worker/source/timestamps.h"
#include "gpu/engine/cache_file.h"
#include "proto/pelton.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Frames that are read on, rather than to seek. */
#define READ_ON   16
#define SUM_BYTES 256
#define MOST_SETS 64

struct index_maker {
    struct packet_place place[CHOSEN_PLACES]; /* of the latest packets, by tag */
    struct packet_place keys[CHOSEN_PLACES];  /* key pictures whose frames are not output yet */
    uint32_t n_keys;
    int64_t last_tag;  /* of the last key in the index */
    bool *sets_of_key; /* whether key n has parameter sets of its own */
    uint64_t sets_room;
    uint64_t sets[MOST_SETS]; /* checksums of parameter sets */
    uint32_t n_sets;
    unsigned length_size;
    bool sets_ahead;   /* the container has parameter sets */
    bool sets_changed; /* one came after the first picture that was new */
    bool pictures, failed;
};

int chosen_open(struct chosen *c, const struct pelton_open_params *params)
{
    uint64_t count = params->n_wanted_us;
    for (uint32_t i = 0; i < params->n_wanted; i++)
        count += params->wanted[i].count;
    if (!count)
        return 0;
    c->list = malloc(count * sizeof(*c->list));
    if (!c->list)
        return PELTON_ERR_NOMEM;
    c->count = count;
    c->jumped = UINT64_MAX;
    c->active = true;
    return 0;
}

static void maker_free(struct chosen *c)
{
    if (c->maker)
        free(c->maker->sets_of_key);
    free(c->maker);
    c->maker = NULL;
}

void chosen_close(struct chosen *c)
{
    maker_free(c);
    file_index_unref(c->index);
    free(c->list);
    *c = (struct chosen){0};
}

bool chosen_resolve(struct chosen *c, const struct pelton_open_params *params, double tick,
                    uint64_t *past)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < params->n_wanted; i++)
        for (uint64_t k = 0; k < params->wanted[i].count; k++)
            c->list[n++] = params->wanted[i].first + k * params->wanted[i].stride;
    for (uint32_t i = 0; i < params->n_wanted_us; i++)
        c->list[n++] =
            file_index_at(c->index, (int64_t)llround((double)params->wanted_us[i] * 1e-6 / tick));
    uint64_t most = 0;
    for (uint64_t i = 0; i < n; i++)
        most = c->list[i] > most ? c->list[i] : most;
    if (most < c->index->frames)
        return true;
    *past = most;
    return false;
}

uint32_t chosen_copies(const struct chosen *c, uint64_t number)
{
    uint32_t copies = 0;
    while (c->next + copies < c->count && c->list[c->next + copies] == number)
        copies++;
    return copies;
}

const struct index_key *chosen_jump(const struct chosen *c, uint64_t number)
{
    if (!chosen_remains(c))
        return NULL;
    uint64_t wanted = c->list[c->next];
    const struct index_key *key = file_index_key(c->index, wanted);
    return wanted < number || key->number > number + READ_ON || (number == 0 && key->number > 0)
               ? key
               : NULL;
}

/* ---- making the index ---- */

bool chosen_make(struct chosen *c, uint64_t identity, unsigned length_size, bool sets_ahead)
{
    c->index = file_index_create(identity);
    c->maker = calloc(1, sizeof(*c->maker));
    if (!c->index || !c->maker)
        return false;
    c->maker->length_size = length_size;
    c->maker->sets_ahead = sets_ahead;
    c->maker->last_tag = INT64_MIN;
    return true;
}

void packet_place_of(const AVPacket *packet, struct index_key *out)
{
    size_t size = (size_t)packet->size;
    *out = (struct index_key){
        .pos = packet->pos,
        .dts = packet->dts,
        .size = size,
        .sum = cache_checksum(packet->data, size < SUM_BYTES ? size : SUM_BYTES)};
}

/* One more set; those before the first picture are the first of their kind. */
static void set_note(struct index_maker *m, const uint8_t *nal, size_t size)
{
    uint64_t sum = cache_checksum(nal, size);
    for (uint32_t i = 0; i < m->n_sets; i++)
        if (m->sets[i] == sum)
            return;
    m->sets_changed |= m->pictures || m->n_sets == MOST_SETS;
    if (m->n_sets < MOST_SETS)
        m->sets[m->n_sets++] = sum;
}

/* True: the packet has both parameter sets. */
static bool sets_note(struct index_maker *m, const AVPacket *packet)
{
    struct h264_nal_iter it;
    const uint8_t *nal;
    size_t size;
    unsigned kinds = 0;
    h264_nal_iter_init(&it, packet->data, (size_t)packet->size, m->length_size);
    while (h264_nal_next(&it, &nal, &size)) {
        unsigned type = nal[0] & 31;
        if (type == H264_NAL_SPS || type == H264_NAL_PPS)
            set_note(m, nal, size);
        kinds |= type == H264_NAL_SPS ? 1 : type == H264_NAL_PPS ? 2 : 0;
    }
    return kinds == 3;
}

/* Key and its sets. */
static void maker_add_key(struct chosen *c, const struct packet_place *at, uint64_t number)
{
    struct index_maker *m = c->maker;
    struct index_key key = at->key;
    if (c->index->n_keys >= m->sets_room) {
        uint64_t room = m->sets_room ? 2 * m->sets_room : 64;
        bool *grown = realloc(m->sets_of_key, room * sizeof(*grown));
        m->failed |= !grown;
        if (!grown)
            return;
        m->sets_of_key = grown;
        m->sets_room = room;
    }
    key.number = number;
    m->failed |= !file_index_add_key(c->index, &key);
    if (!m->failed)
        m->sets_of_key[c->index->n_keys - 1] = at->sets;
    m->last_tag = at->tag;
}

void chosen_note_packet(struct chosen *c, const AVPacket *packet, int64_t tag)
{
    struct index_maker *m = c->maker;
    struct packet_place *at = &m->place[(uint64_t)tag % CHOSEN_PLACES];
    *at = (struct packet_place){.tag = tag, .sets = sets_note(m, packet)};
    packet_place_of(packet, &at->key);
    if (!c->index->n_keys)
        maker_add_key(c, at, 0);
}

static bool is_intra(const struct h264_picture *pic)
{
    for (uint32_t i = 0; i < pic->slice_count; i++)
        if (pic->slices[i].hdr.type != H264_I && pic->slices[i].hdr.type != H264_SI)
            return false;
    return true;
}

void chosen_note_picture(struct chosen *c, const struct h264_picture *pic)
{
    struct index_maker *m = c->maker;
    const struct packet_place *at = &m->place[(uint64_t)pic->tag % CHOSEN_PLACES];
    const struct h264_recovery_point *r = &pic->recovery;
    bool entry = r->present && !r->recovery_frame_cnt && r->exact_match_flag &&
                 !r->broken_link_flag && is_intra(pic);
    m->pictures = true;
    if ((!pic->idr && !entry) || pic->first_field || pic->plane0 || at->tag != pic->tag)
        return;
    if (m->n_keys == CHOSEN_PLACES)
        memmove(&m->keys[0], &m->keys[1], --m->n_keys * sizeof(m->keys[0]));
    m->keys[m->n_keys++] = *at;
}

void chosen_note_frame(struct chosen *c, const struct h264_picture *pic, uint64_t number,
                       int64_t pts)
{
    struct index_maker *m = c->maker;
    m->failed |= !file_index_add_frame(c->index, pts);
    /* it would be missing after a start at that key */
    if (pic->tag < m->last_tag && c->index->n_keys > 1)
        c->index->n_keys--;
    for (uint32_t i = 0; i < m->n_keys; i++) {
        if (m->keys[i].tag != pic->tag)
            continue;
        if (number > 0)
            maker_add_key(c, &m->keys[i], number);
        memmove(&m->keys[i], &m->keys[i + 1], (--m->n_keys - i) * sizeof(m->keys[0]));
        return;
    }
}

bool chosen_made(struct chosen *c)
{
    struct index_maker *m = c->maker;
    struct file_index *x = c->index;
    uint64_t kept = x->n_keys ? 1 : 0;
    bool failed = m->failed;
    for (uint64_t i = 1; !failed && i < x->n_keys; i++)
        if (m->sets_of_key[i] || (m->sets_ahead && !m->sets_changed))
            x->keys[kept++] = x->keys[i];
    x->n_keys = kept;
    maker_free(c);
    return !failed;
}
