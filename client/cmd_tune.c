/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton tune: measures the fastest kernels of a device, and keeps the choice for later runs.
 */
#include "bench/bench_tune.h"
#include "client/commands.h"
#include "client/ui.h"
#include "gpu/engine/driver_cache.h"

#include <errno.h>
#include <stdio.h>

static void on_log(void *ctx, int level, const char *line)
{
    static const int levels[] = {LOG_ERROR, LOG_WARNING, LOG_VERBOSE, LOG_DEBUG};
    ui_log(levels[level], "%s", line);
}

static void print_choices(const struct tune *tune)
{
    for (int f = 0; f < TUNE_FAMILIES; f++) {
        const uint8_t *choice = tune->choice[f];
        printf("%-10s small %s, hd %s, large %s\n", tune_family_name((enum tune_family)f),
               tune_variant_name((enum tune_family)f, choice[TUNE_SMALL]),
               tune_variant_name((enum tune_family)f, choice[TUNE_HD]),
               tune_variant_name((enum tune_family)f, choice[TUNE_LARGE]));
    }
}

int cmd_tune(struct client_options *o, struct failure *f)
{
    struct gpu *g = NULL;
    struct tune tune;
    char path[CACHE_PATH];
    int64_t start = now_ns();
    driver_cache_guard();
    int rc = 0,
        err = gpu_open(
            &(struct gpu_params){.device = o->connect.device, .timestamps = true, .log = on_log},
            &g);
    int64_t open = now_ns();
    if (err == GPU_OK)
        err = tune_measure(g, &tune);
    if (err < 0) {
        rc = fail_with(f, err == GPU_ERR_NO_DEVICE ? X_NO_DEVICE : X_OTHER,
                       "pelton doctor says what is there", "%s", gpu_error_text(err));
    } else if (tune_save(gpu_info(g), &tune, path) < 0) {
        rc = fail_errno(f, X_OTHER, errno, *path ? path : "$XDG_CACHE_HOME");
    } else {
        printf("%s, %s: opened in %.1f s, measured in %.1f s, kept in %s\n", gpu_info(g)->name,
               gpu_info(g)->driver, 1e-9 * (double)(open - start), 1e-9 * (double)(now_ns() - open),
               path);
        print_choices(&tune);
    }
    gpu_close(g);
    return rc;
}
