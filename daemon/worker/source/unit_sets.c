/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parameter sets in access units: see unit_sets.h. Clauses of ISO/IEC 14496-15 for the avcC box.
 */
#include "daemon/worker/source/unit_sets.h"

#include "codec/nal.h"

#include <stdlib.h>
#include <string.h>

unsigned unit_nal_length(const uint8_t *extradata, size_t size)
{
    return size >= 7 && extradata[0] == 1 ? (extradata[4] & 3u) + 1 : 0;
}

static void set_add(struct unit_set *list, unsigned *count, const uint8_t *nal, size_t size)
{
    if (*count < UNIT_SETS_MOST)
        list[(*count)++] = (struct unit_set){nal, size};
}

void unit_sets_find(struct unit_sets *out, const uint8_t *data, size_t size, unsigned nal_length)
{
    struct h264_nal_iter it;
    const uint8_t *nal;
    size_t nal_size;
    *out = (struct unit_sets){0};
    h264_nal_iter_init(&it, data, size, nal_length);
    while (h264_nal_next(&it, &nal, &nal_size)) {
        unsigned type = nal[0] & 31;
        out->idr |= type == H264_NAL_IDR;
        if (type == H264_NAL_SPS && nal_size >= 4)
            set_add(out->sps, &out->n_sps, nal, nal_size);
        else if (type == H264_NAL_PPS)
            set_add(out->pps, &out->n_pps, nal, nal_size);
    }
}

static bool sets_in(const struct unit_set *list, unsigned count, const uint8_t *bytes, size_t size)
{
    for (unsigned i = 0; i < count; i++)
        if (!memmem(bytes, size, list[i].nal, list[i].size))
            return false;
    return true;
}

bool unit_sets_known(const struct unit_sets *sets, const uint8_t *bytes, size_t size)
{
    return bytes && sets_in(sets->sps, sets->n_sps, bytes, size) &&
           sets_in(sets->pps, sets->n_pps, bytes, size);
}

/* Each after `before` bytes of a start code or of its length. */
static uint8_t *sets_put(uint8_t *at, const struct unit_set *list, unsigned count, bool lengths)
{
    static const uint8_t start[4] = {0, 0, 0, 1};
    for (unsigned i = 0; i < count; i++) {
        if (lengths) {
            *at++ = (uint8_t)(list[i].size >> 8);
            *at++ = (uint8_t)list[i].size;
        } else {
            memcpy(at, start, sizeof(start));
            at += sizeof(start);
        }
        memcpy(at, list[i].nal, list[i].size);
        at += list[i].size;
    }
    return at;
}

static size_t sets_bytes(const struct unit_set *list, unsigned count)
{
    size_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (list[i].size > UINT16_MAX)
            return UNIT_SETS_BYTES;
        bytes += list[i].size + 4;
    }
    return bytes;
}

/* 5.3.3.1.2 */
static uint8_t *avcc_write(uint8_t *at, const struct unit_sets *sets, unsigned nal_length)
{
    *at++ = 1;
    memcpy(at, sets->sps[0].nal + 1, 3); /* profile_idc, constraints, level_idc */
    at += 3;
    *at++ = (uint8_t)(0xfc | (nal_length - 1));
    *at++ = (uint8_t)(0xe0 | (sets->n_sps & 31));
    at = sets_put(at, sets->sps, sets->n_sps & 31, true);
    *at++ = (uint8_t)sets->n_pps;
    return sets_put(at, sets->pps, sets->n_pps, true);
}

uint8_t *unit_sets_write(const struct unit_sets *sets, unsigned nal_length, size_t *size)
{
    size_t bytes =
        sets_bytes(sets->sps, sets->n_sps) + sets_bytes(sets->pps, sets->n_pps) + 8 /* avcC */;
    uint8_t *out = sets->n_sps && bytes < UNIT_SETS_BYTES ? malloc(bytes) : NULL;
    if (!out)
        return NULL;
    uint8_t *end = out;
    if (nal_length) {
        end = avcc_write(out, sets, nal_length);
    } else {
        end = sets_put(end, sets->sps, sets->n_sps, false);
        end = sets_put(end, sets->pps, sets->n_pps, false);
    }
    *size = (size_t)(end - out);
    return out;
}
