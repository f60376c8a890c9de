/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Controls that clients have set on a camera: see kept_controls.h.
 *
 * Some controls hold an exposure as it is now. The values that they hold are kept before them. A
 * lock of a control that goes on has no values of its own, so AeLocked is not kept.
 */
#include "daemon/broker/kept_controls.h"

#include <string.h>

/* held: what stays as it is where the control has this value; HOLDS_ANY: where it is set at all. */
enum { HOLDS_ANY = -1 };

static const struct {
    const char *name, *held[2];
    int value;
} holders[] = {
    {"AeEnable", {"ExposureTime", "AnalogueGain"}, 0},
    {"ExposureTimeMode", {"ExposureTime", NULL}, 1},
    {"AnalogueGainMode", {"AnalogueGain", NULL}, 1},
    {"DigitalGain", {"ExposureTime", "AnalogueGain"}, HOLDS_ANY},
};

static bool is_kept(const char *name)
{
    return strcmp(name, "AeLocked") != 0;
}

/* It becomes the last one. */
static void control_keep(struct kept_controls *k, const struct pelton_control *c)
{
    uint32_t i = 0;
    while (i < k->n && strcmp(k->list[i].name, c->name) != 0)
        i++;
    if (i < k->n)
        memmove(&k->list[i], &k->list[i + 1], (--k->n - i) * sizeof(k->list[0]));
    if (k->n < PELTON_MAX_CONTROLS)
        k->list[k->n++] = *c;
}

static void control_keep_named(struct kept_controls *k, const char *name,
                               const struct pelton_control *now, size_t n)
{
    for (size_t i = 0; name && i < n; i++)
        if (!strcmp(now[i].name, name))
            control_keep(k, &now[i]);
}

static void control_keep_held(struct kept_controls *k, const struct pelton_control *c,
                              const struct pelton_control *now, size_t n)
{
    for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++) {
        if (strcmp(holders[i].name, c->name) != 0 ||
            (holders[i].value != HOLDS_ANY && (c->n == 0 || c->value[0] != holders[i].value)))
            continue;
        control_keep_named(k, holders[i].held[0], now, n);
        control_keep_named(k, holders[i].held[1], now, n);
    }
}

void kept_controls_add(struct kept_controls *k, const Pelton__Controls *set,
                       const Pelton__ControlsReply *now)
{
    struct pelton_control wishes[PELTON_MAX_CONTROLS], all[PELTON_MAX_CONTROLS];
    if (wire_controls_to(set->set, set->n_set, wishes) < 0 ||
        wire_controls_to(now->controls, now->n_controls, all) < 0)
        return;
    for (size_t i = 0; i < set->n_set; i++) {
        if (!is_kept(wishes[i].name))
            continue;
        control_keep_held(k, &wishes[i], all, now->n_controls);
        control_keep(k, &wishes[i]);
    }
}
