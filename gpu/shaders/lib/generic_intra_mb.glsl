/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One intra macroblock of any format by a workgroup of 32 threads, component after component.
 * Neighbours go into a shared tile, prediction and residual are added inside it, and texels go out.
 * The 4x4 blocks of Intra4x4 run in a wavefront of ten steps, two blocks at a time.
 *
 * In an MBAFF frame, Table 6-4 places neighbours as if there were no pairs. Left neighbours lie in
 * the same row. The row above is one row of the macroblock's own kind further up: in a field
 * macroblock two rows of the frame.
 */
#ifndef PELTON_ANY_INTRA_MB_GLSL
#define PELTON_ANY_INTRA_MB_GLSL

#include "gpu/shaders/lib/images.glsl"
#include "gpu/shaders/lib/place.glsl"
#include "gpu/shaders/lib/generic_intra_block.glsl"

layout(constant_id = 1) const uint SWITCHING = 0; /* there may be SI macroblocks */
#ifndef PELTON_WIDE
#include "gpu/shaders/lib/generic_intra_switching.glsl"
#endif

#define INTRA_THREADS 32

layout(set = SET_BATCH, binding = BIND_RESIDUAL, scalar) readonly buffer residual_buffer
{
    int16_t residual[];
};

/* The component that is being done, and where it lies in the unfiltered image. */
struct {
    int c, x, y, step, height, layer, depth;
    uint coeff_base, slice;
    rec_mb mb;
    uint avail;
} now;

/* Residual of sample (x, y). */
int residual_at(int x, int y)
{
    uint b = as_luma(now.c) ? swap_blk(uint((y >> 2) * 4 + (x >> 2)))
                            : uint((y >> 2) * 2 + (x >> 2)),
         c = uint(now.c);
    if ((uint(now.mb.coded[c]) >> b & 1u) == 0u)
        return 0;
    return int(
        residual[coeff_block_of(now.coeff_base, now.mb, c, b) * 16u + uint((y & 3) * 4 + (x & 3))]);
}

/* Residual of a sample, summed along the direction of prediction where a lossless block of size n
 * predicts straight down or straight to the right (8.5.15). mode is 0 vertical, 1 horizontal. */
int residual_of(int x, int y, int mode, int n)
{
    if ((uint(now.mb.flags) & REC_MB_BYPASS) == 0u || mode > 1)
        return residual_at(x, y);
    int sum = 0;
    for (int k = (mode == 0 ? y : x) & -n; k <= (mode == 0 ? y : x); k++)
        sum += mode == 0 ? residual_at(x, k) : residual_at(k, y);
    return sum;
}

void put_sample(int x, int y, int v)
{
    TILE_AT(x, y) = clamp(v, 0, (1 << now.depth) - 1);
}

int sample_at(int x, int y)
{
    return samples_of(load_work(now.c, ivec3(x >> 2, y, now.layer)))[x & 3];
}

/* Samples outside of the picture are never used, only not fetched. */
void load_border()
{
    int t = int(gl_LocalInvocationIndex), texels = mb_texels_of(now.c),
        last = int(push.mb_width) * texels * 4 - 1;
    if (t < (texels == 4 ? TILE_PITCH : 9))
        tile[t] = sample_at(clamp(now.x - 1 + t, 0, last), max(now.y - now.step, 0));
    if (t < now.height)
        TILE_AT(-1, t) = sample_at(max(now.x - 1, 0), now.y + t * now.step);
}

void store_tile()
{
    int texels = mb_texels_of(now.c);
    for (int i = int(gl_LocalInvocationIndex); i < texels * now.height; i += INTRA_THREADS) {
        int tx = i % texels, y = i / texels, x = 4 * tx;
        ivec4 v = ivec4(TILE_AT(x, y), TILE_AT(x + 1, y), TILE_AT(x + 2, y), TILE_AT(x + 3, y));
        store_work(now.c, ivec3((now.x >> 2) + tx, now.y + y * now.step, now.layer), texel_of(v));
    }
}

int mode_of(uint nibble)
{
    return int(now.mb.intra_mode[nibble >> 3] >> (4u * (nibble & 7u)) & 15u);
}

/* Is what lies to the left of row y (of 16) available? */
bool left_of(int y)
{
    return (now.avail & (y < 8 ? REC_AVAIL_A_UPPER : REC_AVAIL_A_LOWER)) != 0u;
}

bool is_si()
{
    return SWITCHING != 0u && (uint(now.mb.flags) & REC_MB_SI) != 0u;
}

void reconstruct_4x4()
{
    int t = int(gl_LocalInvocationIndex), x = t & 3, y = (t >> 2) & 3;
    bool top = (now.avail & REC_AVAIL_B) != 0u, top_right = (now.avail & REC_AVAIL_C) != 0u;
    for (int step = 0; step < 10; step++) {
        int row = (step >> 1) - (t >> 4), column = (step & 1) + 2 * (t >> 4);
        if (row >= 0 && row < 4) {
            uint raster = uint(row * 4 + column);
            int mode = mode_of(swap_blk(raster)), bx = column * 4, by = row * 4;
            /* blocks inside whose upper right neighbour comes later or lies in the next macroblock
             */
            bool right =
                row == 0 ? (column == 3 ? top_right : top) : (0xa8a0u >> raster & 1u) == 0u;
            int p = intra_4x4(mode, bx, by, x, y, left_of(by) || column > 0, top || row > 0, right,
                              now.depth);
            put_sample(bx + x, by + y, p + residual_of(bx + x, by + y, mode, 4));
        }
        barrier();
#ifndef PELTON_WIDE
        if (is_si()) {
            if (x + y == 0 && row >= 0 && row < 4)
                switching_luma(now.coeff_base, now.mb, now.slice, column * 4, row * 4);
            barrier();
        }
#endif
    }
}

