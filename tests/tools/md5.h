/* SPDX-License-Identifier: BSD-2-Clause
 *
 * MD5 (RFC 1321), for comparing decoded frames with published sums.
 */
#ifndef PELTON_TEST_MD5_H
#define PELTON_TEST_MD5_H

#include <stddef.h>
#include <stdint.h>

struct md5 {
    uint32_t state[4];
    uint64_t length; /* bytes so far */
    uint8_t block[64];
};

void md5_init(struct md5 *m);
void md5_update(struct md5 *m, const void *data, size_t size);
/* 32 hexadecimal digits and a zero */
void md5_finish(struct md5 *m, char text[33]);

#endif
