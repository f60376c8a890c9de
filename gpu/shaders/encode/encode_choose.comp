/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Partitions, references, and inter against intra, by SATD and bits
 * (encode/reference/choose_inter.c). 16 threads have a shape, each a block of 4x4 samples; then
 * they have another shape.
 * Shapes that gain little by the costs of the search are left out. Grid: macroblocks in x, pictures
 * in z.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#define SEARCH_THREADS 32
#include "gpu/shaders/lib/encode_search.glsl"
#include "gpu/shaders/lib/encode_satd.glsl"
#define FIELD_OF_SEARCH
#include "gpu/shaders/lib/encode_motion.glsl"

layout(set = 0, binding = ENC_BIND_INTRA, scalar) readonly buffer intra_buffer
{
    enc_intra intra[];
};
/* Partitions of a shape in part_places, and bits of mb_type (and sub_mb_type) */
const uvec3 shapes[4] = uvec3[4](uvec3(0, 1, 1), uvec3(1, 2, 3), uvec3(3, 2, 3), uvec3(5, 4, 9));

#define INTRA_BITS 40u
/* Intra16x16 may cost this share more than inter prediction. */
#define WHOLE_SHARE 8u
/* P_Skip whose SATD is worth fewer bits is taken at once. */
#define SKIP_BITS 30u
/* A shape of several partitions gains more than this by the search, or is left out. */
#define GAIN_BITS 6u

/* of shapes; sums take turns: one is added to, the next one is cleared, the one before is read */
shared uint sums[3][2], shape_costs[4];
shared enc_found founds[ENC_REFERENCES][ENC_PARTS];
shared uint parts_tried[2]; /* the most of a shape that is tried, of those at the same time */
/* The motion of shapes */
shared ivec2 shape_mv[4][4];
shared int shape_ref[4][4];

struct part_choice {
    uint cost;
    int ref;
    ivec2 mv;
};

uint turn = 0u; /* which sums are clear */

uvec4 own_source; /* the thread's block of the source */

ivec2 own_block()
{
    return ivec2(gl_LocalInvocationIndex & 3u, gl_LocalInvocationIndex >> 2 & 3u);
}

void source_load()
{
    ivec2 at = 16 * mb_at + 4 * own_block();
    int from =
        int(plane_origin(pictures[picture].source, 0u)) + at.y * int(plane_stride(0u)) + at.x >> 2;
    [[unroll]] for (int y = 0; y < 4; y++)
        own_source[y] = plane_words[from + y * int(plane_stride(0u)) / 4];
}

/* What the search has found, before a barrier */
void founds_load()
{
    uint t = gl_LocalInvocationIndex, count = pictures[picture].ref_count;
    for (uint i = t; i < count * ENC_PARTS; i += SEARCH_THREADS) {
        reference = i / ENC_PARTS;
        founds[i / ENC_PARTS][i % ENC_PARTS] = search[search_at(mb)].part[i % ENC_PARTS];
    }
    if (t < 2u)
        parts_tried[t] = 1u - t;
}

/* What a shape costs by the search, without vectors */
uint shape_found(uvec3 shape)
{
    uint cost = pictures[picture].lambda * shape.z / 16u;
    for (uint i = 0u; i < shape.y; i++) {
        uint best = NO_COST;
        for (uint ref = 0u; ref < pictures[picture].ref_count; ref++)
            best = min(best, founds[ref][shape.x + i].cost);
        cost += best;
    }
    return cost;
}

/* After the barrier, and before another one. round: of two, of the shape */
bool shape_is_tried(uvec3 shape, uint round)
{
    bool tried = shape.x == 0u || shape_found(shape) + pictures[picture].lambda * GAIN_BITS / 16u <
                                      shape_found(shapes[0]);
    if (tried && (gl_LocalInvocationIndex & 15u) == 0u)
        atomicMax(parts_tried[round], shape.y);
    return tried;
}

/* SATD of a partition by a vector: the sum of the threads that count. All threads of the workgroup
 * together. shape: whose sum is returned */
uint shape_satd(bool counts, uint ref, ivec4 place, ivec2 mv, uint shape)
{
    uint t = gl_LocalInvocationIndex, now = turn;
    ivec2 block = own_block();
    bool inside = all(greaterThanEqual(block, 2 * place.xy)) &&
                  all(lessThan(block, 2 * (place.xy + place.zw)));
    turn = (now + 1u) % 3u;
    if ((t & 15u) == 0u)
        sums[turn][t >> 4] = 0u;
    if (counts && inside)
        atomicAdd(
            sums[now][t >> 4],
            satd4_of(own_source, predict4x4(two_samples_at(uint(pictures[picture].reference[ref]),
                                                           4 * (16 * mb_at + 4 * block) + mv))));
    barrier();
    return sums[now][shape];
}