void reconstruct_8x8()
{
    int t = int(gl_LocalInvocationIndex);
    bool mb_top = (now.avail & REC_AVAIL_B) != 0u;
    for (int i = 0; i < 4; i++) {
        int bx = (i & 1) * 8, by = (i >> 1) * 8, mode = mode_of(uint(4 * i));
        bool left = left_of(by) || bx > 0, top = mb_top || by > 0;
        bool corner = i == 0   ? (now.avail & REC_AVAIL_D) != 0u
                      : i == 1 ? mb_top
                      : i == 2 ? (now.avail & (REC_AVAIL_A_UPPER | REC_AVAIL_D8)) != 0u
                               : true;
        bool right = i == 0 ? mb_top : i == 1 ? (now.avail & REC_AVAIL_C) != 0u : i == 2;
        if (t < 25)
            border8[t] = filter_border8(bx, by, t - 8, left, top, corner, right);
        barrier();
        for (int k = 0; k < 2; k++) {
            int x = t & 7, y = (t >> 3) + 4 * k, p = intra_8x8(mode, x, y, left, top, now.depth);
            put_sample(bx + x, by + y, p + residual_of(bx + x, by + y, mode, 8));
        }
        barrier();
    }
}

void reconstruct_16x16()
{
    int t = int(gl_LocalInvocationIndex),
        mode = uint(now.mb.kind) == REC_MB_INTRA_PCM ? 4 : mode_of(0u);
    bool left = (now.avail & REC_AVAIL_A) == REC_AVAIL_A, top = (now.avail & REC_AVAIL_B) != 0u;
    for (int k = 0; k < 8; k++) {
        int x = t & 15, y = (t >> 4) + 2 * k;
        int p = mode == 4 ? 0 : intra_16x16(mode, x, y, left, top, now.depth);
        put_sample(x, y, p + residual_of(x, y, mode, 16));
    }
    barrier();
}

void reconstruct_chroma()
{
    int t = int(gl_LocalInvocationIndex),
        mode = uint(now.mb.kind) == REC_MB_INTRA_PCM ? 4 : int(now.mb.intra_chroma_mode);
    int direction = mode == 2 ? 0 : mode == 1 ? 1 : 2;
    bool top = (now.avail & REC_AVAIL_B) != 0u;
    for (int i = t; i < 8 * now.height; i += INTRA_THREADS) {
        int x = i & 7, y = i >> 3;
        int p = mode == 4 ? 0
                          : intra_chroma(mode, x, y, now.height, left_of(y * 16 / now.height), top,
                                         now.depth);
        put_sample(x, y, p + residual_of(x, y, direction, 16));
    }
    barrier();
#ifndef PELTON_WIDE
    if (is_si())
        switching_chroma(now.coeff_base, now.mb, now.slice, uint(now.c));
#endif
}

/* All threads of the workgroup together. */
void reconstruct_mb(rec_picture picture, uint addr)
{
    now.mb = mbs[picture.mb_base + addr];
    now.avail = uint(now.mb.intra_avail);
    now.coeff_base = picture.coeff_base;
    now.slice = picture.slice_base + now.mb.slice;
    now.layer = int(picture.work);
    uint field = pair_field(picture, uint(now.mb.flags), addr), kind = uint(now.mb.kind);
    for (int c = 0; c < COMPONENTS; c++) {
        ivec3 rows = mb_rows(field, addr, mb_height_of(c));
        now.c = c;
        now.x = int(addr % push.mb_width) * mb_texels_of(c) * 4;
        now.y = rows.x;
        now.step = rows.y;
        now.height = mb_height_of(c);
        now.depth = depth_of(c);
        load_border();
        barrier();
        if (!as_luma(c))
            reconstruct_chroma();
        else if (kind == REC_MB_INTRA_4X4)
            reconstruct_4x4();
        else if (kind == REC_MB_INTRA_8X8)
            reconstruct_8x8();
        else
            reconstruct_16x16();
        store_tile();
        barrier();
    }
}

/* Is any macroblock of the unit, a macroblock or a pair, intra? */
bool unit_intra(rec_picture picture, ivec2 at)
{
    bool pairs = INTERLACED != 0u && uint(picture.mbaff) != 0u;
    uint first = picture.mb_base + uint(at.y << (pairs ? 1 : 0)) * push.mb_width + uint(at.x);
    return is_intra(uint(mbs[first].kind)) ||
           (pairs && is_intra(uint(mbs[first + push.mb_width].kind)));
}

void reconstruct_unit(rec_picture picture, ivec2 at)
{
    bool pairs = INTERLACED != 0u && uint(picture.mbaff) != 0u;
    uint first = uint(at.y << (pairs ? 1 : 0)) * push.mb_width + uint(at.x);
    for (uint k = 0u; k < (pairs ? 2u : 1u); k++) {
        uint addr = first + k * push.mb_width;
        if (is_intra(uint(mbs[picture.mb_base + addr].kind)))
            reconstruct_mb(picture, addr);
        if (pairs) { /* the bottom macroblock may read the top one */
            memoryBarrier();
            barrier();
        }
    }
}

#endif
