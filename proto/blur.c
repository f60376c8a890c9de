/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rectangles as text; see blur.h.
 */
#include "proto/blur.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool blur_rect_valid(const struct pelton_rect *r)
{
    return r->width > 0 && r->height > 0 && r->x <= BLUR_MOST && r->y <= BLUR_MOST &&
           r->width <= BLUR_MOST && r->height <= BLUR_MOST;
}

/* Only digits: no sign, no space. */
static bool number(const char **at, uint32_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**at))
        return false;
    unsigned long value = strtoul(*at, &end, 10);
    *at = end;
    *out = (uint32_t)value;
    return value <= BLUR_MOST;
}

static bool one(const char **at, struct pelton_rect *out)
{
    uint32_t v[4];
    for (int i = 0; i < 4; i++)
        if (!number(at, &v[i]) || (i < 3 && *(*at)++ != ','))
            return false;
    *out = (struct pelton_rect){v[0], v[1], v[2], v[3]};
    return blur_rect_valid(out);
}

int blur_parse(const char *text, struct pelton_rect list[PELTON_MAX_BLURS], uint32_t *n,
               char why[BLUR_WHY])
{
    uint32_t count = *n;
    struct pelton_rect grown[PELTON_MAX_BLURS];
    for (const char *at = text;; at++) {
        if (count == PELTON_MAX_BLURS) {
            snprintf(why, BLUR_WHY, "%.60s: more than %d rectangles to be blurred", text,
                     PELTON_MAX_BLURS);
            return -1;
        }
        if (!one(&at, &grown[count]) || (*at && *at != ';')) {
            snprintf(
                why, BLUR_WHY,
                "%.60s: expected X,Y,WIDTH,HEIGHT in whole pixels, not negative, nothing empty",
                text);
            return -1;
        }
        count++;
        if (!*at)
            break;
    }
    memcpy(list + *n, grown + *n, (count - *n) * sizeof(*list));
    *n = count;
    return 0;
}
