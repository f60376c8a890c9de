/* SPDX-License-Identifier: BSD-2-Clause
 *
 * NAL units: emulation prevention (7.4.1.1), Annex B byte stream and length-prefixed splitting.
 */
#include "codec/nal.h"
#include "codec/h264_error.h"

#include <stdlib.h>

static inline uint64_t load64(const uint8_t *p)
{
    uint64_t w;
    memcpy(&w, p, sizeof(w));
    return w;
}

/* Offset of the first 00 00 pair at or after pos, or size when there is none. Eight bytes without a
 * zero byte are passed over at once. */
static size_t find_zero_pair(const uint8_t *p, size_t pos, size_t size)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    while (pos + 1 < size) {
        if (size - pos > 8) {
            uint64_t w = load64(p + pos);
            if (!((w - ones) & ~w & highs)) {
                pos += 8;
                continue;
            }
        }
        if (p[pos + 1])
            pos += 2;
        else if (p[pos])
            pos += 1;
        else
            return pos;
    }
    return size;
}

size_t h264_unescape(const uint8_t *nal, size_t size, uint8_t *out, size_t *consumed)
{
    size_t from = 0, to = 0, pos = 0;
    while ((pos = find_zero_pair(nal, pos, size)) < size) {
        if (size - pos < 3)
            break;
        if (nal[pos + 2] == 1) {
            size = pos;
            break;
        }
        if (nal[pos + 2] != 3) {
            pos++;
            continue;
        }
        memcpy(out + to, nal + from, pos + 2 - from);
        to += pos + 2 - from;
        from = pos += 3;
    }
    memcpy(out + to, nal + from, size - from);
    to += size - from;
    while (to && !out[to - 1])
        to--;
    memset(out + to, 0, H264_BITS_PADDING);
    if (consumed)
        *consumed = size;
    return to;
}

/* Offset of the first 00 00 01 at or after pos, or size. */
static size_t find_start_code(const uint8_t *p, size_t pos, size_t size)
{
    while ((pos = find_zero_pair(p, pos, size)) < size) {
        if (size - pos < 3)
            return size;
        if (p[pos + 2] == 1)
            return pos;
        pos++;
    }
    return size;
}

/* As find_start_code; and whether bytes before it are forbidden within a NAL unit (7.4.1): 00 00
 * with 00 or 02 behind them, or with 03 that was not needed. */
static size_t find_end(const uint8_t *p, size_t pos, size_t size, bool *forbidden)
{
    *forbidden = false;
    while ((pos = find_zero_pair(p, pos, size)) < size) {
        size_t third = pos + 2;
        while (third < size && !p[third])
            third++;
        if (third == size)
            return size;
        if (p[third] == 1)
            return third - 2;
        *forbidden |= third > pos + 2 || p[third] == 2 ||
                      (p[third] == 3 && third + 1 < size && p[third + 1] > 3);
        pos = third;
    }
    return size;
}

static bool next_annexb(struct h264_nal_iter *it, const uint8_t **nal, size_t *size)
{
    while (it->pos < it->size) {
        size_t start = find_start_code(it->data, it->pos, it->size), end;
        if (start >= it->size)
            break;
        start += 3;
        end = find_end(it->data, start, it->size, &it->forbidden);
        it->pos = end;
        /* trailing_zero_8bits, or the zero_byte of the next start code */
        while (end > start && !it->data[end - 1])
            end--;
        if (end > start) {
            *nal = it->data + start;
            *size = end - start;
            return true;
        }
    }
    it->pos = it->size;
    return false;
}

static bool next_prefixed(struct h264_nal_iter *it, const uint8_t **nal, size_t *size)
{
    while (it->size - it->pos > it->length_size) {
        uint64_t length = 0;
        for (unsigned i = 0; i < it->length_size; i++)
            length = length << 8 | it->data[it->pos + i];
        it->pos += it->length_size;
        if (length > it->size - it->pos) {
            length = it->size - it->pos;
            it->truncated = true;
        }
        *nal = it->data + it->pos;
        *size = (size_t)length;
        it->pos += (size_t)length;
        if (length)
            return true;
    }
    if (it->pos < it->size)
        it->truncated = true;
    it->pos = it->size;
    return false;
}

void h264_nal_iter_init(struct h264_nal_iter *it, const uint8_t *data, size_t size,
                        unsigned length_size)
{
    *it = (struct h264_nal_iter){.data = data, .size = size, .length_size = length_size};
}

bool h264_nal_next(struct h264_nal_iter *it, const uint8_t **nal, size_t *size)
{
    return it->length_size ? next_prefixed(it, nal, size) : next_annexb(it, nal, size);
}

int h264_rbsp_unescape(struct h264_rbsp *rbsp, const uint8_t *nal, size_t size, size_t *rbsp_size)
{
    if (rbsp->capacity < size + H264_BITS_PADDING) {
        uint8_t *bytes = realloc(rbsp->bytes, size + H264_BITS_PADDING);
        if (!bytes)
            return H264_ERR_NOMEM;
        rbsp->bytes = bytes;
        rbsp->capacity = size + H264_BITS_PADDING;
    }
    *rbsp_size = h264_unescape(nal, size, rbsp->bytes, NULL);
    return H264_OK;
}
