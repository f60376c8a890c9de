/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsers of options: from text to plain values. Errors name the option, and hint at values that
 * fit.
 */
#ifndef PELTON_OPTION_TEXT_H
#define PELTON_OPTION_TEXT_H

#include "proto/option_line.h"

/* Records that the text makes no sense, with a hint. Returns -1. */
int text_refuse(const struct option_text *t, const char *hint);

/* Their places are const char *, bool (which becomes true), uint64_t and uint32_t from least to
 * most, and double from 0 to 1000000. */
option_parser text_string, text_flag, text_u64, text_u32, text_double;
/* Their places are enumerations. A choice is counted from least on; the constant is least. */
option_parser text_choice, text_constant;
/* *out becomes the number of the word among `words`, which spaces separate, in any case of letters.
 * value: t->value, or a word that stands for it. 0, or -1 with the fault. */
int text_word(const struct option_text *t, const char *value, const char *words, unsigned *out);

#endif
