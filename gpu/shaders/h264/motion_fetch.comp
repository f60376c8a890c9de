/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Differences and references of a picture that is in host memory, before step 3. A dispatch is a
 * picture, and a workgroup has MOT_FETCH_MBS of its macroblocks. It reads what motion.comp looks at
 * for their shapes. Elsewhere it writes what coders leave there: no difference, and the references
 * that the shape implies. Host memory is read in sectors of 32 bytes, each once for a workgroup:
 * first those with references, then those with differences of the lists in use. The others do not
 * cross the bus.
 *
 * Records may hold anything. Addresses follow only from the picture and from the push constants.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gpu/shaders/lib/motion_common.glsl"

layout(local_size_x = MOT_FETCH_MBS) in;

layout(push_constant) uniform push
{
    uint picture_index, first_word; /* of the picture in host[] */
};
/* rec_motion of the picture, as motion[] has them */
layout(set = 1, binding = 0, std430) readonly buffer host_buffer
{
    uvec2 host[];
};

/* A workgroup's records begin anywhere in their first sector. */
const uint SECTOR_WORDS = MOT_SECTOR / 8u, RECORD_WORDS = MOT_FETCH_MBS * MOTION_WORDS,
           SECTORS = RECORD_WORDS / SECTOR_WORDS + 2u, MARKS = (SECTORS + 31u) / 32u;
const uint REFS = 0u, DIFFERENCES = 1u; /* the two rounds */

shared uvec2 words[SECTORS * SECTOR_WORDS];
shared uint marks[2u * MARKS];       /* of a round: a bit for each sector that it reads */
shared uint wanted[MOT_FETCH_MBS];   /* of a macroblock: a bit for each word */
shared uvec2 implied[MOT_FETCH_MBS]; /* of a macroblock: references if they are not wanted */

uint lead, count; /* words before the first record in its sector, records */

void mark(uint round_, uint first, uint bits)
{
    [[dont_unroll]] for (uint left = bits; left != 0u; left &= left - 1u) {
        uint sector = (first + uint(findLSB(left))) / SECTOR_WORDS;
        atomicOr(marks[round_ * MARKS + sector / 32u], 1u << sector % 32u);
    }
}

/* The sectors of the round that no round before has read. at: of the first one */
void read_sectors(uint round_, uint at)
{
    for (uint k = gl_LocalInvocationIndex; k < lead + count * MOTION_WORDS; k += MOT_FETCH_MBS) {
        uint sector = k / SECTOR_WORDS, bit = 1u << sector % 32u;
        bool now = (marks[round_ * MARKS + sector / 32u] & bit) != 0u,
             before = round_ != REFS && (marks[sector / 32u] & bit) != 0u;
        if (now && !before && k >= lead)
            words[k] = host[at + k];
    }
}

/* Words of both lists that hold differences, by the shape (struct h264_mb_syntax): those of the
 * first block of each partition. A word has two blocks of a row. */
uint difference_words(uint part, uint subs, uvec2 refs)
{
    uint bits = 0u;
    [[unroll]] for (uint q = 0u; q < 4u; q++) {
        uint sub = bitfieldExtract(subs, int(8u * q), 8), word = (q >> 1) * 4u + (q & 1u);
        bool low = sub == SUB_8X4 || sub == SUB_4X4;
        uint both = begins_partition(part, q) && sub != SUB_DIRECT ? (low ? 5u : 1u) << word : 0u;
        bits |= byte_at(refs.x, q) >= 0 ? both : 0u;
        bits |= byte_at(refs.y, q) >= 0 ? both << 8 : 0u;
    }
    return bits;
}

void write_records(uint at)
{
    for (uint k = gl_LocalInvocationIndex; k < count * MOTION_WORDS; k += MOT_FETCH_MBS) {
        uint mb = k / MOTION_WORDS, word = k % MOTION_WORDS;
        uvec2 other = word == MOTION_REFS ? implied[mb] : uvec2(0u);
        motion[at + k] = (wanted[mb] >> word & 1u) != 0u ? words[lead + k] : other;
    }
}

void count_sectors()
{
    uint sectors = 0u;
    for (uint i = 0u; i < MARKS; i++)
        sectors += uint(bitCount(marks[i] | marks[MARKS + i]));
    if (sectors != 0u)
        atomicAdd(results[picture_index * MOT_RESULTS + MOT_RESULT_SECTORS], sectors);
}

void main()
{
    const uint thread = gl_LocalInvocationIndex, from = gl_WorkGroupID.x * MOT_FETCH_MBS;
    der_picture picture = pictures[picture_index];
    uint first = first_word + from * MOTION_WORDS;
    lead = first % SECTOR_WORDS;
    count = min(picture.mb_count - from, MOT_FETCH_MBS);
    uint own = lead + thread * MOTION_WORDS;
    uvec2 shape = thread < count ? syntax[picture.mb_base + from + thread] : uvec2(PART_INTRA, 0u);
    uint part = shape.x & 255u, bits = part <= PART_8X8 ? 1u << MOTION_REFS : 0u;
    if (thread < 2u * MARKS)
        marks[thread] = 0u;
    barrier();
    mark(REFS, own, bits);
    barrier();
    read_sectors(REFS, first - lead);
    barrier();
    if (bits != 0u)
        bits |= difference_words(part, subs_of(shape), words[own + MOTION_REFS]);
    mark(DIFFERENCES, own, bits);
    wanted[thread] = bits;
    implied[thread] = uvec2(part == PART_SKIP ? 0u : 0xffffffffu, 0xffffffffu);
    barrier();
    read_sectors(DIFFERENCES, first - lead);
    barrier();
    write_records((picture.mb_base + from) * MOTION_WORDS);
    if (thread == 0u)
        count_sectors();
}
