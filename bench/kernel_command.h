/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The bench of kernels as a command: families by name, figures as text and CSV. It opens the
 * device itself.
 */
#ifndef PELTON_KERNEL_COMMAND_H
#define PELTON_KERNEL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_options {
    const char *variant;    /* NULL or "all": every one */
    const char *csv;        /* the file to write; "-": standard output; NULL: none */
    bool list;              /* print what can be measured, and do no more */
    char format[16];        /* name of a kernel_format; empty: every one */
    uint32_t width, height; /* pixels, multiples of 8; 0: the sizes of each family */
    uint32_t taps;          /* width of blurs; 0: every one */
    uint32_t rounds;        /* timed rounds, at least 1 */
};

enum kernel_outcome {
    KERNEL_DONE,
    KERNEL_STOPPED,   /* stopped() became true */
    KERNEL_USAGE,     /* an option or a name makes no sense */
    KERNEL_NO_DEVICE, /* no device fits */
    KERNEL_DIFFERS,   /* a kernel differs from its reference */
    KERNEL_FAILED
};

struct kernel_failure {
    int error; /* errno of a file, or 0 */
    char cause[512], hint[256];
};

struct kernel_command {
    const char *const *families; /* names */
    unsigned n_families;         /* 0: all */
    const char *device;          /* as gpu_params.device */
    const struct kernel_options *options;
    void (*log)(void *ctx, int level, const char *line); /* as gpu_params.log; ctx is NULL */
    bool (*stopped)(void);                               /* asked between kernels */
};

/* Runs the command. Fills *failure unless the outcome is KERNEL_DONE or KERNEL_STOPPED; with an
 * errno, cause is the name of the file. Figures go to standard output. Call it from one thread. */
enum kernel_outcome kernel_command(const struct kernel_command *command,
                                   struct kernel_failure *failure);

#endif
