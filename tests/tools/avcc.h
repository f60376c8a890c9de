/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A byte stream in the form of file formats: an avcC record and NAL units with lengths (ISO/IEC
 * 14496-15, 5.3.3.1).
 */
#ifndef PELTON_TESTS_AVCC_H
#define PELTON_TESTS_AVCC_H

#include <stddef.h>
#include <stdint.h>

/* AVCDecoderConfigurationRecord with the first sequence parameter sets and the picture parameter
 * sets right after, from malloc; lengths are of four bytes. *after: where the NAL unit after these
 * starts. NULL: no memory, or no such set. */
uint8_t *avcc_record(const uint8_t *data, size_t size, size_t *length, size_t *after);
/* The NAL unit after the start code prefix, its length before it instead, from malloc; *size: that
 * of both forms. NULL: no memory */
uint8_t *avcc_unit(const uint8_t *data, size_t *size);

#endif
