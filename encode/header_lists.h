/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What both writers of headers share.
 */
#ifndef PELTON_ENCODE_HEADER_LISTS_H
#define PELTON_ENCODE_HEADER_LISTS_H

#include "encode/header_writer.h"

/* The flags and lists of a scaling matrix, count of them */
void write_scaling_lists(const struct scaling_lists *lists, unsigned count, struct bit_writer *out);

#endif
