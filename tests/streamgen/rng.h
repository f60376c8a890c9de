/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Random choices that repeat by seed. Generators fork by position (picture, slice, macroblock). So
 * removing a part of a stream leaves the other choices unchanged; shrinking depends on it.
 */
#ifndef PELTON_STREAMGEN_RNG_H
#define PELTON_STREAMGEN_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators) */
static inline uint64_t rng_mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline uint32_t rng_next(struct rng *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return (uint32_t)(rng_mix(r->state) >> 32);
}

static inline struct rng rng_fork(struct rng r, uint64_t position)
{
    return (struct rng){rng_mix(r.state ^ rng_mix(position + 0x632be59bd9b4e019u))};
}

/* 0 .. n - 1; n > 0 */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
    return (uint32_t)((uint64_t)rng_next(r) * n >> 32);
}

/* low .. high */
static inline int32_t rng_range(struct rng *r, int32_t low, int32_t high)
{
    return low + (int32_t)rng_below(r, (uint32_t)(high - low) + 1);
}

/* True in one of n cases. */
static inline bool rng_one_in(struct rng *r, uint32_t n)
{
    return rng_below(r, n) == 0;
}

#endif
