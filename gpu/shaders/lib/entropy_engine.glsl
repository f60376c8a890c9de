/* SPDX-License-Identifier: BSD-2-Clause
 *
 * CABAC decoding engine (9.3.1.2, 9.3.3.2) in 32 bits. One thread waits for every operation, so the
 * number of operations counts.
 *
 * codIOffset and codIRange are in the upper 9 bits of `value` and `range`. Below codIOffset are
 * `ahead` bits, read ahead. After engine_ready there are at least 8: enough for two decisions, or
 * for a decision and a bypass bin.
 */
#ifndef PELTON_ENTROPY_ENGINE_GLSL
#define PELTON_ENTROPY_ENGINE_GLSL

shared uvec2 states[128];                      /* ent_tables.states */
shared uint8_t contexts[SHARE * ENT_CONTEXTS]; /* see state_of */
/* frame, field: ctxIdxInc of significant_coeff_flag, of last_.. << 4 */
shared uint8_t table_8x8[2 * 64];
shared u16vec4 category[2 * 6];   /* frame, field: ent_tables.category */
shared uint tree[ENT_TREE_NODES]; /* ent_tables.tree */

uint context_base; /* the slice's part of contexts */
uint range;        /* 256..510 << 23 between bins */

void fill_coder_tables(uint step)
{
    for (uint i = gl_LocalInvocationIndex; i < 128u; i += step) {
        states[i] = uvec2(tables.states[i][0], tables.states[i][1]);
        table_8x8[i] =
            uint8_t(uint(tables.sig_8x8[i >> 6][i & 63u]) | uint(tables.last_8x8[i & 63u]) << 4);
    }
    for (uint i = gl_LocalInvocationIndex; i < 12u; i += step)
        for (int k = 0; k < 4; k++)
            category[i][k] = tables.category[i / 6u][i % 6u][k];
    for (uint i = gl_LocalInvocationIndex; i < uint(ENT_TREE_NODES); i += step)
        tree[i] = tables.tree[i];
}

/* By the `step` threads of the slice: 9.3.1.1, or as they were left. */
void fill_contexts(bool paused, uint index, uint thread, uint step)
{
    int qp = clamp(int(slice.qp), 0, 51);
    context_base = member * ENT_CONTEXTS;
    for (uint i = thread; i < uint(ENT_CONTEXTS); i += step) {
        int m = int(tables.init[slice.model][i][0]), n = int(tables.init[slice.model][i][1]);
        int pre = clamp(((m * qp) >> 4) + n, 1, 126);
        uint8_t first = uint8_t(pre >= 64 ? (pre - 64) << 1 | 1 : (63 - pre) << 1);
        contexts[context_base + i] = paused ? saved[index].contexts[i] : first;
    }
}

/* Between two pieces. */
void coder_pause(uint index)
{
    [[dont_unroll]] for (uint i = 0u; i < uint(ENT_CONTEXTS); i++)
        saved[index].contexts[i] = contexts[context_base + i];
    saved[index].coder = range;
}

void coder_resume(uint index)
{
    range = saved[index].coder;
}

uvec4 category_of(uint block)
{
    return uvec4(category[field_pic * 6u + block]);
}

void engine_ready()
{
    reader_fill(8, 7);
}

/* Of a context: its upper bit is the bin that it had last. */
uvec2 state_of(uint context)
{
    return states[context & (ENT_STATE_BIN - 1u)];
}

/* 9.3.1.2, at a byte of the slice's RBSP */
void engine_start(uint byte)
{
    reader_begin(slice.word * 2u + (byte >> 1));
    value = 0u;
    ahead = -9;
    reader_fill(8, 7);
    if ((byte & 1u) != 0u) {
        value <<= 8;
        ahead = -1;
    }
    range = 510u << 23;
    engine_ready();
}

void coder_begin()
{
    engine_start(slice.start >> 3);
}

bool overrun()
{
    return engine_position() > slice.size * 8u;
}

/* DecodeDecision (9.3.3.2.1) by a context in the state of row; next: what the context becomes.
 * Takes 7 bits at most. */
bool decide(uvec2 row, out uint next)
{
    uint lps = row.x >> (range >> 26 & 24u) << 24 >> 1;
    uint mps = range - lps;
    bool less = value >= mps; /* the LPS */
    range = less ? lps : mps;
    value = min(value, value - mps);          /* wraps to more where it is the MPS */
    uint shift = ~uint(findMSB(range)) & 31u; /* RenormD (9.3.3.2.2): 31 - that */
    range <<= shift;
    value <<= shift;
    ahead -= int(shift);
    next = less ? row.y >> 16 : row.y;
    return (next & ENT_STATE_BIN) != 0u;
}

uint bin(uint context)
{
    uint at = context_base + context, next;
    uvec2 row = state_of(uint(contexts[at]));
    engine_ready();
    bool one = decide(row, next);
    contexts[at] = uint8_t(next);
    return one ? 1u : 0u;
}

/* DecodeBypass (9.3.3.2.3), after engine_ready and a decision at most */
bool bypass_ready()
{
    uint half_range = range >> 1;
    bool one = value >= half_range;
    value = min(value, value - half_range) << 1;
    ahead--;
    return one;
}

uint bypass()
{
    engine_ready();
    return bypass_ready() ? 1u : 0u;
}

/* DecodeTerminate (9.3.3.2.2.3) */
bool terminate()
{
    engine_ready();
    range -= 2u << 23;
    if (value >= range)
        return true;
    uint shift = range >> 31 ^ 1u;
    range <<= shift;
    value <<= shift;
    ahead -= int(shift);
    return false;
}

/* Suffix of UEGk (9.3.2.3); a prefix past 2^24 gives a value that no syntax element allows. */
uint exp_golomb(uint k)
{
    uint v = 0u;
    bool prefix = true;
    [[dont_unroll]] while (k > 0u || prefix) {
        bool one = bypass() != 0u;
        if (!prefix)
            v += (one ? 1u : 0u) << --k;
        else if (one && k < 24u)
            v += 1u << k++;
        else
            prefix = false;
    }
    return v;
}

#endif
