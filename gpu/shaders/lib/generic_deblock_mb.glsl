/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Deblocks one macroblock (8.7) of any format by a workgroup of 32 threads: vertical edges, then
 * horizontal ones, a thread a line. The macroblock's own samples come from the unfiltered images.
 * Those to the left and above come from the frame, where earlier macroblocks left them filtered.
 * All samples go to the frame.
 *
 * In MBAFF frames the samples across a left edge lie in the same row of the frame, for all kinds of
 * pairs. Those across a top edge lie in rows of the macroblock's own kind. One case has two top
 * edges: a frame macroblock below a pair of field macroblocks. Its rows are then taken as two
 * fields.
 */
#ifndef PELTON_ANY_DEBLOCK_MB_GLSL
#define PELTON_ANY_DEBLOCK_MB_GLSL

#include "gpu/shaders/lib/images.glsl"
#include "gpu/shaders/lib/place.glsl"
#include "gpu/shaders/lib/generic_deblock_line.glsl"

#define DEBLOCK_THREADS 32

layout(set = SET_BATCH, binding = BIND_STRENGTHS, scalar) readonly buffer strength_buffer
{
    uint strengths[];
};

/* The macroblock that is being done. */
struct {
    rec_picture picture;
    uint addr, at, flags; /* at: its first word of strengths */
    uint field;
    bool left, top;
} now;

/* Texel column tx and row y of component c, which may be to the left or above; in the unfiltered
 * image. */
ivec3 work_texel(int c, int tx, int y)
{
    ivec3 rows = mb_rows(now.field, now.addr, mb_height_of(c));
    return ivec3(int(now.addr % push.mb_width) * mb_texels_of(c) + tx, rows.x + y * rows.y,
                 now.picture.work);
}

ivec3 frame_texel(int c, int tx, int y)
{
    ivec3 at = work_texel(c, tx, y);
    return ivec3(at.x, frame_row(now.picture, at.y), now.picture.slot);
}

void put_texel(int c, int tx, int y, uvec4 texel)
{
    ivec4 v = samples_of(texel);
    int at = tile_at(c, tx * 4, y);
    tile[at] = v.x, tile[at + 1] = v.y, tile[at + 2] = v.z, tile[at + 3] = v.w;
}

void store_texel(int c, int tx, int y)
{
    int at = tile_at(c, tx * 4, y);
    store_frame(frame_plane(now.picture, c), frame_texel(c, tx, y),
                texel_of(ivec4(tile[at], tile[at + 1], tile[at + 2], tile[at + 3])));
}

uint nibble_of(uint word, uint i)
{
    return strengths[now.at + word] >> (4u * i) & 15u;
}

uint params_of(uint place, int c)
{
    return strengths[now.at + GENERIC_PARAMS + place * 3u + uint(c)];
}

/* Edges of a line of component c in one direction; position in samples is edge * 4 luma samples or
 * what they are in chroma. */
bool edge_exists(int c, uint edge, int size)
{
    if (as_luma(c))
        return (edge & 1u) == 0u || (now.flags & GENERIC_SIZE8) == 0u;
    return size == 16 || (edge & 1u) == 0u;
}

void filter_row(int c, int y)
{
    int height = mb_height_of(c), width = mb_texels_of(c) * 4;
    uint segment = uint(y * 4 / height);
    if (now.left) {
        uint i = height == 8                             ? uint(y)
                 : (now.flags & GENERIC_LEFT_ROWS) != 0u ? uint((y >> 2) * 2 + (y & 1))
                                                         : uint(y >> 1);
        bool second = ((now.flags & GENERIC_LEFT_ROWS) != 0u && (y & 1) != 0) ||
                      ((now.flags & GENERIC_LEFT_HALVES) != 0u && 2 * y >= height);
        int q = tile_at(c, 0, y);
        filter_line(q - 1, q, 1, nibble_of(GENERIC_LEFT_WORD, i),
                    params_of(second ? GENERIC_PLACE_LEFT2 : GENERIC_PLACE_LEFT, c), !as_luma(c),
                    depth_of(c));
    }
    for (uint edge = 1u; edge < 4u; edge++) {
        uint n = edge * 4u + segment;
        int q = tile_at(c, int(edge) * width / 4, y);
        if (edge_exists(c, edge, width))
            filter_line(q - 1, q, 1, nibble_of(n >> 3, n & 7u), params_of(GENERIC_PLACE_INSIDE, c),
                        !as_luma(c), depth_of(c));
    }
}

