/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pictures that come in rows. Records of rows that are not decoded yet, and of rows that are done,
 * are garbage. A batch that comes between makes recon do all rows again.
 */
#include "tests/gpu/h264/checkgpu.h"

#include <stdlib.h>
#include <string.h>

#define GARBAGE 0xee

struct rows {
    struct rec_mb *mbs;
    struct rec_motion *motion;
    struct rec_view view;
};

/* The picture's records of these rows, and nothing else. */
static void rows_fill(struct rows *rows, const struct rec_view *from, uint32_t first, uint32_t end)
{
    uint64_t width = from->head.mb_width, count = from->head.mb_count, at = first * width,
             n = (end - first) * width;
    memset(rows->mbs, GARBAGE, count * sizeof(*rows->mbs));
    memset(rows->motion, GARBAGE, count * sizeof(*rows->motion));
    memcpy(rows->mbs + at, from->mbs + at, n * sizeof(*rows->mbs));
    if (from->motion)
        memcpy(rows->motion + at, from->motion + at, n * sizeof(*rows->motion));
    rows->view = *from;
    rows->view.mbs = rows->mbs;
    rows->view.motion = from->motion ? rows->motion : NULL;
}

static int rows_submit(struct recon *r, const struct recon_picture *job)
{
    uint64_t ticket;
    int err = recon_submit(r, job, 1, NULL, 0, &ticket);
    return err == 0 ? recon_wait(r, ticket, UINT64_MAX) : err;
}

/* Some rows after others; the last of them, the end of *job. */
static int rows_begin(struct check_env *env, struct recon *r, struct rows *rows,
                      const struct rec_view *whole, struct recon_picture *job)
{
    uint32_t height = whole->head.mb_height;
    int err = 0;
    while (err == 0 && job->first_row + 1 < height && check_chance(env, 80)) {
        struct recon_picture part = *job;
        part.end_row = job->first_row + 1 + check_random(env, height - 1 - job->first_row);
        part.view = &rows->view;
        rows_fill(rows, whole, job->first_row ? job->first_row - 1 : 0, part.end_row);
        err = rows_submit(r, &part);
        job->first_row = part.end_row;
        env->batches++;
    }
    return err;
}

int check_submit_rows(struct check_env *env, struct recon *r, const struct check_picture *picture)
{
    const struct rec_view *whole = &picture->view;
    struct recon_picture job = {.view = whole, .slot = whole->head.slot};
    struct rows rows = {.mbs = malloc(whole->head.mb_count * sizeof(*rows.mbs)),
                        .motion = malloc(whole->head.mb_count * sizeof(*rows.motion))};
    int err = rows.mbs && rows.motion ? 0 : GPU_ERR_NOMEM;
    if (err == 0)
        err = rows_begin(env, r, &rows, whole, &job);
    if (err == 0 && check_chance(env, 10)) {
        const struct recon_picture between = {.view = whole, .slot = whole->head.slot};
        err = rows_submit(r, &between);
    } else if (err == 0 && job.first_row) {
        rows_fill(&rows, whole, job.first_row - 1, whole->head.mb_height);
        job.view = &rows.view;
    }
    if (err == 0)
        err = rows_submit(r, &job);
    free(rows.mbs);
    free(rows.motion);
    return err;
}

int check_group_rows(struct check_env *env)
{
    static const uint32_t frames[][2] = {{11, 9}, {1, 7}, {9, 2}, {33, 5}, {40, 12}};
    int result = 0;
    env->rows = true;
    for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]) && result == 0; i++) {
        result = check_open(env, frames[i][0], frames[i][1], 3, 1);
        for (int batch = 0; batch < 10 && result == 0; batch++) {
            struct check_picture *picture = check_build_plain(env, 0);
            result = picture ? check_run(env, &picture, 1) : -1;
        }
        check_close(env);
    }
    env->rows = false;
    return result;
}
