/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Controls in a request's body: see control_wishes.h.
 */
#include "web/control_wishes.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool value_read(const cJSON *item, double *out)
{
    *out = cJSON_IsBool(item) ? cJSON_IsTrue(item) : item->valuedouble;
    return (cJSON_IsBool(item) || cJSON_IsNumber(item)) && isfinite(*out);
}

/* A number, true or false, or an array of them. */
static bool wish_read(const cJSON *item, struct pelton_control *out)
{
    const cJSON *value;
    *out = (struct pelton_control){.n = 0};
    if (!item->string || strlen(item->string) >= sizeof(out->name))
        return false;
    memcpy(out->name, item->string, strlen(item->string));
    if (!cJSON_IsArray(item)) {
        out->n = 1;
        return value_read(item, &out->value[0]);
    }
    cJSON_ArrayForEach(value, item)
    {
        if (out->n == PELTON_CONTROL_VALUES || !value_read(value, &out->value[out->n++]))
            return false;
    }
    return out->n > 0;
}

static bool wishes_fill(const cJSON *body, struct control_list *out, char why[WISHES_WHY])
{
    const cJSON *item;
    out->n = 0;
    if (!cJSON_IsObject(body) || !body->child) {
        snprintf(why, WISHES_WHY, "the body is no object of JSON");
        return false;
    }
    cJSON_ArrayForEach(item, body)
    {
        bool room = out->n < PELTON_MAX_CONTROLS;
        if (!room || !wish_read(item, &out->control[out->n])) {
            snprintf(why, WISHES_WHY, "%.40s: %s", item->string ? item->string : "",
                     room ? "expected a number, true, false or an array"
                          : "more controls than there are");
            return false;
        }
        out->n++;
    }
    return true;
}

bool control_wishes_read(const char *body, size_t size, struct control_list *out,
                         char why[WISHES_WHY])
{
    cJSON *parsed = cJSON_ParseWithLength(body, size);
    bool good = wishes_fill(parsed, out, why);
    cJSON_Delete(parsed);
    return good;
}
