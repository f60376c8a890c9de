/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Figures of kernels as CSV, and the list of kernels and cases.
 */
#include "bench/bench_kernels.h"

#define HEADER                                                                                     \
    "device,family,variant,width,height,format,weights,taps,pictures,alone_us,batch_us,bytes,gb_"  \
    "s,of_copy,host_us,error,clock,spread\n"

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
