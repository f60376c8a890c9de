/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw samples to the picture in one pass: what isp_develop and isp_finish compute, without defect clamp. A workgroup makes a tile of
 * the picture. The host knows which rectangle of the sensor it looks at (isp_fuse.c): its samples go to shared memory, levelled;
 * then its pixels with all three colours; then the lens is undone by sampling these.
 *
 * Samples are in 1/65536, so that clamp(v, 0, 1) comes with the addition before it; all sums are of whole numbers of at most 22 bits, so
 * floats are exact. Adding 128 rounds to 16 bits behind the point, ties to even, and leaves them as the low bits of the float.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_control_flow_attributes : require
#include "gpu/shaders/lib/isp_common.glsl"
#include "gpu/shaders/lib/debug.glsl"
#include "gpu/shaders/lib/isp_unpack.glsl"

#define THREADS 256
layout(local_size_x = THREADS) in;

layout(constant_id = 2) const uint SAMPLING = ISP_SAMPLE_NONE;
layout(constant_id = 3) const uint DEMOSAIC = 0u;
#define OUTPUT_FIRST 4
#include "gpu/shaders/lib/isp_output.glsl"
#include "gpu/shaders/lib/isp_demosaic.glsl"

layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_pairs { uvec2 pairs[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_quads { uvec4 quads[]; };

#define ROUND 128.0
#define ROUND_BITS 0x43000000u
#define MOST (65535.0 / 65536.0)
#define ODD_PAIRS ((ISP_RECT_X + 12u) / 4u)
#define ROW_PAIRS (2u * ODD_PAIRS)

/* First samples, in pairs, the even ones of a row before the odd ones; then texels in the same place: red, green; blue as a float.
 * Columns of texels that are equal modulo 4 lie together. So neither who writes every fourth column nor who reads every second one
 * meets its neighbours in the banks. */
shared uvec2 store[ISP_TEXELS];

struct tile_rect {
    ivec2 origin;              /* x is 2 more than a multiple of 4, y even */
    uint columns, rows;        /* of 4 pixels; even */
    uint by_columns, by_loads; /* 65536 / columns and 65536 / loads, rounded up: for divisions */
    uint loads;                /* of 8 samples in a row; the first starts at a multiple of 8 */
    bool inside;               /* all its samples are in the picture */
};

tile_rect find_rect(uint frame)
{
    uvec4 q = quads[(args[frame].map_base >> 2) + gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y];
    tile_rect r;
    r.origin = ivec2(int(q.x << 16) >> 16, int(q.x) >> 16);
    r.columns = q.y & 0xffu;
    r.loads = q.y >> 8 & 0xffu;
    r.rows = q.y >> 16;
    r.by_columns = q.z;
    r.by_loads = q.w;
    ivec2 first = (r.origin - 2) & ivec2(~7, ~0), end = first + ivec2(8u * r.loads, r.rows + 4u);
    r.inside = all(greaterThanEqual(first, ivec2(0))) && end.x <= int(args[frame].width) && end.y <= int(args[frame].height);
    return r;
}

/* black: with the mantissa's bias on top */
vec4 level(uvec4 value, vec2 black, vec2 gain)
{
    vec4 above = uintBitsToFloat(0x4b000000u | value) - black.xyxy;
    precise vec4 biased = min(clamp(above * gain.xyxy, 0.0, 1.0), MOST) + ROUND;
    precise vec4 whole = biased - ROUND;
    return whole;
}

/* Eight samples in a row that a thread loads. */
struct load {
    uint row, column, to;
    bool any;
};

load find_load(tile_rect r, uint i)
{
    uint row = i * r.by_loads >> 16, column = i - row * r.loads;
    return load(row, column, row * ROW_PAIRS + 2u * column, i < r.loads * (r.rows + 4u));
}

words_8 ask(uint frame, tile_rect r, load l)
{
    ivec2 origin = (r.origin - 2) & ivec2(~7, ~0);
    words_8 w = words_8(uvec3(0u), uvec3(0u));
    if (l.any && r.inside)
        w = fetch_8(args[frame].raw + (uint(origin.y) + l.row) * args[frame].raw_stride, uint(origin.x) + 8u * l.column);
    return w;
}

/* At the picture's border, one by one */
void mirrored(uint frame, tile_rect r, load l, out uvec4 low, out uvec4 high)
{
    ivec2 at = ((r.origin - 2) & ivec2(~7, ~0)) + ivec2(8u * l.column, l.row);
    uint from = args[frame].raw + uint(mirror(at.y, int(args[frame].height))) * args[frame].raw_stride;
    [[dont_unroll]] for (int k = 0; k < 4; k++) {
        low[k] = one(from, at.x + k, int(args[frame].width));
        high[k] = one(from, at.x + 4 + k, int(args[frame].width));
    }
}

void put_samples(uint frame, tile_rect r, load l, words_8 w)
{
    uint p = (l.row & 1u) * 2u;
    vec2 black = vec2(args[frame].black[p], args[frame].black[p + 1u]) + MAGIC;
    vec2 gain = vec2(args[frame].gain[p], args[frame].gain[p + 1u]) * (1.0 / 65536.0);
    uvec4 low, high;
    if (!l.any)
        return;
    if (r.inside)
        unpack_8(w, 8u * l.column, low, high); /* only the multiple of 8 matters */
    else
        mirrored(frame, r, l, low, high);
    uvec4 a = floatBitsToUint(level(low, black, gain)), b = floatBitsToUint(level(high, black, gain));
    store[l.to] = a.xy;
    store[l.to + 1u] = b.xy;
    store[l.to + ODD_PAIRS] = a.zw;
    store[l.to + ODD_PAIRS + 1u] = b.zw;
}

uvec2 texel_of(vec3 v)
{
    precise vec3 biased = min(v, MOST) + ROUND;
    precise float blue = biased.b - ROUND;
    return uvec2((floatBitsToUint(biased.r) & 0xffffu) | floatBitsToUint(biased.g) << 16, floatBitsToUint(blue));
}

vec4 four(uint at)
{
    return uintBitsToFloat(uvec4(store[at], store[at + ODD_PAIRS]));
}

/* A thread makes two rows of four pixels, and keeps them until all samples have been read. */
void make_texels(uint frame, tile_rect r)
{
    uint i = gl_LocalInvocationIndex, row = (i * r.by_columns >> 16) * 2u, column = i - (row >> 1) * r.columns;
    uint from = row * ROW_PAIRS + column + (uint(r.origin.x - 2) >> 2 & 1u), to = row * ISP_RECT_X + column;
    uvec2 texels[2][4];
    if (row < r.rows) {
        vec4 a[6], b[6]; /* columns 0..3 and 4..7, of which 2..5 are made */
        [[unroll]] for (uint k = 0u; k < 6u; k++) {
            a[k] = four(from + k * ROW_PAIRS);
            b[k] = four(from + k * ROW_PAIRS + 1u);
        }
        [[unroll]] for (uint j = 0u; j < 2u; j++) {
            vec4 near_a = a[j + 1u] + a[j + 3u], near_b = b[j + 1u] + b[j + 3u], here_a = a[j + 2u], here_b = b[j + 2u];
            vec4 c = vec4(here_a.zw, here_b.xy), we = vec4(here_a.yzw, here_b.x) + vec4(here_a.w, here_b.xyz), far_we = here_a + here_b;
            vec4 ns = vec4(near_a.zw, near_b.xy), corners = vec4(near_a.yzw, near_b.x) + vec4(near_a.w, near_b.xyz);
            vec4 far_ns = vec4(a[j].zw + a[j + 4u].zw, b[j].xy + b[j + 4u].xy);
            [[unroll]] for (uint k = 0u; k < 4u; k++)
                texels[j][k] = texel_of(demosaic(int(k & 1u) == RED_X, int(j) == RED_Y, c[k], ns[k], we[k], far_ns[k], far_we[k], corners[k]));
        }
        if (!r.inside) { /* black outside the picture */
            [[unroll]] for (uint n = 0u; n < 8u; n++) {
                ivec2 at = r.origin + ivec2(4u * column + (n & 3u), row + (n >> 2));
                if (uint(at.x) >= args[frame].width || uint(at.y) >= args[frame].height)
                    texels[n >> 2][n & 3u] = uvec2(0u);
            }
        }
    }
    barrier();
    if (row < r.rows) {
        [[unroll]] for (uint n = 0u; n < 8u; n++)
            store[to + (n >> 2) * ISP_RECT_X + (n & 3u) * ISP_RECT_QUARTER] = texels[n >> 2][n & 3u];
    }
    if (i < 2u) /* black, for entries that see nothing */
        store[ISP_TEXEL_BLACK + i * ISP_RECT_X] = uvec2(0u);
}

#define UNIT vec3(1.0, 1.0, 65536.0) /* of what it returns, in 65535ths */
vec3 colours(uvec2 t)
{
    return vec3(float(t.x & 0xffffu), float(t.x >> 16), uintBitsToFloat(t.y));
}

/* entry: of the map, isp_fuse.c. */
vec3 sampled(uint entry)
{
    uint left = entry >> 21, right = entry >> 10 & 0x7ffu;
    if (SAMPLING == ISP_SAMPLE_NONE)
        return colours(store[left]);
    float x = uintBitsToFloat(0x4b000000u | (entry & 0x1fu)) * (1.0 / 32.0) - 262144.0;
    float y = uintBitsToFloat(0x4b000000u | (entry & 0x3e0u)) * (1.0 / 1024.0) - 8192.0;
    float both = x * y;
    return colours(store[left]) * (1.0 - x - y + both) + colours(store[right]) * (x - both) +
           colours(store[left + ISP_RECT_X]) * (y - both) + colours(store[right + ISP_RECT_X]) * both;
}

uint entry_of(ivec2 p)
{
    return (uint(p.y) * ISP_RECT_X + (uint(p.x) >> 2) + (uint(p.x) & 3u) * ISP_RECT_QUARTER) << 21;
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.x * ISP_FUSED_FRAMES, end = min(frame + ISP_FUSED_FRAMES, end_frame);
    tile_rect r = find_rect(frame);
    load first = find_load(r, gl_LocalInvocationIndex), second = find_load(r, gl_LocalInvocationIndex + THREADS);
    words_8 next = ask(frame, r, first);
    uvec2 cell = uvec2(gl_LocalInvocationIndex % (ISP_FUSED_X / 2u), gl_LocalInvocationIndex / (ISP_FUSED_X / 2u));
    ivec2 at = ivec2(gl_WorkGroupID.yz) * ivec2(ISP_FUSED_X, ISP_FUSED_Y) + 2 * ivec2(cell);
    uvec2 upper, lower;
    if (SAMPLING == ISP_SAMPLE_NONE) {
        ivec2 p = at + ivec2(args[frame].region_x, args[frame].region_y) - r.origin;
        upper = uvec2(entry_of(p), entry_of(p + ivec2(1, 0)));
        lower = uvec2(entry_of(p + ivec2(0, 1)), entry_of(p + ivec2(1, 1)));
    } else {
        uint entry = (args[frame].map + uint(at.y) * args[frame].map_stride + uint(at.x)) >> 1;
        upper = pairs[entry];
        lower = pairs[entry + (args[frame].map_stride >> 1)];
    }
    bool seen = at.x < int(args[frame].out_width) && at.y < int(args[frame].out_height);
    [[dont_unroll]] for (; frame < end; frame++) {
        put_samples(frame, r, first, next);
        put_samples(frame, r, second, ask(frame, r, second));
        if (frame + 1u < end) /* while this one is made */
            next = ask(frame + 1u, r, first);
        barrier();
        make_texels(frame, r);
        barrier();
        if (seen) {
            vec3 a = toned(sampled(upper.x), UNIT, frame), b = toned(sampled(upper.y), UNIT, frame);
            vec3 c = toned(sampled(lower.x), UNIT, frame), d = toned(sampled(lower.y), UNIT, frame);
            if (gl_WorkGroupID.yz == uvec2(0u)) {
                DEBUG_ONE(DEBUG_GAIN, frame, args[frame].gain[0]);
                DEBUG_ONE(DEBUG_RED, frame, a.r);
            }
            store_cell(at, frame, a, b, c, d);
        }
        barrier();
    }
}
