/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What follows ? in an address: see http_query.h.
 */
#include "web/http_query.h"

#include "web/http_path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE = 64, QUALITY = 80, FPS_MOST = 1000 };

void stream_query_preset(struct stream_query *q)
{
    *q = (struct stream_query){.quality = QUALITY};
}

/* Digits alone: strtoull would take a sign, and blanks before it. */
static bool number_read(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n > 18 || text[n])
        return false;
    uint64_t value = strtoull(text, NULL, 10);
    if (value < least || value > most)
        return false;
    *out = value;
    return true;
}

static bool size_read(struct stream_query *q, const char *text)
{
    char width[VALUE];
    const char *x = strchr(text, 'x');
    uint64_t w, h;
    snprintf(width, sizeof(width), "%.*s", x ? (int)(x - text) : 0, text);
    if (!x || !number_read(width, 2, QUERY_SIZE_MOST, &w) ||
        !number_read(x + 1, 2, QUERY_SIZE_MOST, &h))
        return false;
    q->width = (uint32_t)w & ~1U; /* chroma has half the size */
    q->height = (uint32_t)h & ~1U;
    return true;
}

static bool fps_read(struct stream_query *q, const char *text)
{
    char *end;
    if (strspn(text, "0123456789.") != strlen(text) || !text[0])
        return false;
    double value = strtod(text, &end);
    if (*end || !isfinite(value) || value <= 0 || value > FPS_MOST)
        return false;
    q->fps = value;
    return true;
}

static bool quality_read(struct stream_query *q, const char *text)
{
    uint64_t value;
    if (!number_read(text, 1, 100, &value))
        return false;
    q->quality = (uint32_t)value;
    return true;
}

static bool frames_read(struct stream_query *q, const char *text)
{
    return number_read(text, 1, INT64_MAX, &q->frames);
}

static bool pix_fmt_read(struct stream_query *q, const char *text)
{
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (n == 0 || text[n] || n >= sizeof(q->pix_fmt))
        return false;
    memcpy(q->pix_fmt, text, n + 1);
    return true;
}

static bool policy_read(struct stream_query *q, const char *text)
{
    q->lossless = strcmp(text, "lossless") == 0;
    q->latest = strcmp(text, "latest") == 0;
    return q->lossless || q->latest;
}

static bool after_read(struct stream_query *q, const char *text)
{
    q->after_now = strcmp(text, "now") == 0;
    return q->after_now;
}

static const struct {
    const char *name, *form;
    bool (*read)(struct stream_query *q, const char *text);
} names[] = {
    {"size", "WxH, each from 2 to 16384", size_read},
    {"fps", "a number above 0, at most 1000", fps_read},
    {"quality", "1 to 100", quality_read},
    {"frames", "a number above 0", frames_read},
    {"pix_fmt", "FFmpeg's name of a pixel format", pix_fmt_read},
    {"policy", "lossless or latest", policy_read},
    {"after", "now", after_read},
};
enum { NAMES = sizeof(names) / sizeof(*names) };

const char *stream_query_name(unsigned i, const char **form)
{
    *form = i < NAMES ? names[i].form : "";
    return i < NAMES ? names[i].name : NULL;
}

bool stream_query_set(struct stream_query *q, const char *name, const char *value,
                      char why[QUERY_WHY])
{
    char text[VALUE];
    unsigned i = 0;
    while (i < NAMES && strcmp(names[i].name, name) != 0)
        i++;
    if (i == NAMES) {
        snprintf(why, QUERY_WHY, "%.40s: no such parameter", name);
    } else if (q->seen & 1U << i) {
        snprintf(why, QUERY_WHY, "%s stands twice", name);
    } else if (!value || !http_text_decode(value, text, sizeof(text)) || !names[i].read(q, text)) {
        snprintf(why, QUERY_WHY, "%s=%.40s: expected %s", name, value ? value : "", names[i].form);
    } else {
        q->seen |= 1U << i;
        return true;
    }
    return false;
}
