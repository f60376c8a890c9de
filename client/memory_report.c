/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What workers hold, by use. See memory_report.h.
 */
#include "client/memory_report.h"

#include <stdio.h>

static const char *const use_names[PELTON_MEMORY_USES] = {[PELTON_MEMORY_OTHER] = "other",
                                                          [PELTON_MEMORY_SLOTS] = "slots",
                                                          [PELTON_MEMORY_BATCHES] = "batches",
                                                          [PELTON_MEMORY_ENTROPY] = "entropy",
                                                          [PELTON_MEMORY_COEFFICIENTS] =
                                                              "coefficients",
                                                          [PELTON_MEMORY_MOTION] = "motion",
                                                          [PELTON_MEMORY_ARRAYS] = "arrays",
                                                          [PELTON_MEMORY_POOLS] = "pools",
                                                          [PELTON_MEMORY_CAMERAS] = "cameras",
                                                          [PELTON_MEMORY_HEAP] = "heap"};

/* Uses that this program does not know count as well. */
static uint64_t memory_total(const uint64_t uses[PELTON_MEMORY_MOST])
{
    uint64_t sum = 0;
    for (int i = 0; i < PELTON_MEMORY_MOST; i++)
        sum += uses[i];
    return sum;
}

static void side_print(const char *name, const uint64_t uses[PELTON_MEMORY_MOST])
{
    const char *before = " (";
    printf("%s %.1f MB", name, (double)memory_total(uses) * 1e-6);
    for (int i = 0; i < PELTON_MEMORY_USES; i++) {
        if (uses[i] < 50000)
            continue;
        printf("%s%s %.1f", before, use_names[i], (double)uses[i] * 1e-6);
        before = ", ";
    }
    printf("%s", before[0] == ',' ? ")" : "");
}

void memory_print(const char *head, const uint64_t gpu[PELTON_MEMORY_MOST],
                  const uint64_t host[PELTON_MEMORY_MOST])
{
    printf("%s", head);
    side_print("device", gpu);
    printf(", ");
    side_print("host", host);
    printf("\n");
}

static void side_json(struct json *j, const char *name, const uint64_t uses[PELTON_MEMORY_MOST])
{
    json_open(j, name, '{');
    json_int(j, "total", (int64_t)memory_total(uses));
    for (int i = 0; i < PELTON_MEMORY_USES; i++)
        json_int(j, use_names[i], (int64_t)uses[i]);
    json_close(j, '}');
}

void memory_json(struct json *j, const char *name, const uint64_t gpu[PELTON_MEMORY_MOST],
                 const uint64_t host[PELTON_MEMORY_MOST])
{
    json_open(j, name, '{');
    side_json(j, "device", gpu);
    side_json(j, "host", host);
    json_close(j, '}');
}
