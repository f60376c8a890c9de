/* SPDX-License-Identifier: BSD-2-Clause
 *
 * decide.h as a decider of encoder.h. ctx of its calls is the struct decider of decide.h.
 */
#ifndef PELTON_REF_DECIDER_H
#define PELTON_REF_DECIDER_H

#include "encode/decider.h"

decider_begin ref_decider_begin; /* ctx: a number of threads, unsigned; NULL: 1 */

#endif
