/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SEI messages: collected before a picture, handed over with it.
 */
#include "codec/bits.h"
#include "codec/sei.h"
#include "codec/h264_error.h"

#include <stdlib.h>

/* payloadType or payloadSize: bytes of 255 and a last one. */
static bool read_number(const uint8_t *rbsp, size_t size, size_t *at, uint32_t *out)
{
    uint32_t value = 0;
    while (*at < size) {
        uint8_t byte = rbsp[(*at)++];
        value += byte; /* at most 255 for each byte of a NAL unit of less than 2^24 bytes */
        if (byte != 255) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* Room for n more payload bytes and the padding after them. */
static int reserve(struct h264_sei_inbox *inbox, uint32_t n)
{
    uint32_t need = inbox->bytes_size + n + H264_BITS_PADDING;
    uint8_t *bytes;
    if (need <= inbox->bytes_capacity)
        return H264_OK;
    bytes = realloc(inbox->bytes, need * 2);
    if (!bytes)
        return H264_ERR_NOMEM;
    inbox->bytes = bytes;
    inbox->bytes_capacity = need * 2;
    return H264_OK;
}

static int inbox_keep(struct h264_sei_inbox *inbox, uint32_t type, const uint8_t *payload,
                      uint32_t size)
{
    if (inbox->count == H264_SEI_MAX_MESSAGES || size > H264_SEI_MAX_BYTES - inbox->bytes_size) {
        inbox->left_out++;
        inbox->over_limit++;
        return H264_OK;
    }
    if (reserve(inbox, size))
        return H264_ERR_NOMEM;
    memcpy(inbox->bytes + inbox->bytes_size, payload, size);
    inbox->messages[inbox->count].type = type;
    inbox->messages[inbox->count].at = inbox->bytes_size;
    inbox->messages[inbox->count].size = size;
    inbox->count++;
    inbox->bytes_size += size;
    memset(inbox->bytes + inbox->bytes_size, 0, H264_BITS_PADDING);
    return H264_OK;
}

int h264_sei_collect(struct h264_sei_inbox *inbox, const uint8_t *rbsp, size_t size)
{
    size_t at = 1;
    if (size > 1 << 24) {
        inbox->left_out++;
        return H264_ERR_DATA;
    }
    while (size && !rbsp[size - 1])
        size--;
    /* more than rbsp_trailing_bits(): messages are whole bytes (7.3.2.3.1) */
    while (at + 1 < size) {
        uint32_t type, length;
        int error;
        if (!read_number(rbsp, size, &at, &type) || !read_number(rbsp, size, &at, &length) ||
            length > size - at) {
            inbox->left_out++;
            return H264_ERR_TRUNCATED;
        }
        error = inbox_keep(inbox, type, rbsp + at, length);
        if (error)
            return error;
        at += length;
    }
    return H264_OK;
}

bool h264_sei_peek(const struct h264_sei_inbox *inbox, uint32_t type, struct h264_sei_message *out)
{
    for (uint32_t i = 0; i < inbox->count; i++)
        if (inbox->messages[i].type == type) {
            *out = (struct h264_sei_message){type, inbox->messages[i].size,
                                             inbox->bytes + inbox->messages[i].at};
            return true;
        }
    return false;
}

int h264_sei_take(struct h264_sei_inbox *inbox, struct h264_sei **out)
{
    size_t head = sizeof(struct h264_sei) + inbox->count * sizeof(struct h264_sei_message);
    struct h264_sei *sei = NULL;
    uint8_t *bytes;
    if (inbox->count || inbox->left_out) {
        sei = malloc(head + inbox->bytes_size + H264_BITS_PADDING);
        if (!sei) {
            h264_sei_clear(inbox);
            return H264_ERR_NOMEM;
        }
        bytes = (uint8_t *)sei + head;
        *sei = (struct h264_sei){.count = inbox->count, .left_out = inbox->left_out};
        for (uint32_t i = 0; i < inbox->count; i++)
            sei->messages[i] = (struct h264_sei_message){
                inbox->messages[i].type, inbox->messages[i].size, bytes + inbox->messages[i].at};
        if (inbox->bytes_size)
            memcpy(bytes, inbox->bytes, inbox->bytes_size);
        memset(bytes + inbox->bytes_size, 0, H264_BITS_PADDING);
        h264_sei_clear(inbox);
    }
    *out = sei;
    return H264_OK;
}

void h264_sei_clear(struct h264_sei_inbox *inbox)
{
    inbox->count = inbox->left_out = inbox->bytes_size = 0;
}

void h264_sei_inbox_free(struct h264_sei_inbox *inbox)
{
    free(inbox->bytes);
    *inbox = (struct h264_sei_inbox){0};
}

void h264_sei_free(struct h264_sei *sei)
{
    while (sei) {
        struct h264_sei *next = sei->next;
        free(sei);
        sei = next;
    }
}

const struct h264_sei_message *h264_sei_find(const struct h264_sei *sei, uint32_t type)
{
    for (; sei; sei = sei->next)
        for (uint32_t i = 0; i < sei->count; i++)
            if (sei->messages[i].type == type)
                return &sei->messages[i];
    return NULL;
}
