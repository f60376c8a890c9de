/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton bench --kernels: hands the options to the bench of kernels, and its outcome to the user.
 */
#include "client/commands.h"

static void kernels_log(void *ctx, int level, const char *line)
{
    static const int levels[] = {LOG_ERROR, LOG_WARNING, LOG_VERBOSE, LOG_DEBUG};
    ui_log(levels[level], "%s", line);
}

static bool kernels_stopped(void)
{
    return interrupted() != 0;
}

static int outcome_code(enum kernel_outcome outcome)
{
    switch (outcome) {
    case KERNEL_DONE:
        return X_SUCCESS;
    case KERNEL_STOPPED:
        return interrupted();
    case KERNEL_USAGE:
        return X_USAGE;
    case KERNEL_NO_DEVICE:
        return X_NO_DEVICE;
    case KERNEL_DIFFERS:
        return X_MISMATCH;
    default:
        return X_OTHER;
    }
}

int cmd_bench_kernels(struct client_options *o, struct failure *f)
{
    struct kernel_failure why;
    const struct kernel_command command = {
        .families = o->inputs,
        .n_families = o->n_inputs,
        .device = o->connect.device,
        .options = &o->kernels,
        .log = kernels_log,
        .stopped = kernels_stopped,
    };
    interrupts_catch();
    enum kernel_outcome outcome = kernel_command(&command, &why);
    int code = outcome_code(outcome);
    if (outcome == KERNEL_DONE || outcome == KERNEL_STOPPED)
        return code;
    return why.error ? fail_errno(f, code, why.error, why.cause)
                     : fail_with(f, code, why.hint, "%s", why.cause);
}
