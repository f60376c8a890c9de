/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One coder restores at a time. Others that need records wait: they most likely need the same ones.
 */
#include "daemon/worker/steps/records_needed.h"

#include "codec/h264_export.h"

#include <stdio.h>

static int restore(struct coder *c, struct h264_picture *pic)
{
    struct engine *e = c->engine;
    if (!h264_picture_is_kept(pic))
        return 0;
    uv_mutex_lock(&e->restores);
    bool missing = !pic->arrays.motion;
    int err = h264_picture_restore_motion(pic, c->scratch);
    uv_mutex_unlock(&e->restores);
    if (missing && !err)
        atomic_fetch_add(&e->restored, 1);
    return err;
}

int records_needed(struct coder *c, struct picture *p, bool all)
{
    struct h264_picture *read[32], *source;
    uint32_t count = h264_picture_reads_records(p->pic, read);
    int err = 0;
    for (uint32_t i = 0; i < count && !err; i++)
        err = restore(c, read[i]);
    if (!err && all && h264_picture_conceal_source(p->pic, &source))
        err = restore(c, source);
    return err;
}

void records_needed_log(const struct engine *e)
{
    char line[100];
    uint64_t restored = atomic_load(&e->restored);
    if (!restored)
        return;
    snprintf(line, sizeof(line), "records of %llu pictures came to the host by a second decoding",
             (unsigned long long)restored);
    engine_log(e, 2, line);
}
