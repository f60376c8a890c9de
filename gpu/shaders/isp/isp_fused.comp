/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Raw samples to the picture in one pass: the work of isp_develop and isp_finish, without defect
 * clamp. A workgroup makes a tile of the picture. The host knows the rectangle of the sensor that
 * the tile needs (isp_fuse.c). First its samples go to shared memory, levelled. Then its pixels get
 * all three colours. Last, sampling these undoes the lens.
 *
 * Samples are in 1/65536, so clamp(v, 0, 1) is free with the addition before it. All sums are of
 * whole numbers of at most 22 bits, so floats are exact. Adding 128 rounds to 16 bits after the
 * binary point, ties to even. The result stands in the low bits of the float.
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
#define MOST         (65535.0 / 65536.0)
#define OUTPUT_STANDARD
#define FULL_RANGE ((RECT >> 24 & 1u) != 0u)
#define BT601      ((RECT >> 25 & 1u) != 0u)
/* The largest rectangle of all tiles: columns, rows << 8, loads in a row << 16. Full range << 24,
 * BT.601 << 25. */
layout(constant_id = 7) const uint RECT = 0u;
#include "gpu/shaders/lib/isp_output.glsl"
#include "gpu/shaders/lib/isp_demosaic.glsl"

layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_pairs
{
    uvec2 pairs[];
};
layout(set = ISP_SET_CAMERA, binding = 0, scalar) readonly restrict buffer table_quads
{
    uvec4 quads[];
};

#define ROUND 128.0
#define HALF  ((RECT & 0xffu) >> 1)
#define FIRST (HALF + 1u) /* behind a black texel, and one under it */
#define ROWS  (RECT >> 8 & 0xffu)
#define LOADS (RECT >> 16 & 0xffu)

/* First samples, in pairs. Then texels in the same place: red, blue; green as a float; those of
 * even columns before those of odd ones, as neighbouring threads look at about every second one. So
 * few of them meet in the banks. */
#define SAMPLE_PITCH (4u * LOADS + 1u)
const uint SAMPLES = SAMPLE_PITCH * (ROWS + 4u);
const uint ODD = HALF * ROWS;
const uint STORE = FIRST + HALF + (SAMPLES > 2u * ODD ? SAMPLES : 2u * ODD);
shared uvec2 store[STORE];
const bool TWICE = LOADS * (ROWS + 4u) > THREADS;

struct tile_rect {
    ivec2 origin;             /* even */
    uint columns, rows;       /* of pairs; of pixels, a multiple of 4 */
    uint by_strips, by_loads; /* 65536 / (rows / 4) and 65536 / loads, rounded up: for divisions */
    uint loads;               /* of 8 samples in a row; the first starts at a multiple of 8 */
    bool inside;              /* all its samples are in the picture */
};

tile_rect find_rect()
{
    uvec4 q =
        quads[(CAMERA.map_base >> 2) + gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y];
    tile_rect r;
    r.origin = ivec2(int(q.x << 16) >> 16, int(q.x) >> 16);
    r.columns = q.y & 0xffu;
    r.loads = q.y >> 8 & 0xffu;
    r.rows = q.y >> 16;
    r.by_strips = q.z;
    r.by_loads = q.w;
    ivec2 first = (r.origin - 2) & ivec2(~7, ~0), end = first + ivec2(8u * r.loads, r.rows + 4u);
    r.inside = all(greaterThanEqual(first, ivec2(0))) && end.x <= int(CAMERA.width) &&
               end.y <= int(CAMERA.height);
    return r;
}

/* value, black: with the mantissa's bias on top; gain: of 0..1. Where fma is two operations, the
 * last of 16 bits may differ by 1. */
vec4 level(vec4 value, vec2 black, vec2 gain)
{
    vec4 above = value - black.xyxy;
    precise vec4 biased = fma(clamp(above * gain.xyxy, 0.0, 1.0), vec4(MOST), vec4(ROUND));
    precise vec4 whole = biased - ROUND;
    return whole;
}

/* Eight samples in a row that a thread loads. */
struct load {
    uint row, column, from, to; /* from: words from the frame's first */
    bool any;
};

load find_load(tile_rect r, uint i)
{
    uint row = i * r.by_loads >> 16, column = i - row * r.loads;
    uint x = (uint(r.origin.x - 2) & ~7u) + 8u * column, y = uint(r.origin.y - 2) + row;
    return load(row, column, y * CAMERA.raw_stride + word_8(x),
                FIRST + row * SAMPLE_PITCH + 4u * column, i < r.loads * (r.rows + 4u));
}

words_8 ask(uint frame, tile_rect r, load l)
{
    words_8 w = words_8(uvec3(0u), uvec3(0u));
    if (l.any && r.inside)
        w = fetch_8_at(args[frame].raw + l.from, (uint(r.origin.x - 2) & ~7u) + 8u * l.column);
    return w;
}

