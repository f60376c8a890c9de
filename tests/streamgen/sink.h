/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A growing buffer of bits, syntax element descriptors (7.2, 9.1), and NAL units (7.3.1). The
 * program ends if memory runs out.
 */
#ifndef PELTON_STREAMGEN_SINK_H
#define PELTON_STREAMGEN_SINK_H

#include <stddef.h>
#include <stdint.h>

struct sink {
    uint8_t *data;
    size_t bits, capacity; /* capacity in bytes */
};

void sink_free(struct sink *s);
/* u(n), n <= 32 */
void sink_u(struct sink *s, unsigned n, uint32_t v);
void sink_ue(struct sink *s, uint32_t v);
void sink_se(struct sink *s, int32_t v);
/* te(v) with range 0 .. max, max >= 1 */
void sink_te(struct sink *s, uint32_t v, uint32_t max);
/* A code as text: "0010" */
void sink_code(struct sink *s, const char *code);
/* rbsp_trailing_bits() */
void sink_trailing(struct sink *s);
void sink_zero_align(struct sink *s);
/* rbsp begins with the NAL unit header: start code, then its bytes with emulation prevention
 * (7.4.1). out is at a byte boundary. */
void sink_nal(struct sink *out, const struct sink *rbsp);

#endif
