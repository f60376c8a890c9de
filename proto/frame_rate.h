/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The rate of a source's frames, as outputs at a constant rate take it.
 */
#ifndef PELTON_FRAME_RATE_H
#define PELTON_FRAME_RATE_H

#include "proto/pelton.h"

static inline bool rate_is_known(struct pelton_rational r)
{
    return r.num > 0 && r.den > 0;
}

/* 25 a second where nobody tells. */
static inline struct pelton_rational info_frame_rate(const struct pelton_info *info)
{
    struct pelton_rational rate = info->frame_rate, average = info->avg_frame_rate;
    if (!rate_is_known(rate))
        return rate_is_known(average) ? average : (struct pelton_rational){25, 1};
    /* the lowest rate that hits all time stamps means little where it is far above the average */
    if (rate_is_known(average) && average.num < 70ll * average.den && rate.num > 210ll * rate.den)
        return average;
    return rate;
}

#endif