/* At the picture's border, one by one */
void mirrored(uint frame, tile_rect r, load l, out vec4 low, out vec4 high)
{
    ivec2 at = ((r.origin - 2) & ivec2(~7, ~0)) + ivec2(8u * l.column, l.row);
    uint from = args[frame].raw + uint(mirror(at.y, int(CAMERA.height))) * CAMERA.raw_stride;
    [[dont_unroll]] for (int k = 0; k < 4; k++) {
        low[k] = uintBitsToFloat(0x4b000000u | one(from, at.x + k, int(CAMERA.width)));
        high[k] = uintBitsToFloat(0x4b000000u | one(from, at.x + 4 + k, int(CAMERA.width)));
    }
}

void put_samples(uint frame, tile_rect r, load l, words_8 w)
{
    uint lower = (l.row & 1u) * 2u;
    vec2 black = vec2(CAMERA.black[lower], CAMERA.black[lower + 1u]) + MAGIC;
    vec2 gain = vec2(args[frame].gain[lower], args[frame].gain[lower + 1u]) * (1.0 / 65535.0);
    vec4 low, high;
    if (!l.any)
        return;
    if (r.inside)
        unpack_8(w, (uint(r.origin.x - 2) & ~7u) + 8u * l.column, low, high);
    else
        mirrored(frame, r, l, low, high);
    uvec4 a = floatBitsToUint(level(low, black, gain)),
          b = floatBitsToUint(level(high, black, gain));
    store[l.to] = a.xy;
    store[l.to + 1u] = a.zw;
    store[l.to + 2u] = b.xy;
    store[l.to + 3u] = b.zw;
}

/* own: green is the sample itself. What red's bits have above 16 is taken off blue's in advance. */
uvec2 texel_of(vec3 v, bool own)
{
    const float above = 1.0 - 67.0 / 256.0; /* 0x4300 of ROUND's bits */
    precise vec3 biased = v + vec3(ROUND, ROUND, ROUND + above);
    precise float green = own ? v.g * 65536.0 : fma(biased.g, 65536.0, -65536.0 * ROUND);
    return uvec2(floatBitsToUint(biased.r) + (floatBitsToUint(biased.b) << 16),
                 floatBitsToUint(green));
}

vec2 pair_at(uint at)
{
    return uintBitsToFloat(store[at]);
}

/* A thread's texels that are outside the picture */
void blacken(tile_rect r, uvec2 first, uint to)
{
    [[dont_unroll]] for (uint n = 0u; n < 8u; n++) {
        ivec2 at = r.origin + ivec2(first) + ivec2(n & 1u, n >> 1);
        if (uint(at.x) >= CAMERA.width || uint(at.y) >= CAMERA.height)
            store[to + (n >> 1) * HALF + (n & 1u) * ODD] = uvec2(0u);
    }
}

/* A thread makes four rows of two pixels, and keeps them until all samples have been read. */
void make_texels(uint frame, tile_rect r)
{
    /* Sixteen columns to sixteen threads, which then meet nowhere; what is right of these to the
     * last ones. That is about five of eight subgroups: not the same for each frame, as each is
     * bound to one of four schedulers. */
    uint i = (gl_LocalInvocationIndex + 32u * frame) % THREADS, rest = i - 4u * r.rows,
         beyond = rest * r.by_strips >> 16;
    uint column = i < 4u * r.rows ? i & 15u : 16u + beyond,
         row = i < 4u * r.rows ? i >> 4 << 2 : 4u * rest - beyond * r.rows;
    uint from = FIRST + row * SAMPLE_PITCH + column + (uint(r.origin.x - 2) >> 1 & 3u),
         to = FIRST + row * HALF + column;
    bool any = column < r.columns;
    uvec2 texels[4][2];
    if (any) {
        vec2 here[8], we[8], far_we[8]; /* sums along the row */
        [[unroll]] for (uint k = 0u; k < 8u; k++) {
            vec2 left = pair_at(from + k * SAMPLE_PITCH),
                 right = pair_at(from + k * SAMPLE_PITCH + 2u);
            here[k] = pair_at(from + k * SAMPLE_PITCH + 1u);
            we[k] = vec2(left.y + here[k].y, here[k].x + right.x);
            far_we[k] = left + right;
        }
        [[unroll]] for (uint j = 0u; j < 4u; j++) {
            vec2 ns = here[j + 1u] + here[j + 3u], far_ns = here[j] + here[j + 4u],
                 corners = we[j + 1u] + we[j + 3u];
            [[unroll]] for (uint k = 0u; k < 2u; k++)
                texels[j][k] =
                    texel_of(demosaic(int(k) == RED_X, int(j & 1u) == RED_Y, here[j + 2u][k], ns[k],
                                      we[j + 2u][k], far_ns[k], far_we[j + 2u][k], corners[k]),
                             (int(k) == RED_X) != (int(j & 1u) == RED_Y));
        }
    }
    barrier();
    if (any) {
        [[unroll]] for (uint n = 0u; n < 8u; n++)
            store[to + (n >> 1) * HALF + (n & 1u) * ODD] = texels[n >> 1][n & 1u];
        if (SAMPLING != ISP_SAMPLE_NONE && !r.inside)
            blacken(r, uvec2(2u * column, row), to);
    }
}

