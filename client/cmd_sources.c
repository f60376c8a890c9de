/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton sources: the sources in a daemon's configuration, once or as they change.
 */
#include "client/columns.h"
#include "client/commands.h"
#include "client/connection.h"
#include "proto/json.h"
#include "client/source_state.h"
#include "client/ui.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_source(const struct pelton_source *s, struct json *j)
{
    double fps = s->frame_rate.den ? (double)s->frame_rate.num / s->frame_rate.den : 0;
    if (j) {
        json_open(j, NULL, '{');
        json_text(j, "name", s->name);
        json_text(j, "uri", s->uri);
        json_text(j, "state", source_state_name(s->state));
        json_text(j, "cause", s->cause);
        json_int(j, "readers", s->readers);
        json_text(j, "codec", s->codec);
        json_text(j, "format", s->format);
        json_int(j, "width", s->width);
        json_int(j, "height", s->height);
        json_number(j, "fps", fps);
        json_close(j, '}');
        return;
    }
    char format[128] = "";
    if (s->width) {
        snprintf(format, sizeof(format), "  %s %s %ux%u %g fps", s->codec, s->format, s->width,
                 s->height, fps);
    }
    printf("%-20s %-8s %3u %s  %s%s%s%s\n", s->name, source_state_name(s->state), s->readers,
           ui_plural(s->readers, "reader"), s->uri, format, s->cause[0] ? "  " : "", s->cause);
}

/* The name stands in a column of its own. */
static const char *cause_without_name(const struct pelton_source *s)
{
    const char *cause = plain_name(s->cause);
    size_t n = strlen(s->name);
    return !strncmp(cause, s->name, n) && !strncmp(cause + n, ": ", 2) ? cause + n + 2 : cause;
}

static void print_sources(const struct pelton_source *list, size_t n)
{
    static const struct column spec[] = {
        {.title = "NAME", .least = 8},
        {.title = "STATE"},
        {.title = "CAUSE", .least = 16},
        {.title = "READERS", .right = true, .rank = 1},
        {.title = "FORMAT", .least = 16, .rank = 2},
        {.title = "ADDRESS", .least = 16, .rank = 3},
    };
    struct columns *c = columns_new(spec, sizeof(spec) / sizeof(spec[0]));
    for (size_t i = 0; c && i < n; i++) {
        const struct pelton_source *s = &list[i];
        double fps = s->frame_rate.den ? (double)s->frame_rate.num / s->frame_rate.den : 0;
        columns_cell(c, UI_PLAIN, "%s", s->name);
        columns_cell(c, source_state_colour(s->state), "%s", source_state_name(s->state));
        columns_cell(c, UI_YELLOW, "%s", cause_without_name(s));
        columns_cell(c, UI_PLAIN, "%u", s->readers);
        if (s->width)
            columns_cell(c, UI_PLAIN, "%s %s %ux%u %g fps", s->codec, s->format, s->width,
                         s->height, fps);
        else
            columns_cell(c, UI_PLAIN, "%s", "");
        columns_cell(c, UI_PLAIN, "%s", s->uri);
    }
    if (c)
        columns_print(c, stdout, ui_columns(stdout));
    columns_free(c);
}

/* Prints changes of sources until an interrupt. Of controls that were set it says nothing. */
static int watch_sources(const struct client_options *o, struct pelton *conn, struct failure *f)
{
    enum { SLICE_MS = 200 };
    struct pelton_control controls[PELTON_MAX_CONTROLS];
    struct pelton_source source;
    int rc = pelton_sources_watch(conn, timeout_ms(o));
    interrupts_catch();
    while (rc >= 0 && !interrupted()) {
        rc = pelton_sources_next(conn, SLICE_MS, &source);
        if (rc == PELTON_ERR_TIMEOUT) {
            rc = 0;
            continue;
        }
        struct json j = {.file = stdout, .compact = true};
        if (rc > 0 && pelton_source_controls(conn, controls) == 0) {
            print_source(&source, o->json ? &j : NULL);
            if (fflush(stdout) != 0)
                return fail_errno(f, X_OTHER, errno, "standard output");
        }
    }
    return rc < 0 ? fail_pelton(f, conn, "sources") : interrupted();
}

static int list_sources(const struct client_options *o, struct pelton *conn, struct failure *f)
{
    struct pelton_source *list = NULL;
    size_t n = 0;
    struct json j = {.file = stdout};
    if (pelton_sources(conn, timeout_ms(o), &list, &n) < 0)
        return fail_pelton(f, conn, "sources");
    if (o->json)
        json_open(&j, NULL, '[');
    for (size_t i = 0; o->json && i < n; i++)
        print_source(&list[i], &j);
    if (o->json)
        json_close(&j, ']');
    else if (n > 0)
        print_sources(list, n);
    else
        ui_log(LOG_INFO, "the daemon's configuration names no sources");
    free(list);
    return 0;
}

int cmd_sources(struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    int rc = connection_open(o, &conn, f);
    rc = rc ? rc : o->camera.watch ? watch_sources(o, conn, f) : list_sources(o, conn, f);
    pelton_close(conn);
    return rc;
}
