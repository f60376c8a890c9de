/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton info, get, set: questions to one source.
 *
 * The happy path is a connection and a stream without frames; info --exposure takes one. The
 * failure modes are those of the daemon, and an unknown name or control.
 */
#include "client/commands.h"
#include "client/exposure_report.h"
#include "client/input.h"
#include "proto/exposure_json.h"
#include "proto/near_name.h"
#include "client/ui.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    struct pelton *conn;
    struct pelton_stream *stream;
    struct pelton_info info;
    struct pelton_control controls[PELTON_MAX_CONTROLS];
    uint32_t n;
    char name[512];  /* its address */
    char shown[512]; /* the same without a password */
};

static void asked_close(struct asked *a)
{
    pelton_stream_close(a->stream);
    pelton_close(a->conn);
}

static int asked_open(struct client_options *o, struct asked *a, struct failure *f)
{
    struct client_input source = {.fd = -1};
    struct pelton_open_params params;
    int rc = input_resolve_name(o, a->name, sizeof(a->name), f);
    rc = rc ? rc : input_open(o->inputs[0], &source, f);
    if (rc)
        return rc;
    snprintf(a->shown, sizeof(a->shown), "%s", source.name);
    input_params(o, &source, &params);
    if (o->exposure)
        params.policy = PELTON_LATEST;
    else
        params.bench.transport = PELTON_NONE;
    rc = connection_open(o, &a->conn, f);
    rc = rc ? rc : input_subscribe(o, a->conn, &params, source.name, &a->info, &a->stream, f);
    input_close(&source);
    return rc;
}

static bool wanted(const struct client_options *o, const char *name)
{
    for (unsigned i = 1; i < o->n_inputs; i++)
        if (!strcmp(o->inputs[i], name))
            return true;
    return o->n_inputs <= 1;
}

static void print_control(const struct pelton_control *c, struct json *j)
{
    if (j) {
        json_open(j, c->name, '[');
        for (uint32_t i = 0; i < c->n; i++)
            json_number(j, NULL, c->value[i]);
        json_close(j, ']');
        return;
    }
    printf("%s=%g", c->name, c->value[0]);
    for (uint32_t i = 1; i < c->n; i++)
        printf(",%g", c->value[i]);
    printf("  (%g..%g)\n", c->least, c->most);
}

static int refuse_control(const struct asked *a, const char *name, struct failure *f)
{
    char hint[160];
    struct near_name near = near_name_of(name, strlen(name));
    for (uint32_t k = 0; k < a->n; k++)
        near_name_try_name(&near, a->controls[k].name);
    return fail_with(
        f, X_USAGE, near_name_hint(&near, "pelton get NAME lists the controls", hint, sizeof(hint)),
        "%s: no such control", name);
}

/* Asks for controls, and sets some before. */
static int asked_controls(const struct client_options *o, struct asked *a,
                          const struct pelton_control *set, uint32_t n, struct failure *f)
{
    int rc = pelton_controls(a->stream, timeout_ms(o), set, n, a->controls, &a->n);
    if (rc != PELTON_ERR_USAGE)
        return rc < 0 ? fail_pelton(f, a->conn, a->shown) : 0;
    struct pelton_failure why = *pelton_failure(a->conn);
    for (uint32_t i = 0; i < n; i++) {
        bool listed = pelton_controls(a->stream, timeout_ms(o), NULL, 0, a->controls, &a->n) == 0;
        bool known = !listed;
        for (uint32_t k = 0; k < a->n; k++)
            known |= !strcmp(a->controls[k].name, set[i].name);
        if (!known)
            return refuse_control(a, set[i].name, f);
    }
    return fail_with(f, X_USAGE,
                     why.hint[0] ? why.hint
                                 : "pelton get NAME lists the controls of a "
                                   "camera, with their limits",
                     "%s: %s", a->shown + (strncmp(a->shown, "source:", 7) ? 0 : 7), why.cause);
}

static int print_controls(const struct client_options *o, const struct asked *a, struct failure *f)
{
    struct json j = {.file = stdout};
    for (unsigned i = 1; i < o->n_inputs; i++) {
        uint32_t k = 0;
        while (k < a->n && strcmp(a->controls[k].name, o->inputs[i]) != 0)
            k++;
        if (k == a->n)
            return refuse_control(a, o->inputs[i], f);
    }
    if (o->json)
        json_open(&j, NULL, '{');
    for (uint32_t i = 0; i < a->n; i++)
        if (wanted(o, a->controls[i].name))
            print_control(&a->controls[i], o->json ? &j : NULL);
    if (o->json)
        json_close(&j, '}');
    return 0;
}

int cmd_get(struct client_options *o, struct failure *f)
{
    struct asked a = {0};
    int rc = asked_open(o, &a, f);
    rc = rc ? rc : asked_controls(o, &a, NULL, 0, f);
    rc = rc ? rc : print_controls(o, &a, f);
    asked_close(&a);
    return rc;
}

