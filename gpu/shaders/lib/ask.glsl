/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A word of a buffer is asked for 256 times, in one turn of a waiting loop. llvmpipe (22.3) ends
 * every loop of a shader once all its loops together have run 65535 times.
 */
#ifndef PELTON_ASK_GLSL
#define PELTON_ASK_GLSL

#define ASK_4(at)   atomicOr(at, 0u), atomicOr(at, 0u), atomicOr(at, 0u), atomicOr(at, 0u);
#define ASK_16(at)  ASK_4(at) ASK_4(at) ASK_4(at) ASK_4(at)
#define ASK_64(at)  ASK_16(at) ASK_16(at) ASK_16(at) ASK_16(at)
#define ASK_256(at) ASK_64(at) ASK_64(at) ASK_64(at) ASK_64(at)

#endif
