/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the searches in whole samples (encode/reference/search_motion.c): a workgroup has a
 * macroblock and a reference. In passes that do little with each it has SEARCH_MBS macroblocks,
 * each of them MB_THREADS threads.
 */
#ifndef PELTON_ENCODE_SEARCH_GLSL
#define PELTON_ENCODE_SEARCH_GLSL

#include "gpu/shaders/lib/encode_common.glsl"

#ifndef SEARCH_THREADS
#define SEARCH_THREADS 64
#endif
#ifndef SEARCH_MBS
#define SEARCH_MBS 1
#endif
#define MB_THREADS (SEARCH_THREADS / SEARCH_MBS)
#define NO_COST    0xffffffffu

layout(local_size_x = SEARCH_THREADS) in;

layout(set = 0, binding = ENC_BIND_PLANES, scalar) readonly buffer plane_buffer
{
    uint8_t planes[];
};
layout(set = 0, binding = ENC_BIND_PLANES, scalar) readonly buffer plane_word_buffer
{
    uint plane_words[];
};
layout(set = 0, binding = ENC_BIND_SEARCH, scalar) buffer search_buffer
{
    enc_search search[];
};

/* Quadrants of a partition, a bit each */
const uint part_quadrants[ENC_PARTS] = uint[ENC_PARTS](15u, 3u, 12u, 5u, 10u, 1u, 2u, 4u, 8u);

shared uint keys[2]; /* of least */

/* What the workgroup searches, the same in all threads */
uint picture, reference, mb;
ivec2 mb_at;

/* The thread's number in its macroblock, and the macroblock's in the workgroup */
uint mb_thread()
{
    return gl_LocalInvocationIndex % MB_THREADS;
}

uint mb_here()
{
    return SEARCH_MBS > 1 ? gl_LocalInvocationIndex / MB_THREADS : 0u;
}

/* Grid: macroblocks in x, references in y, pictures in z. With SEARCH_MBS the last workgroup may
 * have some that are not there: see mb_is_there. */
bool search_begin()
{
    picture = gl_WorkGroupID.z;
    reference = gl_WorkGroupID.y;
    mb = gl_WorkGroupID.x * SEARCH_MBS + mb_here();
    mb_at = ivec2(mb % args.mb_width, mb / args.mb_width);
    return reference < pictures[picture].ref_count;
}

bool mb_is_there()
{
    return SEARCH_MBS == 1 || mb < args.mb_width * args.mb_height;
}

/* The results of a macroblock in this reference */
uint search_at(uint address)
{
    return (picture * ENC_REFERENCES + reference) * args.mb_width * args.mb_height + address;
}

/* In quarter samples: PLANE_REACH around the picture, and the level's limits */
bool allowed(ivec2 mv)
{
    ivec2 most = ivec2(pictures[picture].mv_max[0], pictures[picture].mv_max[1]);
    ivec2 low = max(-64 * mb_at - 4 * ENC_REACH, -most - 1);
    ivec2 last = ivec2(args.mb_width, args.mb_height) - 1;
    ivec2 high = min(64 * (last - mb_at) + 4 * ENC_REACH, most);
    return all(greaterThanEqual(mv, low)) && all(lessThanEqual(mv, high));
}

/* Length of se(v) */
uint se_bits(int v)
{
    uint code = v > 0 ? 2u * uint(v) - 1u : 2u * uint(-v);
    return 2u * uint(findMSB(code + 1u)) + 1u;
}

uint vector_cost(ivec2 mv, ivec2 predicted)
{
    return pictures[picture].lambda * (se_bits(mv.x - predicted.x) + se_bits(mv.y - predicted.y)) /
           16u;
}

/* Candidates of the half and of the full size that cost less have no window. */
bool is_near(uint cost)
{
    return cost < pictures[picture].lambda * 50u / 16u;
}

/* Four samples of two words, from bit `shift` on */
uint joined(uint low, uint high, uint shift)
{
    return low >> shift | high << 1u << 31u - shift;
}

/* Bits of a word before the sample at a place */
uint shift_of(int at)
{
    return 8u * uint(at & 3);
}

/* Four samples from any place on, the first in the lowest byte */
uint four_samples(int at)
{
    return joined(plane_words[at >> 2], plane_words[(at >> 2) + 1], shift_of(at));
}

/* The least cost of all threads, and its order where several have it. It counts once a workgroup
 * and `turn`, whose key is NO_COST before. Costs are below 2^26. */
uvec2 least(uint turn, uint cost, uint order)
{
    if (cost != NO_COST)
        atomicMin(keys[turn], cost << 6 | order);
    barrier();
    return uvec2(keys[turn] >> 6, keys[turn] & 63u);
}

/* The macroblock itself and those beside it in the picture: address, or NO_COST */
uint beside(uint i)
{
    const ivec2 steps[5] =
        ivec2[5](ivec2(0, 0), ivec2(-1, 0), ivec2(1, 0), ivec2(0, -1), ivec2(0, 1));
    ivec2 at = mb_at + steps[i];
    if (any(lessThan(at, ivec2(0))) || at.x >= int(args.mb_width) || at.y >= int(args.mb_height))
        return NO_COST;
    return uint(at.y) * args.mb_width + uint(at.x);
}

#endif
