/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The text of one option, and its conversion to plain values.
 */
#ifndef CLIENT_OPTION_TEXT_H
#define CLIENT_OPTION_TEXT_H

#include "client/exit_code.h"

/* The text of an option, for messages and parsing. */
struct option_text {
    const char *name;     /* as it is best spelled */
    const char *value;    /* NULL: the option has no argument */
    uint64_t least, most; /* of whole numbers */
    struct failure *f;
};

/* A word that an option knows. */
struct word {
    const char *text; /* NULL ends a list */
    int value;
};

/* Records that the text makes no sense, with a hint. Returns X_USAGE. */
int text_refuse(const struct option_text *t, const char *hint);

/* ---- to a value at `place`; they return 0, or X_USAGE with the failure ---- */

int text_string(const struct option_text *t, void *place); /* const char * */
int text_flag(const struct option_text *t, void *place);   /* bool, which becomes true */
int text_u64(const struct option_text *t, void *place);    /* uint64_t, from least to most */
int text_u32(const struct option_text *t, void *place);    /* uint32_t, from least to most */
int text_double(const struct option_text *t, void *place); /* double, 0 to 1000000 */
int text_time_us(const struct option_text *t,
                 void *place); /* int64_t, microseconds, not negative */
/* The value of a word, in any case of letters. value: t->value, or a word that stands for it. */
int text_word(const struct option_text *t, const char *value, const struct word *words, int *out);

#endif
