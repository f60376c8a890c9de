/* SPDX-License-Identifier: BSD-2-Clause
 *
 * struct pelton_side_data as one block of memory, and to and from the bytes of a SideData message.
 */
#ifndef PELTON_WIRE_SIDE_H
#define PELTON_WIRE_SIDE_H

#include "proto/pelton.pb-c.h"
#include "proto/pelton_side.h"

#include <stddef.h>

/* Copies in and everything it points to into one block for free(). NULL: out of memory. */
struct pelton_side_data *wire_side_copy(const struct pelton_side_data *in);
/* The packed message, for free(). NULL: out of memory. */
uint8_t *wire_side_pack(const struct pelton_side_data *in, size_t *size);
/* Returns PELTON_ERR_PROTOCOL where the bytes are no such message or hold too much, or
 * PELTON_ERR_NOMEM. The caller frees *out by free(). */
int wire_side_unpack(const uint8_t *bytes, size_t size, struct pelton_side_data **out);

void wire_vui_from(const struct pelton_vui *in, Pelton__Vui *out);
void wire_vui_to(const Pelton__Vui *in, struct pelton_vui *out); /* in may be NULL: none */

#endif