/* Where a pixel looks: addresses of two texels, of an even and of an odd column, and weights of
 * these and the ones below, in 1024ths. */
struct look {
    uint even, odd;
    vec4 weights;
};

/* entry: of the map, isp_fuse.c */
look find_look(uint entry)
{
    float x = float(entry >> 16 & 0xffu), y = float(entry >> 24);
    float both = x * y, below = fma(y, 32.0, -both);
    return look((entry & 0x3ff8u) >> 3, (entry - 4u & 0x3ff8u) >> 3,
                vec4(fma(x, -32.0, 1024.0) - below, fma(x, 32.0, -both), below, both));
}

/* Of a texel: red; green; 65536 blue + red, whose last bits a float rounds away. */
vec3 parts(uint at)
{
    uvec2 t = store[at];
    return vec3(float(t.x & 0xffffu), uintBitsToFloat(t.y), float(t.x));
}

/* In 1024ths, less BELOW: where a curve's piece is to be found by rounding. Elsewhere sums must be
 * exact, as what lies just between two code values is common there: the mean of two whole ones. */
#define BELOW (MATRIX == 0u && CURVE != 0u ? float(ISP_FUSED_BELOW) : 0.0)
vec3 sampled(uint entry)
{
    look l = find_look(entry);
    vec3 begin = vec3(-BELOW, -BELOW, -65537.0 * BELOW);
    precise vec3 upper =
        fma(parts(l.odd + ODD), vec3(l.weights.y), fma(parts(l.even), vec3(l.weights.x), begin));
    precise vec3 v = fma(parts(l.odd + ODD + HALF), vec3(l.weights.w),
                         fma(parts(l.even + HALF), vec3(l.weights.z), upper));
    return vec3(v.rg, (v.b - v.r) * (1.0 / 65536.0));
}

/* v: as sampled */
float sampled_curve(float v)
{
    precise float piece = fma(v, 1.0 / 65535.0, 12582912.0); /* 1.5 * 2^23 */
    vec2 line = lines[floatBitsToUint(piece) - 0x4b400000u];
    return fma(v, line.y, line.x);
}

vec3 sampled_toned(uint entry)
{
    const float unit = 1.0 / (1024.0 * 65535.0);
    vec3 v = sampled(entry);
    if (MATRIX != 0u)
        return toned(v, vec3(1.0 / 1024.0));
    if (CURVE == 0u)
        return v * unit;
    return vec3(sampled_curve(v.r), sampled_curve(v.g), sampled_curve(v.b));
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
    if (SAMPLING != ISP_SAMPLE_NONE)
        return sampled_toned(where);
    return MATRIX == 0u ? curved(plain(where), 1.0 / 65535.0) : toned(plain(where), vec3(1.0));
}

void main()
{
    uint frame = first_frame + gl_WorkGroupID.x * ISP_FUSED_FRAMES,
         end = min(frame + ISP_FUSED_FRAMES, end_frame);
    tile_rect r = find_rect();
    load first = find_load(r, gl_LocalInvocationIndex),
         second = find_load(r, gl_LocalInvocationIndex + THREADS);
    words_8 next = ask(frame, r, first);
    uvec2 cell = uvec2(gl_LocalInvocationIndex % (ISP_FUSED_X / 2u),
                       gl_LocalInvocationIndex / (ISP_FUSED_X / 2u));
    ivec2 at = ivec2(gl_WorkGroupID.yz) * ivec2(ISP_FUSED_X, ISP_FUSED_Y) + 2 * ivec2(cell);
    uvec4 where;
    if (SAMPLING == ISP_SAMPLE_NONE) {
        uvec2 p = uvec2(at + ivec2(CAMERA.region_x, CAMERA.region_y) - r.origin);
        where = uvec4(address(p), address(p + uvec2(1u, 0u)), address(p + uvec2(0u, 1u)),
                      address(p + uvec2(1u, 1u)));
    } else {
        uint entry = (CAMERA.map + uint(at.y) * CAMERA.map_stride + uint(at.x)) >> 1;
        where = uvec4(pairs[entry], pairs[entry + (CAMERA.map_stride >> 1)]);
    }
    [[unroll]] for (uint i = gl_LocalInvocationIndex; i < STORE;
                    i += THREADS) /* black, and what has no weight must be a number */
        store[i] = uvec2(0u);
    barrier();
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
