/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What follows ? in an address: the wishes about a stream. Each name is known, stands once, and has
 * a value that fits; all else is refused in words. Pure.
 */
#ifndef PELTON_HTTP_QUERY_H
#define PELTON_HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUERY_SIZE_MOST = 16384, QUERY_WHY = 160 };

struct stream_query {
    uint32_t width, height; /* 0: the source's own */
    uint32_t quality;       /* of JPEG, 1 to 100 */
    double fps;             /* 0: all */
    uint64_t frames;        /* 0: no end */
    char pix_fmt[16];       /* "": the stream's own */
    bool lossless, latest;  /* policy=, where it is given */
    bool after_now;
    unsigned seen; /* bits of the names that stood */
};

/* The name of parameter i, and the form of its value. NULL: there is none. */
const char *stream_query_name(unsigned i, const char **form);
void stream_query_preset(struct stream_query *q);
/* One name and its value, as they came; value NULL: there was no =. False with the reason. */
bool stream_query_set(struct stream_query *q, const char *name, const char *value,
                      char why[QUERY_WHY]);

#endif
