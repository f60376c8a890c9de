/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The controls of cameras: see control_board.h. It keeps the last list of each of the sources that
 * changed last. Equal lists are no change.
 */
#include "web/control_board.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LISTS = 64 };

struct control_board {
    pthread_mutex_t lock;
    uint64_t change;
    struct control_list lists[LISTS];
};

struct control_board *control_board_new(void)
{
    struct control_board *b = calloc(1, sizeof(*b));
    if (b)
        pthread_mutex_init(&b->lock, NULL);
    return b;
}

void control_board_free(struct control_board *b)
{
    if (b)
        pthread_mutex_destroy(&b->lock);
    free(b);
}

/* The place of the same source, else the oldest one. */
static struct control_list *board_place(struct control_board *b, const char *source)
{
    struct control_list *oldest = &b->lists[0];
    for (int i = 0; i < LISTS; i++) {
        if (strcmp(b->lists[i].source, source) == 0)
            return &b->lists[i];
        if (b->lists[i].change < oldest->change)
            oldest = &b->lists[i];
    }
    return oldest;
}

static bool controls_equal(const struct control_list *a, const struct control_list *b)
{
    return strcmp(a->source, b->source) == 0 && a->n == b->n &&
           memcmp(a->control, b->control, a->n * sizeof(a->control[0])) == 0;
}

static void place_fill(struct control_board *b, struct control_list *place,
                       const struct control_list *list)
{
    if (controls_equal(place, list))
        return;
    *place = *list;
    place->change = ++b->change;
}

void control_board_put(struct control_board *b, const struct control_list *list)
{
    pthread_mutex_lock(&b->lock);
    place_fill(b, board_place(b, list->source), list);
    pthread_mutex_unlock(&b->lock);
}

void control_board_offer(struct control_board *b, const struct control_list *list)
{
    pthread_mutex_lock(&b->lock);
    struct control_list *place = board_place(b, list->source);
    if (strcmp(place->source, list->source) != 0)
        place_fill(b, place, list);
    pthread_mutex_unlock(&b->lock);
}

static struct pelton_control *control_named(struct control_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->control[i].name, name) == 0)
            return &list->control[i];
    return NULL;
}

/* Of a switch; preset: where the camera has none. */
static bool control_is_on(struct control_list *list, const char *name, bool preset)
{
    const struct pelton_control *c = control_named(list, name);
    return c ? c->value[0] > 0 : preset;
}

/* What exposure control may move. Manual values are as they were set: the last frame may be older.
 */
static void camera_follow(struct control_list *list, const struct pelton_camera *camera)
{
    const struct {
        const char *name, *mode; /* 0: automatic; NULL: always so */
        double value;
    } now[] = {{"ExposureTime", "ExposureTimeMode", camera->exposure_us},
               {"AnalogueGain", "AnalogueGainMode", camera->analogue_gain},
               {"DigitalGain", NULL, camera->digital_gain}};
    if (!control_is_on(list, "AeEnable", true) || control_is_on(list, "AeLocked", false))
        return;
    for (size_t i = 0; i < sizeof(now) / sizeof(*now); i++) {
        struct pelton_control *c = control_named(list, now[i].name);
        if (c && (!now[i].mode || !control_is_on(list, now[i].mode, false)))
            c->value[0] = now[i].value;
    }
}

void control_board_follow(struct control_board *b, const char *source,
                          const struct pelton_camera *camera)
{
    pthread_mutex_lock(&b->lock);
    struct control_list *place = board_place(b, source);
    struct control_list list = *place;
    if (strcmp(place->source, source) == 0) {
        camera_follow(&list, camera);
        place_fill(b, place, &list);
    }
    pthread_mutex_unlock(&b->lock);
}

void control_board_forget(struct control_board *b, const char *source)
{
    pthread_mutex_lock(&b->lock);
    struct control_list *place = board_place(b, source);
    if (strcmp(place->source, source) == 0)
        *place = (struct control_list){.n = 0};
    pthread_mutex_unlock(&b->lock);
}

bool control_board_next(struct control_board *b, uint64_t seen, struct control_list *out)
{
    const struct control_list *next = NULL;
    pthread_mutex_lock(&b->lock);
    for (int i = 0; i < LISTS; i++) {
        const struct control_list *l = &b->lists[i];
        if (l->change > seen && (!next || l->change < next->change))
            next = l;
    }
    if (next)
        *out = *next;
    pthread_mutex_unlock(&b->lock);
    return next != NULL;
}

uint64_t control_board_newest(struct control_board *b)
{
    pthread_mutex_lock(&b->lock);
    uint64_t change = b->change;
    pthread_mutex_unlock(&b->lock);
    return change;
}

/* NULL: a plain number. */
static const char *control_unit(const char *name)
{
    static const struct {
        const char *name, *unit;
    } units[] = {{"ExposureTime", "us"},    {"AeFlickerPeriod", "us"}, {"ExposureValue", "EV"},
                 {"AeRegion", "samples"},   {"ScalerCrop", "samples"}, {"AnalogueGain", "factor"},
                 {"DigitalGain", "factor"}, {"ColourGains", "factor"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (strcmp(units[i].name, name) == 0)
            return units[i].unit;
    return NULL;
}

static void control_write(struct json *j, const struct pelton_control *c)
{
    json_open(j, NULL, '{');
    json_text(j, "name", c->name);
    if (c->n == 1) {
        json_number(j, "value", c->value[0]);
    } else {
        json_open(j, "value", '[');
        for (uint32_t i = 0; i < c->n && i < PELTON_CONTROL_VALUES; i++)
            json_number(j, NULL, c->value[i]);
        json_close(j, ']');
    }
    json_number(j, "min", c->least);
    json_number(j, "max", c->most);
    json_text(j, "unit", control_unit(c->name));
    json_close(j, '}');
}

void control_list_write(struct json *j, const struct control_list *list)
{
    json_open(j, "controls", '[');
    for (uint32_t i = 0; i < list->n; i++)
        control_write(j, &list->control[i]);
    json_close(j, ']');
}