void filter_column(int c, int x)
{
    int height = mb_height_of(c), width = mb_texels_of(c) * 4, depth = depth_of(c);
    uint segment = uint(x * 4 / width);
    bool chroma = !as_luma(c), fields = (now.flags & GENERIC_TOP_FIELDS) != 0u;
    if (now.top) {
        int q = tile_at(c, x, 0), p = q - (fields ? 2 : 1) * TILE_PITCH,
            step = (fields ? 2 : 1) * TILE_PITCH;
        filter_line(p, q, step, nibble_of(2u, segment), params_of(GENERIC_PLACE_TOP, c), chroma,
                    depth);
        if (fields)
            filter_line(q - TILE_PITCH, q + TILE_PITCH, step, nibble_of(GENERIC_TOP2_WORD, segment),
                        params_of(GENERIC_PLACE_TOP2, c), chroma, depth);
    }
    for (uint edge = 1u; edge < 4u; edge++) {
        uint n = 16u + edge * 4u + segment;
        int q = tile_at(c, x, int(edge) * height / 4);
        if (edge_exists(c, edge, height))
            filter_line(q - TILE_PITCH, q, TILE_PITCH, nibble_of(n >> 3, n & 7u),
                        params_of(GENERIC_PLACE_INSIDE, c), chroma, depth);
    }
}

/* Component and line of line i of the macroblock: those of luma, then of each chroma component. */
ivec2 line_of(int i, int chroma)
{
    return i < 16 ? ivec2(0, i) : ivec2(1 + (i - 16) / chroma, (i - 16) % chroma);
}

void load_tile()
{
    int t = int(gl_LocalInvocationIndex), above = (now.flags & GENERIC_TOP_FIELDS) != 0u ? 6 : 4;
    for (int c = 0; c < COMPONENTS; c++) {
        int texels = mb_texels_of(c), height = mb_height_of(c), plane = frame_plane(now.picture, c);
        for (int i = t; i < texels * height; i += DEBLOCK_THREADS)
            put_texel(c, i % texels, i / texels,
                      load_work(c, work_texel(c, i % texels, i / texels)));
        if (now.left && t < height)
            put_texel(c, -1, t, load_frame(plane, frame_texel(c, -1, t)));
        if (now.top && t < texels * above)
            put_texel(c, t % texels, t / texels - above,
                      load_frame(plane, frame_texel(c, t % texels, t / texels - above)));
    }
}

void store_tile()
{
    /* others are only read */
    int t = int(gl_LocalInvocationIndex), above = (now.flags & GENERIC_TOP_FIELDS) != 0u ? 4 : 3;
    for (int c = 0; c < COMPONENTS; c++) {
        int texels = mb_texels_of(c), height = mb_height_of(c);
        for (int i = t; i < texels * height; i += DEBLOCK_THREADS)
            store_texel(c, i % texels, i / texels);
        if (now.left && t < height)
            store_texel(c, -1, t);
        if (now.top && t < texels * above)
            store_texel(c, t % texels, t / texels - above);
    }
}

void copy_mb()
{
    for (int c = 0; c < COMPONENTS; c++) {
        int texels = mb_texels_of(c), height = mb_height_of(c);
        for (int i = int(gl_LocalInvocationIndex); i < texels * height; i += DEBLOCK_THREADS)
            store_frame(frame_plane(now.picture, c), frame_texel(c, i % texels, i / texels),
                        load_work(c, work_texel(c, i % texels, i / texels)));
    }
}

void filter_mb()
{
    int t = int(gl_LocalInvocationIndex), rows = mb_height_of(1), columns = mb_texels_of(1) * 4;
    load_tile();
    barrier();
    for (int i = t; i < (CHROMA_FORMAT == 0u ? 16 : 16 + 2 * rows); i += DEBLOCK_THREADS) {
        ivec2 line = line_of(i, rows);
        filter_row(line.x, line.y);
    }
    barrier();
    for (int i = t; i < (CHROMA_FORMAT == 0u ? 16 : 16 + 2 * columns); i += DEBLOCK_THREADS) {
        ivec2 line = line_of(i, columns);
        filter_column(line.x, line.y);
    }
    barrier();
    store_tile();
    barrier();
}

/* By all threads of the workgroup together. Where no edge has a strength it is a copy. */
void deblock_mb(rec_picture picture, uint addr)
{
    now.picture = picture;
    now.addr = addr;
    now.at = (picture.mb_base + addr) * GENERIC_WORDS;
    now.field = pair_field(picture, uint(mbs[picture.mb_base + addr].flags), addr);
    uint any = 0u;
    if (uint(picture.has_deblock) != 0u)
        for (uint i = 0u; i < GENERIC_FLAGS_WORD; i++)
            any |= strengths[now.at + i];
    if (any == 0u) {
        copy_mb();
        return;
    }
    now.flags = strengths[now.at + GENERIC_FLAGS_WORD];
    now.left = strengths[now.at + GENERIC_LEFT_WORD] != 0u;
    now.top = ((strengths[now.at + 2u] & 0xffffu) | strengths[now.at + GENERIC_TOP2_WORD]) != 0u;
    filter_mb();
}

/* A macroblock, or a pair. */
void deblock_unit(rec_picture picture, ivec2 at)
{
    bool pairs = INTERLACED != 0u && uint(picture.mbaff) != 0u;
    uint first = uint(at.y << (pairs ? 1 : 0)) * push.mb_width + uint(at.x);
    for (uint k = 0u; k < (pairs ? 2u : 1u); k++) {
        deblock_mb(picture, first + k * push.mb_width);
        if (pairs) { /* the bottom macroblock may read the top one */
            memoryBarrier();
            barrier();
        }
    }
}

#endif
