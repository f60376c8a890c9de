/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What workers hold, by use. See memory_report.h.
 */
#include "client/memory_report.h"
#include "client/ui.h"

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

/* One line. Uses that it has no room for are left out, and "..." stands for them. */
static void side_print(const char *head, const char *name, const uint64_t uses[PELTON_MEMORY_MOST])
{
    const char *before = " (";
    char use[64];
    unsigned width = ui_columns(stdout);
    int at = printf("%s%s %.1f MB", head, name, (double)memory_total(uses) * 1e-6);
    for (int i = 0; i < PELTON_MEMORY_USES; i++) {
        if (uses[i] < 50000)
            continue;
        int n =
            snprintf(use, sizeof(use), "%s%s %.1f", before, use_names[i], (double)uses[i] * 1e-6);
        bool fits = !width || at + n + 6 <= (int)width; /* "...)" and more */
        at += printf("%s", fits ? use : before[0] == ',' ? ", ..." : "");
        if (!fits)
            break;
        before = ", ";
    }
    printf("%s\n", before[0] == ',' ? ")" : "");
}

void memory_print(const char *head, const uint64_t gpu[PELTON_MEMORY_MOST],
                  const uint64_t host[PELTON_MEMORY_MOST])
{
    side_print(head, "device", gpu);
    side_print(head, "host", host);
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
