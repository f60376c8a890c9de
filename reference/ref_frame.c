/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Reference: frames, and the size of a macroblock in their planes.
 */
#include "ref_internal.h"

uint32_t ref_mb_width(uint8_t chroma_format_idc, int component)
{
    if (component == 0 || chroma_format_idc == 3)
        return 16;
    return chroma_format_idc == 0 ? 0 : 8;
}

uint32_t ref_mb_height(uint8_t chroma_format_idc, int component)
{
    if (component == 0 || chroma_format_idc == 3)
        return 16;
    return chroma_format_idc == 0 ? 0 : chroma_format_idc == 1 ? 8 : 16;
}

struct ref_frame *ref_frame_create(uint32_t mb_width, uint32_t mb_height, uint8_t chroma_format_idc)
{
    struct ref_frame *frame = calloc(1, sizeof(*frame));
    if (!frame)
        return NULL;
    frame->width = 16 * mb_width;
    frame->height = 16 * mb_height;
    frame->chroma_format_idc = chroma_format_idc;
    for (int i = 0; i < 3; i++) {
        frame->stride[i] = mb_width * ref_mb_width(chroma_format_idc, i);
        if (!frame->stride[i])
            continue;
        frame->plane[i] =
            calloc((size_t)frame->stride[i] * mb_height * ref_mb_height(chroma_format_idc, i),
                   sizeof(uint16_t));
        if (!frame->plane[i]) {
            ref_frame_free(frame);
            return NULL;
        }
    }
    return frame;
}

void ref_frame_free(struct ref_frame *frame)
{
    if (!frame)
        return;
    for (int i = 0; i < 3; i++)
        free(frame->plane[i]);
    free(frame);
}
