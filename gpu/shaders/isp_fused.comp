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

#define THREADS ISP_FUSED_THREADS
layout(local_size_x = ISP_FUSED_THREADS) in;

layout(constant_id = 2) const uint SAMPLING = ISP_SAMPLE_NONE;
layout(constant_id = 3) const uint DEMOSAIC = 0u;
#define OUTPUT_FIRST 4
#define MOST (65535.0 / 65536.0)
#define OUTPUT_STANDARD
#define FULL_RANGE ((RECT >> 24 & 1u) != 0u)
#define BT601 ((RECT >> 25 & 1u) != 0u)
/* The largest rectangle of all tiles: columns, rows << 8, loads in a row << 16. Full range << 24, BT.601 << 25. */
layout(constant_id = 7) const uint RECT = 0u;
#include "gpu/shaders/lib/isp_output.glsl"
#include "gpu/shaders/lib/isp_demosaic.glsl"

layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_pairs { uvec2 pairs[]; };
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_quads { uvec4 quads[]; };

#define ROUND 128.0
#define HALF ((RECT & 0xffu) >> 1)
#define FIRST (HALF + 1u) /* behind a black texel, and one under it */
#define ROWS (RECT >> 8 & 0xffu)
#define LOADS (RECT >> 16 & 0xffu)

/* First samples, in pairs. Then texels in the same place: red, blue; green as a float; those of even columns before those of odd ones,
 * as neighbouring threads look at about every second one. So few of them meet in the banks. */
#define SAMPLE_PITCH (4u * LOADS + 1u)
const uint SAMPLES = SAMPLE_PITCH * (ROWS + 4u);
const uint ODD = HALF * ROWS;
shared uvec2 store[FIRST + (SAMPLES > 2u * ODD ? SAMPLES : 2u * ODD)];
const bool TWICE = LOADS * (ROWS + 4u) > THREADS;

struct tile_rect {
    ivec2 origin;              /* even */
    uint columns, rows;        /* of pairs; of pixels, a multiple of 4 */
    uint by_strips, by_loads;  /* 65536 / (rows / 4) and 65536 / loads, rounded up: for divisions */
    uint loads;                /* of 8 samples in a row; the first starts at a multiple of 8 */
    bool inside;               /* all its samples are in the picture */
};

tile_rect find_rect()
{
    uvec4 q = quads[(CAMERA.map_base >> 2) + gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y];
    tile_rect r;
    r.origin = ivec2(int(q.x << 16) >> 16, int(q.x) >> 16);
    r.columns = q.y & 0xffu;
    r.loads = q.y >> 8 & 0xffu;
    r.rows = q.y >> 16;
    r.by_strips = q.z;
    r.by_loads = q.w;
    ivec2 first = (r.origin - 2) & ivec2(~7, ~0), end = first + ivec2(8u * r.loads, r.rows + 4u);
    r.inside = all(greaterThanEqual(first, ivec2(0))) && end.x <= int(CAMERA.width) && end.y <= int(CAMERA.height);
    return r;
}

/* black: with the mantissa's bias on top; gain: of 0..1. Where fma is two operations, the last of 16 bits may differ by 1. */
vec4 level(uvec4 value, vec2 black, vec2 gain)
{
    vec4 above = uintBitsToFloat(0x4b000000u | value) - black.xyxy;
    precise vec4 biased = fma(clamp(above * gain.xyxy, 0.0, 1.0), vec4(MOST), vec4(ROUND));
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
    return load(row, column, FIRST + row * SAMPLE_PITCH + 4u * column, i < r.loads * (r.rows + 4u));
}

words_8 ask(uint frame, tile_rect r, load l)
{
    ivec2 origin = (r.origin - 2) & ivec2(~7, ~0);
    words_8 w = words_8(uvec3(0u), uvec3(0u));
    if (l.any && r.inside)
        w = fetch_8(args[frame].raw + (uint(origin.y) + l.row) * CAMERA.raw_stride, uint(origin.x) + 8u * l.column);
    return w;
}