/* Name=1 or Name=1,2; true and false are 1 and 0. */
static int parse_control(const char *text, struct pelton_control *out, struct failure *f)
{
    const char *at = strchr(text, '=');
    *out = (struct pelton_control){0};
    if (!at || at == text || (size_t)(at - text) >= sizeof(out->name)) {
        return fail_with(f, X_USAGE, "as in: pelton set front ExposureTime=5000",
                         "%s: expected Control=Value", text);
    }
    memcpy(out->name, text, (size_t)(at - text));
    for (at++;; at++) {
        char *end = (char *)at;
        bool yes = !strncmp(at, "true", 4), no = !strncmp(at, "false", 5);
        double value = yes || no ? yes : strtod(at, &end);
        end += yes ? 4 : no ? 5 : 0;
        if (end == at || (*end && *end != ',') || out->n == PELTON_CONTROL_VALUES) {
            return fail_with(f, X_USAGE, "numbers, true or false, with commas between",
                             "%s: not understood", text);
        }
        out->value[out->n++] = value;
        at = end;
        if (!*at)
            return 0;
    }
}

/* Says where the values end. The daemon keeps those of its named sources. */
static void say_how_long(const struct asked *a, const struct pelton_control *set, uint32_t n)
{
    if (!pelton_socket(a->conn)) {
        ui_log(LOG_WARNING, "%s: set until this command ends: its daemon is a private one",
               plain_name(a->shown));
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(set[i].name, "AeLocked") && set[i].value[0] != 0)
            ui_log(LOG_WARNING, "%s: AeLocked lasts while somebody reads the source",
                   plain_name(a->shown));
}

int cmd_set(struct client_options *o, struct failure *f)
{
    struct asked a = {0};
    struct pelton_control set[PELTON_MAX_CONTROLS];
    uint32_t n = o->n_inputs > 0 ? o->n_inputs - 1 : 0;
    if (n == 0 || n > PELTON_MAX_CONTROLS) {
        return fail_with(f, X_USAGE, "as in: pelton set front ExposureTime=5000",
                         n ? "more controls than there are" : "nothing to set");
    }
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = parse_control(o->inputs[i + 1], &set[i], f);
    rc = rc ? rc : asked_open(o, &a, f);
    rc = rc ? rc : asked_controls(o, &a, set, n, f);
    for (uint32_t i = 0; rc == 0 && i < a.n; i++) {
        for (uint32_t k = 0; k < n; k++)
            if (!strcmp(a.controls[i].name, set[k].name))
                print_control(&a.controls[i], NULL);
    }
    if (rc == 0)
        say_how_long(&a, set, n);
    asked_close(&a);
    return rc;
}

static int print_exposure(const struct client_options *o, const struct asked *a, struct json *j,
                          struct failure *f)
{
    struct pelton_frame frame;
    int rc = pelton_next(a->stream, timeout_ms(o), &frame);
    if (rc < 0)
        return fail_pelton(f, a->conn, a->shown);
    bool camera = rc > 0 && frame.camera.present;
    if (camera && j)
        exposure_json(j, &frame);
    else if (camera)
        exposure_print(&frame);
    if (rc > 0)
        pelton_release(a->stream, &frame);
    return camera ? 0
                  : fail_with(f, X_USAGE, "--exposure is for cameras that pelton develops",
                              "%s: no exposure is known", plain_name(a->shown));
}

int cmd_info(struct client_options *o, struct failure *f)
{
    struct asked a = {0};
    struct json j = {.file = stdout};
    int rc = asked_open(o, &a, f);
    const struct pelton_info *i = &a.info;
    if (rc == 0 && o->json) {
        json_open(&j, NULL, '{');
        json_text(&j, "kind", i->container);
        json_text(&j, "format", i->profile);
        json_text(&j, "pix_fmt", i->pix_fmt);
        json_int(&j, "width", i->width);
        json_int(&j, "height", i->height);
        json_number(&j, "fps",
                    i->frame_rate.den ? (double)i->frame_rate.num / i->frame_rate.den : 0);
    } else if (rc == 0) {
        printf("%s: %s, %s, %ux%u, %g fps, leaves as %s\n", a.shown, i->container, i->profile,
               i->width, i->height,
               i->frame_rate.den ? (double)i->frame_rate.num / i->frame_rate.den : 0, i->pix_fmt);
    }
    /* only cameras have them */
    if (rc == 0 && pelton_controls(a.stream, timeout_ms(o), NULL, 0, a.controls, &a.n) == 0)
        for (uint32_t k = 0; k < a.n; k++)
            print_control(&a.controls[k], o->json ? &j : NULL);
    if (rc == 0 && o->exposure)
        rc = print_exposure(o, &a, o->json ? &j : NULL, f);
    if (rc == 0 && o->json)
        json_close(&j, '}');
    asked_close(&a);
    return rc;
}
