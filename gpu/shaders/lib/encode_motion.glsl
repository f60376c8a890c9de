/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prediction of vectors from a field (encode/reference/motion_predict.c). Vectors inside a quadrant
 * agree. A picture has two fields: a round reads one and writes the other. FIELD_OF_SEARCH: the
 * field that is read is the search's, one vector a macroblock.
 */
#ifndef PELTON_ENCODE_MOTION_GLSL
#define PELTON_ENCODE_MOTION_GLSL

#extension GL_EXT_control_flow_attributes : require

layout(constant_id = 0) const uint FIELD = 0; /* the field that is read */

layout(set = 0, binding = ENC_BIND_MOTION, scalar) buffer motion_buffer
{
    rec_motion motion[];
};
layout(set = 0, binding = ENC_BIND_MBS, scalar) buffer mb_buffer
{
    rec_mb mbs[];
};

/* Record of a macroblock */
uint record_at(uint address)
{
    return picture * args.mb_width * args.mb_height + address;
}

/* Its motion in a field */
uint motion_at(uint field, uint address)
{
    return field * args.picture_count * args.mb_width * args.mb_height + record_at(address);
}

/* The motion of the macroblock that is predicted, by quadrant */
ivec2 own_mv[4];
int own_ref[4];

/* Without indices that vary: else the arrays would not stay in registers. */
ivec2 own_mv_of(uint q)
{
    ivec2 top = (q & 1u) == 0u ? own_mv[0] : own_mv[1];
    return q < 2u ? top : (q & 1u) == 0u ? own_mv[2] : own_mv[3];
}

int own_ref_of(uint q)
{
    int top = (q & 1u) == 0u ? own_ref[0] : own_ref[1];
    return q < 2u ? top : (q & 1u) == 0u ? own_ref[2] : own_ref[3];
}

void own_clear()
{
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        own_mv[i] = ivec2(0);
        own_ref[i] = -1;
    }
}

/* place: corner and size of a partition in quadrants */
void own_set(ivec4 place, int ref, ivec2 mv)
{
    [[unroll]] for (int i = 0; i < 4; i++)
        if ((i & 1) >= place.x && (i & 1) < place.x + place.z && i >> 1 >= place.y &&
            i >> 1 < place.y + place.w) {
            own_mv[i] = mv;
            own_ref[i] = ref;
        }
}

void own_load(uint field)
{
    uint at = motion_at(field, mb);
    [[unroll]] for (uint i = 0u; i < 4u; i++) {
        uint block = 8u * (i >> 1) + 2u * (i & 1u);
        own_ref[i] = int(motion[at].ref_idx[0][i]);
        own_mv[i] = ivec2(motion[at].mv[0][block][0], motion[at].mv[0][block][1]);
    }
}

/* Threads 0 to 15 store a block each. */
void own_store(uint field, uint t)
{
    uint at = motion_at(field, mb), quadrant = 2u * (t >> 3) + (t >> 1 & 1u);
    if (t >= 16u)
        return;
    for (uint list = 0u; list < 2u; list++)
        for (uint i = 0u; i < 2u; i++)
            motion[at].mv[list][t][i] = list == 0u ? int16_t(own_mv_of(quadrant)[i]) : int16_t(0);
    if (t < 4u) {
        motion[at].ref_idx[0][t] = int8_t(own_ref_of(t));
        motion[at].ref_idx[1][t] = int8_t(-1);
    }
}

struct neighbour {
    bool available;
    int ref;
    ivec2 mv;
};

/* Quadrants around the macroblock: four in the row above from (-1, -1) on, then two on the left */
#define AROUND 6
shared neighbour around[SEARCH_MBS * AROUND];

/* A quadrant of a macroblock beside it that was decoded before, in its slice */
neighbour neighbour_load(ivec2 quadrant)
{
    ivec2 at = mb_at + (quadrant >> 1);
    uint i = uint(2 * (quadrant.y & 1) + (quadrant.x & 1));
    if (at.x < 0 || at.x >= int(args.mb_width) || at.y < 0)
        return neighbour(false, -1, ivec2(0));
    uint address = uint(at.y) * args.mb_width + uint(at.x), m = motion_at(FIELD, address);
    if (mbs[record_at(address)].slice != mbs[record_at(mb)].slice)
        return neighbour(false, -1, ivec2(0));
#ifdef FIELD_OF_SEARCH
    m = picture * ENC_REFERENCES * args.mb_width * args.mb_height + address;
    return neighbour(true, 0, ivec2(search[m].part[0].mv[0], search[m].part[0].mv[1]));
#else
    /* the row or column that touches: vectors inside a quadrant agree */
    uint block = 8u * (i >> 1) + 2u * (i & 1u);
    int ref = int(motion[m].ref_idx[0][i]);
    ivec2 mv = ivec2(motion[m].mv[0][block][0], motion[m].mv[0][block][1]);
    return neighbour(true, ref, ref < 0 ? ivec2(0) : mv);
#endif
}