void part_try(uint ref, ivec2 mv, ivec2 predicted, uint satd, inout part_choice best)
{
    uint cost =
        satd + pictures[picture].lambda * (vector_bits(mv, predicted) + ref_bits(ref)) / 16u;
    if (cost < best.cost)
        best = part_choice(cost, int(ref), mv);
}

/* The vector that was found, and the predicted one. counts: as above */
part_choice choose_part(bool counts, uint part)
{
    part_choice best = part_choice(NO_COST, 0, ivec2(0));
    for (uint ref = 0u; ref < pictures[picture].ref_count; ref++) {
        uint found_satd = NO_COST;
        ivec2 mv = ivec2(0), predicted = ivec2(0);
        bool other = false;
        if (counts) { /* whole groups of threads leave it out */
            enc_found found = founds[ref][part];
            mv = ivec2(found.mv[0], found.mv[1]);
            found_satd = found.cost;
            predicted = predict_vector(part_places[part], int(ref));
            other = predicted != mv && allowed(predicted);
        }
        uint satd =
            shape_satd(other, ref, part_places[part], predicted, gl_LocalInvocationIndex >> 4);
        if (!counts)
            continue;
        part_try(ref, mv, predicted, found_satd, best);
        if (other)
            part_try(ref, predicted, predicted, satd, best);
    }
    return best;
}

/* P_Skip: its vector costs no bits. */
uint choose_skip(ivec2 mv)
{
    bool counts = allowed(mv);
    uint satd = shape_satd(counts && gl_LocalInvocationIndex < 16u, 0u, part_places[0], mv, 0u);
    return counts ? satd : NO_COST;
}

/* Each 16 threads theirs, if it is tried */
void choose_shape(uint i, bool tried, uint most)
{
    uvec3 shape = shapes[i];
    uint cost = pictures[picture].lambda * shape.z / 16u;
    own_clear();
    for (uint k = 0u; k < most; k++) {
        uint part = min(shape.x + k, ENC_PARTS - 1u);
        bool counts = k < shape.y && tried;
        part_choice best = choose_part(counts, part);
        if (counts) {
            own_set(part_places[part], best.ref, best.mv);
            cost += best.cost;
        }
    }
    if ((gl_LocalInvocationIndex & 15u) != 0u)
        return;
    shape_costs[i] = tried ? cost : NO_COST;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        shape_mv[i][q] = own_mv[q];
        shape_ref[i][q] = own_ref[q];
    }
}

/* The best shape; 4: none is better than `best` */
uint choose_best(inout uint best)
{
    uint t = gl_LocalInvocationIndex, chosen = 4u;
    bvec2 tried;
    for (uint round = 0u; round < 2u; round++)
        tried[round] = shape_is_tried(shapes[2u * round + (t >> 4)], round);
    barrier();
    [[dont_unroll]] for (uint round = 0u; round < 2u; round++)
        choose_shape(2u * round + (t >> 4), tried[round], parts_tried[round]);
    barrier();
    for (uint i = 0u; i < 4u; i++)
        if (shape_costs[i] < best) {
            best = shape_costs[i];
            chosen = i;
        }
    return chosen;
}

/* Is intra prediction the better one? inter: what inter prediction costs */
bool intra_wins(uint at, uint kind, uint inter)
{
    if (intra[at].cost == NO_COST)
        return false;
    if (kind == REC_MB_INTRA_16X16)
        inter += inter / WHOLE_SHARE;
    return intra[at].kind_cost[kind] + pictures[picture].lambda * INTRA_BITS / 16u < inter;
}

void main()
{
    uint t = gl_LocalInvocationIndex, at;
    if (!search_begin())
        return;
    at = record_at(mb);
    if (t < 2u)
        sums[0][t] = 0u;
    source_load();
    founds_load();
    around_load();
    own_clear();
    ivec2 skip_mv = predict_skip();
    uint best = choose_skip(skip_mv), chosen = 4u;
    bool is_intra = false;
    if (best >= pictures[picture].lambda * SKIP_BITS / 16u) {
        chosen = choose_best(best);
        is_intra = intra_wins(at, uint(intra[at].kind), best);
    }
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        own_mv[q] = is_intra ? ivec2(0) : chosen == 4u ? skip_mv : shape_mv[chosen & 3u][q];
        own_ref[q] = is_intra ? -1 : chosen == 4u ? 0 : shape_ref[chosen & 3u][q];
    }
    own_store(1u - FIELD, t);
    if (t == 0u)
        mbs[at].kind = uint8_t(is_intra ? uint(intra[at].kind) : REC_MB_INTER);
}
