/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Runs every variant of the families that are asked for, over their cases.
 *
 * The happy path: open the device, check each variant against its reference, time those that are
 * right, write the figures. A wrong variant is reported and not timed. The failure modes are those
 * of the device and of the files.
 */
#include "bench/bench_kernels.h"
#include "bench/kernel_command.h"
#include "gpu/engine/driver_cache.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOCKS_UP 0.97

struct kernels {
    const struct kernel_command *command;
    const struct kernel_options *o;
    struct kernel_failure *f;
    struct gpu *g;
    struct kernel_bench *bench;
    char device[256];
    double copy; /* bytes read and written a second by a copy; 0: not known */
    struct kernel_row *rows;
    size_t count, room;
    unsigned wrong, variants;
};

/* Sets the failure, where there is none yet, and returns the outcome. */
__attribute__((format(printf, 4, 5))) static enum kernel_outcome kernels_fail(
    struct kernels *k, enum kernel_outcome outcome, const char *hint, const char *cause, ...)
{
    if (k->f->cause[0])
        return outcome;
    va_list args;
    va_start(args, cause);
    vsnprintf(k->f->cause, sizeof(k->f->cause), cause, args);
    va_end(args);
    snprintf(k->f->hint, sizeof(k->f->hint), "%s", hint);
    return outcome;
}

static enum kernel_outcome kernels_fail_file(struct kernels *k, enum kernel_outcome outcome,
                                             const char *path)
{
    k->f->error = errno;
    return kernels_fail(k, outcome, "", "%s", path);
}

static enum kernel_outcome kernels_no_memory(struct kernels *k)
{
    return kernels_fail(k, KERNEL_FAILED, "close other programs", "out of memory");
}

static int kernels_open_device(struct kernels *k)
{
    driver_cache_guard();
    int err = gpu_open(&(struct gpu_params){.device = k->command->device,
                                            .timestamps = true,
                                            .log = k->command->log},
                       &k->g);
    if (err == GPU_OK) {
        uint64_t seed = (uint64_t)time(NULL);
        err = kernel_bench_create(k->g, seed, k->o->rounds, &k->bench);
    }
    if (err < 0) {
        return kernels_fail(k, err == GPU_ERR_NO_DEVICE ? KERNEL_NO_DEVICE : KERNEL_FAILED,
                            "pelton doctor says what is there", "%s", gpu_error_text(err));
    }
    snprintf(k->device, sizeof(k->device), "%s", gpu_info(k->g)->name);
    if (kernel_copy_bandwidth(k->bench, &k->copy) < 0)
        k->copy = 0;
    return 0;
}

static int kernels_keep(struct kernels *k, const struct kernel_row *row)
{
    if (k->count == k->room) {
        size_t room = k->room ? 2 * k->room : 256;
        struct kernel_row *rows = realloc(k->rows, room * sizeof(*rows));
        if (!rows)
            return kernels_no_memory(k);
        k->rows = rows;
        k->room = room;
    }
    k->rows[k->count++] = *row;
    return 0;
}

static void print_row(const struct kernels *k, const struct kernel_row *row)
{
    const struct kernel_result *r = &row->result;
    double rate = r->batch > 0 ? (double)r->bytes / r->batch : 0;
    printf("  %-28s %9.2f %9.2f %8.1f", kernel_variant_name(row->variant), 1e6 * r->alone,
           1e6 * r->batch, 1e-9 * rate);
    if (k->copy > 0)
        printf("  %5.1f %%", 100 * rate / k->copy);
    if (r->host > 0)
        printf("   read by a CPU: %.1f us", 1e6 * r->host);
    printf("   error %.3g", r->error);
    if (r->clock > 0 && r->clock < CLOCKS_UP)
        printf("   clocks at %.0f %%", 100 * r->clock);
    putchar('\n');
}

static bool is_wanted(const struct kernels *k, const struct kernel_variant *variant)
{
    const char *name = k->o->variant;
    return !name || !strcmp(name, "all") || !strcmp(name, kernel_variant_name(variant));
}

/* What came out of kernel_check or kernel_run: *fits: there is something to time, or it has been.
 */
