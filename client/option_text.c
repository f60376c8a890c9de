/* SPDX-License-Identifier: BSD-2-Clause
 *
 * From the text of an option to plain values. Errors name the option, and hint at values that fit.
 */
#include "client/option_text.h"
#include "proto/near_name.h"

#include <errno.h>
#include <libavutil/parseutils.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int text_refuse(const struct option_text *t, const char *hint)
{
    return fail_with(t->f, X_USAGE, hint, "%s %s: not understood", t->name, t->value);
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

int text_time_us(const struct option_text *t, void *place)
{
    int64_t us;
    if (av_parse_time(&us, t->value, 1) < 0 || us < 0)
        return text_refuse(t, "seconds (12.5), [HH:]MM:SS[.m], or with a unit (200ms)");
    *(int64_t *)place = us;
    return 0;
}

int text_word(const struct option_text *t, const char *value, const struct word *words, int *out)
{
    char list[120] = "one of:", hint[200];
    struct near_name near = near_name_of(value, strlen(value));
    for (; words->text; words++) {
        if (strcasecmp(words->text, value) == 0) {
            *out = words->value;
            return 0;
        }
        size_t n = strlen(list);
        snprintf(list + n, sizeof(list) - n, " %s", words->text);
        near_name_try_name(&near, words->text);
    }
    struct option_text refused = *t;
    refused.value = value;
    return text_refuse(&refused, near_name_hint(&near, list, hint, sizeof(hint)));
}
