/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See option_text.h.
 */
#include "proto/option_text.h"

#include "proto/near_name.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int text_refuse(const struct option_text *t, const char *hint)
{
    return option_fail(t->fault, hint, "%s %s: not understood", t->name, t->value);
}

int text_string(const struct option_text *t, void *place)
{
    *(const char **)place = t->value;
    return 0;
}

int text_flag(const struct option_text *t, void *place)
{
    *(bool *)place = true;
    return 0;
}

int text_u64(const struct option_text *t, void *place)
{
    char *end, hint[96];
    errno = 0;
    unsigned long long n = strtoull(t->value, &end, 10);
    if (errno || end == t->value || *end || t->value[0] == '-' || n < t->least || n > t->most) {
        snprintf(hint, sizeof(hint),
                 t->most < INT64_MAX ? "a whole number from %llu to %llu"
                                     : "a whole number, at least %llu",
                 (unsigned long long)t->least, (unsigned long long)t->most);
        return text_refuse(t, hint);
    }
    *(uint64_t *)place = n;
    return 0;
}

int text_u32(const struct option_text *t, void *place)
{
    uint64_t n = 0;
    int rc = text_u64(t, &n);
    if (rc == 0)
        *(uint32_t *)place = (uint32_t)n;
    return rc;
}

int text_double(const struct option_text *t, void *place)
{
    char *end;
    double n = strtod(t->value, &end);
    if (end == t->value || *end || !isfinite(n) || n < 0 || n > 1e6)
        return text_refuse(t, "a number from 0 to 1000000");
    *(double *)place = n;
    return 0;
}

int text_word(const struct option_text *t, const char *value, const char *words, unsigned *out)
{
    char list[120], hint[200];
    unsigned number = 0;
    for (const char *p = words; *p; number++) {
        size_t n = strcspn(p, " ");
        if (strlen(value) == n && strncasecmp(value, p, n) == 0) {
            *out = number;
            return 0;
        }
        p += n + (p[n] == ' ');
    }
    struct near_name near = near_name_of(value, strlen(value));
    struct option_text refused = *t;
    near_name_try_words(&near, words);
    snprintf(list, sizeof(list), "one of: %s", words);
    refused.value = value;
    return text_refuse(&refused, near_name_hint(&near, list, hint, sizeof(hint)));
}

int text_choice(const struct option_text *t, void *place)
{
    unsigned number = 0;
    int rc = text_word(t, t->value, t->choices, &number);
    if (rc == 0)
        *(int *)place = (int)(t->least + number);
    return rc;
}

int text_constant(const struct option_text *t, void *place)
{
    *(int *)place = (int)t->least;
    return 0;
}