/* At the picture's border, one by one */
void mirrored(uint frame, tile_rect r, load l, out uvec4 low, out uvec4 high)
{
    ivec2 at = ((r.origin - 2) & ivec2(~7, ~0)) + ivec2(8u * l.column, l.row);
    uint from = args[frame].raw + uint(mirror(at.y, int(CAMERA.height))) * CAMERA.raw_stride;
    [[dont_unroll]] for (int k = 0; k < 4; k++) {
        low[k] = one(from, at.x + k, int(CAMERA.width));
        high[k] = one(from, at.x + 4 + k, int(CAMERA.width));
    }
}

void put_samples(uint frame, tile_rect r, load l, words_8 w)
{
    bool lower = (l.row & 1u) != 0u;
    vec2 black = (lower ? vec2(CAMERA.black[2], CAMERA.black[3]) : vec2(CAMERA.black[0], CAMERA.black[1])) + MAGIC;
    vec2 gain = (lower ? vec2(args[frame].gain[2], args[frame].gain[3]) : vec2(args[frame].gain[0], args[frame].gain[1])) * (1.0 / 65535.0);
    uvec4 low, high;
    if (!l.any)
        return;
    if (r.inside)
        unpack_8(w, (uint(r.origin.x - 2) & ~7u) + 8u * l.column, low, high);
    else
        mirrored(frame, r, l, low, high);
    uvec4 a = floatBitsToUint(level(low, black, gain)), b = floatBitsToUint(level(high, black, gain));
    store[l.to] = a.xy;
    store[l.to + 1u] = a.zw;
    store[l.to + 2u] = b.xy;
    store[l.to + 3u] = b.zw;
}

uvec2 texel_of(vec3 v)
{
    precise vec3 biased = v + ROUND;
    precise float green = fma(biased.g, 65536.0, -65536.0 * ROUND);
    return uvec2((floatBitsToUint(biased.r) & 0xffffu) | floatBitsToUint(biased.b) << 16, floatBitsToUint(green));
}

vec2 pair_at(uint at)
{
    return uintBitsToFloat(store[at]);
}

/* A thread makes four rows of two pixels, and keeps them until all samples have been read. */
void make_texels(uint frame, tile_rect r)
{
    /* Sixteen columns to sixteen threads, which then meet nowhere; what is right of these to the last ones */
    uint i = gl_LocalInvocationIndex, rest = i - 4u * r.rows, beyond = rest * r.by_strips >> 16;
    uint column = i < 4u * r.rows ? i & 15u : 16u + beyond, row = i < 4u * r.rows ? i >> 4 << 2 : 4u * rest - beyond * r.rows;
    uint from = FIRST + row * SAMPLE_PITCH + column + (uint(r.origin.x - 2) >> 1 & 3u), to = FIRST + row * HALF + column;
    bool any = column < r.columns;
    uvec2 texels[4][2];
    if (any) {
        vec2 here[8], we[8], far_we[8]; /* sums along the row */
        [[unroll]] for (uint k = 0u; k < 8u; k++) {
            vec2 left = pair_at(from + k * SAMPLE_PITCH), right = pair_at(from + k * SAMPLE_PITCH + 2u);
            here[k] = pair_at(from + k * SAMPLE_PITCH + 1u);
            we[k] = vec2(left.y + here[k].y, here[k].x + right.x);
            far_we[k] = left + right;
        }
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            vec2 ns = here[j + 1u] + here[j + 3u], far_ns = here[j] + here[j + 4u], corners = we[j + 1u] + we[j + 3u];
            [[unroll]] for (uint k = 0u; k < 2u; k++)
                texels[j][k] = texel_of(demosaic(int(k) == RED_X, int(j & 1u) == RED_Y, here[j + 2u][k], ns[k], we[j + 2u][k], far_ns[k], far_we[j + 2u][k], corners[k]));
        }
        if (!r.inside) { /* black outside the picture */
            [[unroll]] for (uint n = 0u; n < 8u; n++) {
                ivec2 at = r.origin + ivec2(2u * column + (n & 1u), row + (n >> 1));
                if (uint(at.x) >= CAMERA.width || uint(at.y) >= CAMERA.height)
                    texels[n >> 1][n & 1u] = uvec2(0u);
            }
        }
    }
    barrier();
    if (any) {
        [[unroll]] for (uint n = 0u; n < 8u; n++)
            store[to + (n >> 1) * HALF + (n & 1u) * ODD] = texels[n >> 1][n & 1u];
    }
}

/* Where a pixel looks: addresses of two texels, and weights of these and the ones below. */
struct look {
    uint left, right;
    vec4 weights;
};

