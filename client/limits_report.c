/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Limits and sandboxes. See limits_report.h.
 */
#include "client/limits_report.h"

#include "client/columns.h"

#include <stdio.h>

static const struct column limit_columns[] = {
    {.title = "LIMIT"},
    {.title = "VALUE", .right = true},
    {.title = "USED", .right = true},
    {.title = "REFUSED", .right = true},
};

const char *sandbox_text(uint32_t sandbox)
{
    static const char *const texts[] = {"no sandbox", "seccomp, no Landlock",
                                        "Landlock, no seccomp", "seccomp and Landlock"};
    return sandbox & PELTON_SANDBOX_OFF
               ? "sandbox off"
               : texts[sandbox & (PELTON_SANDBOX_CALLS | PELTON_SANDBOX_FILES)];
}

void sandbox_print(const struct pelton_status *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++)
        printf("%s%s: %s", i ? "; " : "processes: ", i ? "worker" : "daemon",
               sandbox_text(s->processes[i].sandbox));
    if (s->n_processes)
        putchar('\n');
}

static bool has_encoded(const struct pelton_encoder_usage *e)
{
    return e->pictures + e->missed > 0;
}

static void encoder_print(const char *what, const char *device,
                          const struct pelton_encoder_usage *e)
{
    if (has_encoded(e))
        printf("%s: %s, %s, %llu pictures, %llu missed, %.1f kbit/s\n", what, device,
               e->gpu ? "GPU" : "CPU", (unsigned long long)e->pictures,
               (unsigned long long)e->missed, (double)e->bit_rate * 1e-3);
}

void encoders_print(const struct pelton_status *s)
{
    for (uint32_t i = 0; i < s->n_processes; i++) {
        const char *device = s->processes[i].device;
        encoder_print("encoder", device, &s->encoders[i]);
        encoder_print("transcoder", device, &s->transcoders[i]);
        encoder_print("JPEG", device, &s->jpegs[i]);
    }
}

void limits_print(const struct pelton_status *s)
{
    struct columns *c =
        columns_new(limit_columns, sizeof(limit_columns) / sizeof(limit_columns[0]));
    for (uint32_t i = 0; c && i < s->n_quotas; i++) {
        const struct pelton_quota *q = &s->quotas[i];
        columns_cell(c, UI_PLAIN, "%s", q->name);
        columns_cell(c, UI_PLAIN, "%llu", (unsigned long long)q->limit);
        columns_cell(c, UI_PLAIN, q->used < 0 ? "" : "%lld", (long long)q->used);
        columns_cell(c, q->refused ? UI_YELLOW : UI_PLAIN, "%llu", (unsigned long long)q->refused);
    }
    if (c && s->n_quotas)
        columns_print(c, stdout, ui_columns(stdout));
    columns_free(c);
}

static void quota_json(struct json *j, const struct pelton_quota *q)
{
    json_open(j, NULL, '{');
    json_text(j, "name", q->name);
    json_int(j, "limit", (int64_t)q->limit);
    if (q->used < 0)
        json_null(j, "used");
    else
        json_int(j, "used", q->used);
    json_int(j, "refused", (int64_t)q->refused);
    json_close(j, '}');
}

static void encoder_json(struct json *j, const char *name, const struct pelton_encoder_usage *e)
{
    if (!has_encoded(e))
        return;
    json_open(j, name, '{');
    json_text(j, "on", e->gpu ? "gpu" : "cpu");
    json_int(j, "pictures", (int64_t)e->pictures);
    json_int(j, "missed", (int64_t)e->missed);
    json_int(j, "bytes", (int64_t)e->bytes);
    json_int(j, "bit_rate", (int64_t)e->bit_rate);
    json_close(j, '}');
}

static void process_json(struct json *j, const struct pelton_status *s, uint32_t i)
{
    const struct pelton_process *p = &s->processes[i];
    json_open(j, NULL, '{');
    json_text(j, "device", p->device[0] ? p->device : NULL);
    json_int(j, "pid", p->pid);
    json_bool(j, "seccomp", p->sandbox & PELTON_SANDBOX_CALLS);
    json_bool(j, "landlock", p->sandbox & PELTON_SANDBOX_FILES);
    encoder_json(j, "encoder", &s->encoders[i]);
    encoder_json(j, "transcoder", &s->transcoders[i]);
    encoder_json(j, "jpegs", &s->jpegs[i]);
    json_close(j, '}');
}

void limits_json(struct json *j, const struct pelton_status *s)
{
    json_open(j, "processes", '[');
    for (uint32_t i = 0; i < s->n_processes; i++)
        process_json(j, s, i);
    json_close(j, ']');
    json_open(j, "limits", '[');
    for (uint32_t i = 0; i < s->n_quotas; i++)
        quota_json(j, &s->quotas[i]);
    json_close(j, ']');
}