static int kernels_judge(struct kernels *k, const struct kernel_row *row, int err, const char *why,
                         bool *fits)
{
    const char *name = kernel_variant_name(row->variant);
    *fits = err == GPU_OK;
    if (err == 1) {
        char line[KERNEL_WHY + 96];
        snprintf(line, sizeof(line), "%s: %s", name, why);
        k->command->log(NULL, 2 /* a detail */, line);
        return 0;
    }
    if (err == GPU_ERR_INVALID) {
        printf("  %-28s WRONG: %s\n", name, why);
        k->variants++;
        k->wrong++;
        return 0;
    }
    return err < 0 ? kernels_fail(k, KERNEL_FAILED, "", "%s: %s", name, why) : 0;
}

static int time_variant(struct kernels *k, struct kernel_row *row)
{
    char why[KERNEL_WHY];
    bool fits;
    int rc = kernels_judge(
        k, row, kernel_run(k->bench, row->family, row->variant, &row->c, &row->result, why), why,
        &fits);
    if (rc || !fits)
        return rc;
    k->variants++;
    print_row(k, row);
    return kernels_keep(k, row);
}

/* First all variants are checked, then those that are right are timed. */
static int run_case(struct kernels *k, const struct kernel_family *family,
                    const struct kernel_case *c)
{
    char text[96], why[KERNEL_WHY];
    uint32_t count = kernel_variant_count(family);
    bool *fits = calloc(count, sizeof(*fits));
    if (!fits)
        return kernels_no_memory(k);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        fits[i] = is_wanted(k, kernel_variant(family, i)) &&
                  !kernel_not_for(family, kernel_variant(family, i), c);
        any |= fits[i];
    }
    if (!any) {
        free(fits);
        return 0;
    }
    int err = kernel_compile(k->bench, family, c, fits);
    int rc = err < 0 ? kernels_fail(k, KERNEL_FAILED, "", "%s", gpu_error_text(err)) : 0;
    kernel_case_text(family, c, text, sizeof(text));
    printf("%s, %s\n", kernel_family_name(family), text);
    for (uint32_t i = 0; i < 2 * count && rc == 0 && !k->command->stopped(); i++) {
        struct kernel_row row = {
            .family = family, .variant = kernel_variant(family, i % count), .c = *c};
        if (i < count && fits[i])
            rc = kernels_judge(k, &row, kernel_check(k->bench, family, row.variant, c, why), why,
                               &fits[i]);
        else if (i >= count && fits[i - count])
            rc = time_variant(k, &row);
    }
    free(fits);
    if (fflush(stdout) != 0 && rc == 0)
        rc = kernels_fail_file(k, KERNEL_FAILED, "standard output");
    return rc;
}

static bool same_case(const struct kernel_case *a, const struct kernel_case *b)
{
    return a->width == b->width && a->height == b->height && a->format == b->format &&
           a->taps == b->taps && a->gauss == b->gauss && a->pictures == b->pictures;
}

/* The family's cases, those of other formats and widths left out, at the size asked for. */
static int run_family(struct kernels *k, const struct kernel_family *family)
{
    const struct kernel_options *o = k->o;
    struct kernel_case done[64];
    uint32_t n_done = 0;
    int rc = 0;
    for (uint32_t i = 0; i < kernel_case_count(family, false) && rc == 0 && !k->command->stopped();
         i++) {
        struct kernel_case c;
        bool again = false;
        kernel_case_get(family, false, i, &c);
        if ((o->format[0] && strcmp(o->format, kernel_format_name(c.format)) != 0) ||
            (o->taps && kernel_family_axis(family) == KERNEL_AXIS_TAPS && c.taps != o->taps)) {
            continue;
        }
        if (o->width) {
            c.width = o->width;
            c.height = o->height;
        }
        for (uint32_t d = 0; d < n_done; d++)
            again = again || same_case(&done[d], &c);
        if (again)
            continue;
        if (n_done < sizeof(done) / sizeof(*done))
            done[n_done++] = c;
        rc = run_case(k, family, &c);
    }
    return rc;
}

