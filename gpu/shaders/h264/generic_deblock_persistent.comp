/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocking of batches with MBAFF frames, of any format, in one dispatch. A workgroup takes the
 * next ticket: a row of macroblocks or pairs. Tickets go through the rows of all pictures from the
 * top downwards. A workgroup waits only for the row above. That row has a lower ticket, so the
 * dispatch ends on any device.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/generic_deblock_mb.glsl"
#include "gpu/shaders/lib/generic_progress.glsl"

layout(local_size_x = DEBLOCK_THREADS) in;

void main()
{
    uint ticket = take_ticket(COUNTER_TICKET_DEBLOCK);
    if (ticket >= push.picture_count * push.mb_height)
        return;
    rec_picture picture = pictures[push.first_picture + ticket % push.picture_count];
    uint row = ticket / push.picture_count;
    uint progress = (push.picture_count + ticket % push.picture_count) * push.mb_height + row;
    bool filtered = uint(picture.has_deblock) != 0u;
    if (int(row) >= unit_rows(picture))
        return;
    for (uint x = 0u; x < push.mb_width; x++) {
        if (filtered && row > 0u)
            progress_wait(progress - 1u, min(x + 2u, push.mb_width));
        deblock_unit(picture, ivec2(x, row));
        if (filtered)
            progress_publish(progress, x + 1u);
    }
}
