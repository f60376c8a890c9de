/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Figures of kernels as CSV: written, read again, and the list of what there is to measure.
 */
#include "bench/bench_kernels.h"

#include <stdlib.h>
#include <string.h>

#define HEADER                                                                                     \
    "device,family,variant,width,height,format,weights,taps,pictures,alone_us,batch_us,bytes,gb_"  \
    "s,of_copy,host_us,error,clock,spread\n"
enum {
    DEVICE,
    FAMILY,
    VARIANT,
    W,
    H,
    FORMAT,
    WEIGHTS,
    TAPS,
    PICTURES,
    ALONE,
    BATCH,
    BYTES,
    GB_S,
    OF_COPY,
    HOST,
    ERROR,
    CLOCK,
    SPREAD,
    FIELDS
};

static void write_case(FILE *file, const struct kernel_family *family,
                       const struct kernel_variant *variant, const struct kernel_case *c)
{
    enum kernel_axis axis = kernel_family_axis(family);
    fprintf(file, "%s,%s,%u,%u,%s,%s,%u,%u", kernel_family_name(family),
            kernel_variant_name(variant), c->width, c->height, kernel_format_name(c->format),
            axis != KERNEL_AXIS_TAPS ? ""
            : c->gauss               ? "gauss"
                                     : "box",
            c->taps, c->pictures);
}

void bench_csv_write(FILE *file, const char *device, double copy, const struct kernel_row *rows,
                     size_t count)
{
    fputs(HEADER, file);
    for (size_t i = 0; i < count; i++) {
        const struct kernel_result *r = &rows[i].result;
        double rate = r->batch > 0 ? (double)r->bytes / r->batch : 0;
        fprintf(file, "\"%s\",", device);
        write_case(file, rows[i].family, rows[i].variant, &rows[i].c);
        fprintf(file, ",%.3f,%.3f,%llu,%.2f,%.4f,%.2f,%.4g,%.3f,%.3f\n", 1e6 * r->alone,
                1e6 * r->batch, (unsigned long long)r->bytes, 1e-9 * rate,
                copy > 0 ? rate / copy : 0, 1e6 * r->host, r->error, r->clock, r->spread);
    }
}

void bench_csv_list(FILE *file)
{
    for (uint32_t f = 0; f < kernel_family_count(); f++) {
        const struct kernel_family *family = kernel_family(f);
        for (uint32_t k = 0; k < kernel_case_count(family, false); k++) {
            struct kernel_case c;
            kernel_case_get(family, false, k, &c);
            for (uint32_t v = 0; v < kernel_variant_count(family); v++) {
                if (!kernel_not_for(family, kernel_variant(family, v), &c)) {
                    write_case(file, family, kernel_variant(family, v), &c);
                    fputc('\n', file);
                }
            }
        }
    }
}

/* In place. False where there are not as many fields. */
static bool split(char *line, char *fields[FIELDS])
{
    unsigned n = 0;
    char *next = line;
    line[strcspn(line, "\n")] = 0;
    while (next && n < FIELDS) {
        char *at = next, *quote = *at == '"' ? strchr(at + 1, '"') : NULL;
        next = strchr(quote ? quote : at, ',');
        if (next)
            *next++ = 0;
        if (quote) {
            *quote = 0;
            at++;
        }
        fields[n++] = at;
    }
    return n == FIELDS && !next;
}

static bool read_row(char *fields[FIELDS], struct kernel_row *out)
{
    struct kernel_row row = {.family = kernel_family_find(fields[FAMILY])};
    row.variant = row.family ? kernel_variant_find(row.family, fields[VARIANT]) : NULL;
    if (!row.variant || !kernel_format_find(fields[FORMAT], &row.c.format))
        return false;
    row.c.width = (uint32_t)strtoul(fields[W], NULL, 10);
    row.c.height = (uint32_t)strtoul(fields[H], NULL, 10);
    row.c.taps = (uint32_t)strtoul(fields[TAPS], NULL, 10);
    row.c.pictures = (uint32_t)strtoul(fields[PICTURES], NULL, 10);
    row.c.gauss = !strcmp(fields[WEIGHTS], "gauss");
    row.result = (struct kernel_result){.alone = 1e-6 * strtod(fields[ALONE], NULL),
                                        .batch = 1e-6 * strtod(fields[BATCH], NULL),
                                        .host = 1e-6 * strtod(fields[HOST], NULL),
                                        .bytes = strtoull(fields[BYTES], NULL, 10),
                                        .error = strtod(fields[ERROR], NULL),
                                        .clock = strtod(fields[CLOCK], NULL),
                                        .spread = strtod(fields[SPREAD], NULL)};
    if (kernel_not_for(row.family, row.variant, &row.c) || !(row.result.batch > 0))
        return false;
    *out = row;
    return true;
}

unsigned bench_csv_read(FILE *file, char device[BENCH_DEVICE],
                        bool (*each)(void *ctx, const struct kernel_row *row), void *ctx)
{
    char line[1024], *fields[FIELDS];
    unsigned n = 1;
    if (!fgets(line, sizeof(line), file) || strcmp(line, HEADER) != 0)
        return n;
    for (n++; fgets(line, sizeof(line), file); n++) {
        struct kernel_row row;
        if (!split(line, fields) || !read_row(fields, &row) || !each(ctx, &row))
            return n;
        snprintf(device, BENCH_DEVICE, "%s", fields[DEVICE]);
    }
    return 0;
}
