/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See ref_decider.h.
 */
#include "encode/reference/ref_decider.h"

#include "encode/reference/decide.h"

#include <stdio.h>

static int ref_decide(void *ctx, const struct decider_source *source,
                      const struct decider_wish *wish, struct rec_view *view)
{
    return source->device ? DECIDER_INVALID : decider_decide(ctx, source, wish, view);
}

static void ref_accept(void *ctx)
{
    decider_accept(ctx);
}

static void ref_end(void *ctx)
{
    decider_free(ctx);
}

int ref_decider_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                      struct decider_calls *out, char *why)
{
    struct decider *d = decider_create(e, limits);
    const unsigned *threads = ctx;
    if (!d)
        return snprintf(why, ENCODING_WHY, "no memory"), -1;
    if (threads)
        decider_use_threads(d, *threads);
    *out = (struct decider_calls){
        .ctx = d, .decide = ref_decide, .accept = ref_accept, .end = ref_end};
    return 0;
}
