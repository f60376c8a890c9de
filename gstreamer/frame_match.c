/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/frame_match.h"

#include "codec/nal.h"

#include <string.h>

enum { SEI_USER_DATA_UNREGISTERED = 5, DIGITS = 8 };

/* Any number of one's own (RFC 4122). No byte is 0, so no emulation prevention is needed. */
static const guint8 uuid[16] = {0x8e, 0x51, 0x3b, 0xf4, 0x6a, 0x0d, 0x4c, 0x97,
                                0xa2, 0x1f, 0x70, 0x65, 0x6c, 0x74, 0x6f, 0x6e};
static const guint8 start_code[4] = {0, 0, 0, 1};

static void sei_append(GByteArray *out, guint32 number)
{
    const guint8 head[] = {H264_NAL_SEI, SEI_USER_DATA_UNREGISTERED, sizeof(uuid) + DIGITS};
    guint8 digits[DIGITS + 1];
    for (guint i = 0; i < DIGITS; i++)
        digits[i] = 0x40 | (number >> (4 * (DIGITS - 1 - i)) & 15);
    digits[DIGITS] = 0x80; /* rbsp_trailing_bits */
    g_byte_array_append(out, start_code, sizeof(start_code));
    g_byte_array_append(out, head, sizeof(head));
    g_byte_array_append(out, uuid, sizeof(uuid));
    g_byte_array_append(out, digits, sizeof(digits));
}

static gboolean carries_picture(guint type)
{
    return (type >= H264_NAL_SLICE && type <= H264_NAL_IDR) || type == H264_NAL_PREFIX ||
           type == H264_NAL_EXTENSION;
}

static void nal_append(GByteArray *out, const guint8 *nal, gsize size)
{
    g_byte_array_append(out, start_code, sizeof(start_code));
    g_byte_array_append(out, nal, size);
}

void frame_match_copy(GByteArray *out, const guint8 *unit, gsize size)
{
    struct h264_nal_iter it;
    const guint8 *nal;
    gsize nal_size;
    h264_nal_iter_init(&it, unit, size, 0);
    while (h264_nal_next(&it, &nal, &nal_size))
        if ((nal[0] & 31) != H264_NAL_AUD)
            nal_append(out, nal, nal_size);
}

void frame_match_mark(GByteArray *out, const guint8 *unit, gsize size, guint32 number)
{
    gboolean marked = FALSE;
    struct h264_nal_iter it;
    const guint8 *nal;
    gsize nal_size;
    h264_nal_iter_init(&it, unit, size, 0);
    while (h264_nal_next(&it, &nal, &nal_size)) {
        guint type = nal[0] & 31;
        if (!marked && carries_picture(type)) {
            sei_append(out, number);
            marked = TRUE;
        }
        if (type != H264_NAL_AUD)
            nal_append(out, nal, nal_size);
    }
}

void frame_match_delimit(GByteArray *out)
{
    const guint8 delimiter[] = {H264_NAL_AUD, 0xf0}; /* primary_pic_type 7: any slice */
    nal_append(out, delimiter, sizeof(delimiter));
}

static gboolean number_read(const struct pelton_sei_message *m, guint32 *number)
{
    if (m->type != SEI_USER_DATA_UNREGISTERED || m->size != sizeof(uuid) + DIGITS ||
        memcmp(m->bytes, uuid, sizeof(uuid)))
        return FALSE;
    *number = 0;
    for (guint i = 0; i < DIGITS; i++)
        *number = *number << 4 | (m->bytes[sizeof(uuid) + i] & 15);
    return TRUE;
}

guint frame_match_numbers(const struct pelton_side_data *side, guint32 *numbers, guint most)
{
    guint n = 0;
    for (guint i = 0; side && i < side->messages && n < most; i++)
        n += number_read(&side->message[i], &numbers[n]);
    return n;
}