/* entry: of the map, isp_fuse.c */
look find_look(uint entry)
{
    float x = uintBitsToFloat(0x4b000000u | (entry & 0x1fu)) * (1.0 / 32.0) - 262144.0;
    float y = uintBitsToFloat(0x4b000000u | (entry & 0x3e0u)) * (1.0 / 1024.0) - 8192.0;
    float both = x * y, below = y - both;
    return look(entry >> 21, entry >> 10 & 0x7ffu, vec4((1.0 - x) - below, x - both, below, both));
}

/* Of a texel: red; green; 65536 blue + red, whose last bits a float rounds away. */
vec3 parts(uint at)
{
    uvec2 t = store[at];
    return vec3(float(t.x & 0xffffu), uintBitsToFloat(t.y), float(t.x));
}

vec3 sampled(uint entry)
{
    look l = find_look(entry);
    precise vec3 upper = fma(parts(l.right), l.weights.yyy, parts(l.left) * l.weights.x); /* without blue, .b is exactly .r */
    precise vec3 v = fma(parts(l.right + HALF), l.weights.www, fma(parts(l.left + HALF), l.weights.zzz, upper));
    return vec3(v.rg, (v.b - v.r) * (1.0 / 65536.0));
}

vec3 plain(uint at)
{
    uvec2 t = store[at];
    return vec3(float(t.x & 0xffffu), uintBitsToFloat(t.y), float(t.x >> 16));
}

uint address(uvec2 p)
{
    return FIRST + p.y * HALF + (p.x >> 1) + (p.x & 1u) * ODD;
}

/* where: an entry of the map, or the address of its texel */
vec3 pixel(uint where)
{
    vec3 v = SAMPLING == ISP_SAMPLE_NONE ? plain(where) : sampled(where);
    return MATRIX == 0u ? curved(v, 1.0 / 65535.0) : toned(v, vec3(1.0));
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.x * ISP_FUSED_FRAMES, end = min(frame + ISP_FUSED_FRAMES, end_frame);
    tile_rect r = find_rect();
    load first = find_load(r, gl_LocalInvocationIndex), second = find_load(r, gl_LocalInvocationIndex + THREADS);
    words_8 next = ask(frame, r, first);
    uvec2 cell = uvec2(gl_LocalInvocationIndex % (ISP_FUSED_X / 2u), gl_LocalInvocationIndex / (ISP_FUSED_X / 2u));
    ivec2 at = ivec2(gl_WorkGroupID.yz) * ivec2(ISP_FUSED_X, ISP_FUSED_Y) + 2 * ivec2(cell);
    uvec4 where;
    if (SAMPLING == ISP_SAMPLE_NONE) {
        uvec2 p = uvec2(at + ivec2(CAMERA.region_x, CAMERA.region_y) - r.origin);
        where = uvec4(address(p), address(p + uvec2(1u, 0u)), address(p + uvec2(0u, 1u)), address(p + uvec2(1u, 1u)));
    } else {
        uint entry = (CAMERA.map + uint(at.y) * CAMERA.map_stride + uint(at.x)) >> 1;
        where = uvec4(pairs[entry], pairs[entry + (CAMERA.map_stride >> 1)]);
    }
    if (gl_LocalInvocationIndex < 2u)
        store[gl_LocalInvocationIndex * HALF] = uvec2(0u);
    bool seen = at.x < int(CAMERA.out_width) && at.y < int(CAMERA.out_height);
    [[dont_unroll]] for (; frame < end; frame++) {
        put_samples(frame, r, first, next);
        if (TWICE)
            put_samples(frame, r, second, ask(frame, r, second));
        if (frame + 1u < end) /* while this one is made */
            next = ask(frame + 1u, r, first);
        barrier();
        make_texels(frame, r);
        barrier();
        if (seen) {
            vec3 a = pixel(where.x), b = pixel(where.y), c = pixel(where.z), d = pixel(where.w);
            if (gl_WorkGroupID.yz == uvec2(0u)) {
                DEBUG_ONE(DEBUG_GAIN, frame, args[frame].gain[0]);
                DEBUG_ONE(DEBUG_RED, frame, a.r);
            }
            store_cell(at, frame, a, b, c, d);
        }
        barrier();
    }
}
