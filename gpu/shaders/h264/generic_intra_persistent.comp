/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Intra prediction in frames of any format, in one dispatch. A workgroup takes the next ticket: a
 * row of macroblocks or pairs. Tickets go through the rows of all pictures from the top downwards.
 * A workgroup waits only for the row above. That row has a lower ticket, so the dispatch ends on
 * any device. Progress skips macroblocks that are not intra.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/common.glsl"
#include "gpu/shaders/lib/generic_intra_mb.glsl"
#include "gpu/shaders/lib/generic_progress.glsl"

layout(local_size_x = INTRA_THREADS) in;

shared uint intra_mask; /* of the 32 units that are looked at */

void main()
{
    uint ticket = take_ticket(COUNTER_TICKET_INTRA);
    if (ticket >= push.picture_count * push.mb_height)
        return;
    rec_picture picture = pictures[push.first_picture + ticket % push.picture_count];
    uint row = ticket / push.picture_count,
         progress = (ticket % push.picture_count) * push.mb_height + row,
         t = gl_LocalInvocationIndex;
    if (uint(picture.has_intra) == 0u || int(row) >= unit_rows(picture))
        return;
    for (uint x0 = 0u; x0 < push.mb_width; x0 += 32u) {
        if (t == 0u)
            intra_mask = 0u;
        barrier();
        if (x0 + t < push.mb_width && unit_intra(picture, ivec2(x0 + t, row)))
            atomicOr(intra_mask, 1u << t);
        barrier();
        uint mask = intra_mask;
        while (mask != 0u) {
            uint x = x0 + uint(findLSB(mask));
            progress_publish(progress, x);
            if (row > 0u)
                progress_wait(progress - 1u, min(x + 2u, push.mb_width));
            reconstruct_unit(picture, ivec2(x, row));
            mask &= mask - 1u;
        }
        progress_publish(progress, min(x0 + 32u, push.mb_width));
    }
}
