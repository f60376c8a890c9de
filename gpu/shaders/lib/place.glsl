/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Places of macroblocks and of their reference fields (6.4.1, 8.4.2.1): in frames, in field
 * pictures, and in the pairs of MBAFF frames. The unfiltered samples of field pictures are kept
 * without gaps between rows.
 */
#ifndef PELTON_PLACE_GLSL
#define PELTON_PLACE_GLSL

/* A field macroblock of an MBAFF frame: REC_TOP or REC_BOTTOM; else 0. */
uint pair_field(rec_picture picture, uint flags, uint addr)
{
    if (INTERLACED == 0u || uint(picture.mbaff) == 0u || (flags & REC_MB_FIELD) == 0u)
        return 0u;
    return (addr / push.mb_width & 1u) != 0u ? REC_BOTTOM : REC_TOP;
}

/* Rows of a macroblock of `height` rows: x the first one in the picture, y how far apart they are,
 * z the first one in what it refers to, which for a field macroblock is a field. */
ivec3 mb_rows(uint field, uint addr, int height)
{
    int row = int(addr / push.mb_width);
    if (field == 0u)
        return ivec3(row * height, 1, row * height);
    return ivec3((row & ~1) * height + (row & 1), 2, (row >> 1) * height);
}

/* What index ref_idx of a list names, as rec_slice.ref does. */
uint reference_of(uint slice, uint list, uint ref_idx, uint field)
{
    if (field == 0u)
        return uint(slices[slice].ref[list][ref_idx & (REC_MAX_REFS - 1u)]);
    uint ref = uint(slices[slice].ref[list][(ref_idx >> 1) & (REC_MAX_REFS - 1u)]);
    bool same = (ref_idx & 1u) == 0u;
    return (ref & ~3u) | (same ? field : 3u - field);
}

/* Row y of a plane of `height` rows of which field (REC_TOP, REC_BOTTOM; else the frame) is read;
 * outside the border repeats. */
int reference_row(int y, int height, uint field)
{
    if (INTERLACED == 0u || (field & 3u) == REC_FRAME)
        return clamp(y, 0, height - 1);
    return 2 * clamp(y, 0, height / 2 - 1) + int(field & 3u) - 1;
}

/* The plane of its slot that a picture's component is written to: separate colour planes are
 * pictures of 4:0:0. */
int frame_plane(rec_picture picture, int c)
{
    return CHROMA_FORMAT == 0u ? int(picture.colour_plane) : c;
}

/* The row of its slot that a picture's row is written to. */
int frame_row(rec_picture picture, int y)
{
    if (INTERLACED == 0u || uint(picture.structure) == REC_FRAME)
        return y;
    return 2 * y + (uint(picture.structure) == REC_BOTTOM ? 1 : 0);
}

/* Rows of macroblocks of a picture, or of macroblock pairs. */
int unit_rows(rec_picture picture)
{
    bool half_rows =
        INTERLACED != 0u && (uint(picture.mbaff) != 0u || uint(picture.structure) != REC_FRAME);
    return int(push.mb_height) >> (half_rows ? 1 : 0);
}

#endif