static bool knows_variant(const struct kernels *k)
{
    const struct kernel_options *o = k->o;
    bool known = !o->variant || !strcmp(o->variant, "all");
    for (unsigned i = 0; i < k->command->n_families && !known; i++)
        known = kernel_variant_find(kernel_family_find(k->command->families[i]), o->variant);
    for (uint32_t i = 0; k->command->n_families == 0 && i < kernel_family_count() && !known; i++)
        known = kernel_variant_find(kernel_family(i), o->variant);
    return known;
}

static int check_families(struct kernels *k)
{
    for (unsigned i = 0; i < k->command->n_families; i++) {
        if (!kernel_family_find(k->command->families[i])) {
            return kernels_fail(k, KERNEL_USAGE, "pelton help bench lists them",
                                "%s: no such family of kernels", k->command->families[i]);
        }
    }
    if (!knows_variant(k)) {
        return kernels_fail(k, KERNEL_USAGE, "without --variant all are measured, and named",
                            "--variant %s: no such variant of these families", k->o->variant);
    }
    return 0;
}

static int run_families(struct kernels *k)
{
    int rc = 0;
    printf("%s, %s; a copy moves %.0f GB/s, read and written\n", gpu_info(k->g)->name,
           gpu_info(k->g)->driver, 1e-9 * k->copy);
    printf("  %-28s %9s %9s %8s  %s\n", "variant", "alone us", "batch us", "GB/s", "of a copy");
    for (unsigned i = 0; i < k->command->n_families && rc == 0; i++)
        rc = run_family(k, kernel_family_find(k->command->families[i]));
    for (uint32_t i = 0; k->command->n_families == 0 && i < kernel_family_count() && rc == 0; i++)
        rc = run_family(k, kernel_family(i));
    return rc;
}

static FILE *open_output(struct kernels *k, const char *path)
{
    FILE *file = !strcmp(path, "-") ? stdout : fopen(path, "w");
    if (!file)
        kernels_fail_file(k, KERNEL_FAILED, path);
    return file;
}

static int close_output(struct kernels *k, FILE *file, const char *path)
{
    bool bad = ferror(file) != 0;
    bad = (file == stdout ? fflush(file) : fclose(file)) != 0 || bad;
    return bad ? kernels_fail_file(k, KERNEL_FAILED, path) : 0;
}

static int write_csv(struct kernels *k)
{
    FILE *file = open_output(k, k->o->csv);
    if (!file)
        return KERNEL_FAILED;
    bench_csv_write(file, k->device, k->copy, k->rows, k->count);
    return close_output(k, file, k->o->csv);
}

static int kernels_measure(struct kernels *k)
{
    int rc = kernels_open_device(k);
    rc = rc ? rc : run_families(k);
    return rc == 0 && k->command->stopped() ? KERNEL_STOPPED : rc;
}

/* Writes what was asked for, and judges. */
static int kernels_report(struct kernels *k)
{
    int rc = 0;
    if (k->variants == 0) {
        rc =
            kernels_fail(k, KERNEL_USAGE, "without --variant, --size and --format all are measured",
                         "no variant fits what was asked for");
    }
    if (rc == 0 && k->o->csv)
        rc = write_csv(k);
    if (rc == 0 && k->wrong) {
        rc = kernels_fail(k, KERNEL_DIFFERS, "", "%u of %u kernels differ from the reference",
                          k->wrong, k->variants);
    }
    return rc;
}

enum kernel_outcome kernel_command(const struct kernel_command *command,
                                   struct kernel_failure *failure)
{
    struct kernels k = {.command = command, .o = command->options, .f = failure};
    enum kernel_format format;
    *failure = (struct kernel_failure){0};
    if (k.o->format[0] && !kernel_format_find(k.o->format, &format)) {
        return kernels_fail(&k, KERNEL_USAGE,
                            "rgba8, rgba32f, nv12, bayer8, bayer12, rgb16, luma8 or yuv420",
                            "--format %s: no such format", k.o->format);
    }
    int rc = check_families(&k);
    if (rc == 0 && k.o->list) {
        bench_csv_list(stdout);
        return KERNEL_DONE;
    }
    rc = rc ? rc : kernels_measure(&k);
    rc = rc ? rc : kernels_report(&k);
    kernel_bench_free(k.bench);
    gpu_close(k.g);
    free(k.rows);
    return (enum kernel_outcome)rc;
}
