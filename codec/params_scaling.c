/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Scaling lists: syntax (7.3.2.1.1.1), defaults and fall-back rules (7.4.2.1.1, Table 7-2).
 * Lists 0..5 are 4x4 (Intra Y Cb Cr, Inter Y Cb Cr), 6..11 are 8x8 (Intra Y, Inter Y, Intra Cb,
 * Inter Cb, Intra Cr, Inter Cr). All are kept in raster order; the mapping from list to matrix is
 * the zig-zag scan for frame and field macroblocks (8.5.6).
 */
#include "codec/parameter_sets.h"
#include "codec/scan.h"

bool h264_scaling_list(struct h264_bits *b, unsigned count, uint8_t *raster)
{
    const uint8_t *scan = count == 16 ? h264_scan_4x4[0] : h264_scan_8x8[0];
    unsigned last = 8, next = 8;
    for (unsigned j = 0; j < count; j++) {
        if (next) {
            next = (last + (uint32_t)h264_bits_se(b)) & 255;
            if (!j && !next)
                return true;
        }
        if (next)
            last = next;
        raster[scan[j]] = (uint8_t)last;
    }
    return false;
}

static uint8_t *list_at(struct rec_scaling *s, unsigned i)
{
    return i < 6 ? s->m4[i] : s->m8[i - 6];
}

void h264_scaling_default(struct rec_scaling *s, unsigned i)
{
    if (i < 6)
        for (unsigned j = 0; j < 16; j++)
            s->m4[i][h264_scan_4x4[0][j]] = h264_default_scaling_4x4[i / 3][j];
    else
        for (unsigned j = 0; j < 64; j++)
            s->m8[i - 6][h264_scan_8x8[0][j]] = h264_default_scaling_8x8[(i - 6) & 1][j];
}

void h264_scaling_fill(struct rec_scaling *s, unsigned present, unsigned use_default,
                       const struct rec_scaling *base)
{
    for (unsigned i = 0; i < 12; i++) {
        size_t size = i < 6 ? 16 : 64;
        /* The list before of the same kind; the first of a kind has none. */
        bool first = i < 6 ? i % 3 == 0 : i < 8;

        if (use_default >> i & 1)
            h264_scaling_default(s, i);
        else if (present >> i & 1)
            continue;
        else if (!first)
            memcpy(list_at(s, i), i < 6 ? s->m4[i - 1] : s->m8[i - 8], size);
        else if (base)
            memcpy(list_at(s, i), i < 6 ? base->m4[i] : base->m8[i - 6], size);
        else
            h264_scaling_default(s, i);
    }
}

void h264_pps_scaling(const struct h264_sps *sps, const struct h264_pps *pps,
                      struct rec_scaling *out)
{
    struct rec_scaling s;
    if (!pps->pic_scaling_matrix_present_flag) {
        *out = sps->scaling;
        return;
    }
    s = pps->lists;
    /* Fall-back rule set B where the SPS has a matrix, else A. */
    h264_scaling_fill(&s, pps->list_present, pps->list_default,
                      sps->seq_scaling_matrix_present_flag ? &sps->scaling : NULL);
    *out = s;
}