/* All threads together, before any vector is predicted */
void around_load()
{
    int t = int(mb_thread());
    if (t < AROUND && mb_is_there())
        around[AROUND * mb_here() + t] =
            neighbour_load(t < 4 ? ivec2(t - 1, -1) : ivec2(-1, t - 4));
    barrier();
}

/* The quadrant at a distance of one macroblock at most, in quadrants */
neighbour neighbour_at(ivec2 quadrant)
{
    uint i = uint(2 * (quadrant.y & 1) + (quadrant.x & 1));
    if (quadrant.x >= 0 && quadrant.x < 2 && quadrant.y >= 0)
        return neighbour(true, own_ref_of(i), own_ref_of(i) < 0 ? ivec2(0) : own_mv_of(i));
    if (quadrant.x > 1 && quadrant.y >= 0)
        return neighbour(false, -1, ivec2(0));
    return around[AROUND * int(mb_here()) + (quadrant.y < 0 ? quadrant.x + 1 : quadrant.y + 4)];
}

/* C, or D where C is not available (8.4.1.3.2) */
neighbour neighbour_c(ivec4 place)
{
    if (place.y == 0 || (place.z == 1 && place.x == 0 && place.w == 1)) {
        neighbour c = neighbour_at(ivec2(place.x + place.z, place.y - 1));
        if (c.available)
            return c;
    }
    return neighbour_at(place.xy - 1);
}

/* mvpLX of a partition (8.4.1.3), from the field and the partitions before it */
ivec2 predict_vector(ivec4 place, int ref)
{
    neighbour a = neighbour_at(place.xy - ivec2(1, 0)), b = neighbour_at(place.xy - ivec2(0, 1));
    neighbour c = neighbour_c(place);
    if (place.z == 2 && place.w == 1) {
        if (place.y == 0 && b.ref == ref)
            return b.mv;
        if (place.y == 1 && a.ref == ref)
            return a.mv;
    } else if (place.z == 1 && place.w == 2) {
        if (place.x == 0 && a.ref == ref)
            return a.mv;
        if (place.x == 1 && c.ref == ref)
            return c.mv;
    }
    int same = int(a.ref == ref) + int(b.ref == ref) + int(c.ref == ref);
    if (!b.available && !c.available && a.available)
        return a.mv;
    if (same == 1)
        return a.ref == ref ? a.mv : b.ref == ref ? b.mv : c.mv;
    return max(min(a.mv, b.mv), min(max(a.mv, b.mv), c.mv));
}

bool holds_still(neighbour n)
{
    return !n.available || (n.ref == 0 && n.mv == ivec2(0));
}

/* The vector of P_Skip (8.4.1.1), by that of a whole macroblock in the newest reference */
ivec2 skip_vector(ivec2 whole)
{
    bool still = holds_still(neighbour_at(ivec2(-1, 0))) || holds_still(neighbour_at(ivec2(0, -1)));
    return still ? ivec2(0) : whole;
}

ivec2 predict_skip()
{
    return skip_vector(predict_vector(ivec4(0, 0, 2, 2), 0));
}

/* One vector in the newest reference */
bool own_is(ivec2 mv)
{
    bool good = true;
    [[unroll]] for (int i = 0; i < 4; i++)
        good = good && own_ref[i] == 0 && own_mv[i] == mv;
    return good;
}

/* ---- rates ---- */

uint vector_bits(ivec2 mv, ivec2 predicted)
{
    return se_bits(mv.x - predicted.x) + se_bits(mv.y - predicted.y);
}

/* te(v) (9.1) */
uint ref_bits(uint ref)
{
    uint count = pictures[picture].ref_count;
    return count < 2u ? 0u : count == 2u ? 1u : 2u * uint(findMSB(ref + 1u)) + 1u;
}

#endif
