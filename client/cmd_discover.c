/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton discover: cameras of this machine and its networks, as a list, as JSON, or as lines of a
 * configuration. No password is printed.
 */
#include "client/columns.h"
#include "client/commands.h"
#include "client/discover.h"
#include "client/onvif_ask.h"
#include "client/ui.h"
#include "proto/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_json(const struct discovery *d)
{
    struct json j = {.file = stdout};
    json_open(&j, NULL, '[');
    for (uint32_t i = 0; i < d->n; i++) {
        const struct discovered *c = &d->list[i];
        json_open(&j, NULL, '{');
        json_text(&j, "kind", c->kind);
        json_text(&j, "name", c->name);
        json_text(&j, "title", c->title);
        json_text(&j, "uri", c->uri);
        json_text(&j, "missing", c->missing);
        json_text(&j, "cause", c->cause);
        json_bool(&j, "login", c->login);
        json_open(&j, "formats", '[');
        for (uint32_t k = 0; k < c->n_formats; k++) {
            json_open(&j, NULL, '{');
            json_text(&j, "fourcc", c->formats[k].fourcc);
            json_int(&j, "width", c->formats[k].width);
            json_int(&j, "height", c->formats[k].height);
            json_number(&j, "fps", c->formats[k].fps);
            if (c->formats[k].uri[0])
                json_text(&j, "uri", c->formats[k].uri);
            json_close(&j, '}');
        }
        json_close(&j, ']');
        json_close(&j, '}');
    }
    json_close(&j, ']');
    putchar('\n');
}

/* Text is printable, so only these two need a word. */
static void print_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if (*text == '$') /* of a variable, in the configuration */
            putchar('$');
        putchar(*text);
    }
    putchar('"');
}

static void print_formats(const struct discovered *c)
{
    for (uint32_t i = 0; i < c->n_formats; i++) {
        const struct discovered_format *f = &c->formats[i];
        printf("  #   %s %ux%u, %g fps%s%s\n", f->fourcc, f->width, f->height, f->fps,
               f->uri[0] ? ": " : "", f->uri);
    }
}

static void print_yaml_one(const struct discovered *c, const char *user)
{
    const struct discovered_format *f = discovered_best(c);
    printf("  # %s: %s%s%s\n", c->kind, c->title, c->cause[0] ? "; " : "", c->cause);
    print_formats(c);
    if (c->missing[0])
        printf("  #   to be added: %s\n", c->missing);
    printf("  %s: {uri: ", c->name);
    print_quoted(c->uri);
    if (f && f->width && !f->uri[0])
        printf(", size: %ux%u", f->width, f->height);
    if (f && f->fps > 0 && !f->uri[0])
        printf(", fps: %g", f->fps);
    if (c->login) {
        printf(", user: ");
        print_quoted(user ? user : "admin");
        printf(", password_file: %s.key", c->name);
    }
    printf("}\n");
}

static void print_yaml(const struct discovery *d, const char *user)
{
    printf("version: 1\nsources:%s\n", d->n ? "" : " {}");
    for (uint32_t i = 0; i < d->n; i++)
        print_yaml_one(&d->list[i], user);
}

static void print_list(const struct discovery *d)
{
    static const struct column spec[] = {
        {.title = "KIND"},
        {.title = "NAME", .least = 8},
        {.title = "CAMERA", .least = 12},
        {.title = "FORMAT", .least = 12, .rank = 1},
        {.title = "ADDRESS", .least = 16},
    };
    struct columns *t = d->n ? columns_new(spec, sizeof(spec) / sizeof(spec[0])) : NULL;
    for (uint32_t i = 0; t && i < d->n; i++) {
        const struct discovered *c = &d->list[i];
        const struct discovered_format *f = discovered_best(c);
        columns_cell(t, UI_PLAIN, "%s", c->kind);
        columns_cell(t, UI_PLAIN, "%s", c->name);
        columns_cell(t, UI_PLAIN, "%s", c->title);
        if (f)
            columns_cell(t, UI_PLAIN, "%s %ux%u %g fps", f->fourcc, f->width, f->height, f->fps);
        else
            columns_cell(t, UI_YELLOW, "%s", c->cause);
        columns_cell(t, UI_PLAIN, "%s", c->uri);
    }
    if (t)
        columns_print(t, stdout, ui_columns(stdout));
    columns_free(t);
}

/* The password is the first line of a file: command lines are seen by others. */
static int login_take(const struct discover_options *wish, struct onvif_login *login,
                      struct failure *f)
{
    login->user = wish->user;
    if (!wish->user && !wish->password_file)
        return 0;
    if (!wish->user || !wish->password_file)
        return fail_with(f, X_USAGE, "as in: --user admin --password-file door.key",
                         "--user and --password-file go together");
    FILE *file = fopen(wish->password_file, "re");
    if (!file)
        return fail_errno(f, X_INPUT, errno, wish->password_file);
    bool line = fgets(login->password, sizeof(login->password), file) != NULL;
    fclose(file);
    login->password[strcspn(login->password, "\r\n")] = 0;
    if (!line || !login->password[0])
        return fail_with(f, X_INPUT, "its first line is the password", "%s: no password in it",
                         wish->password_file);
    return 0;
}

int cmd_discover(struct client_options *o, struct failure *f)
{
    const struct discover_options *wish = &o->discover;
    struct onvif_login login = {0};
    if (login_take(wish, &login, f))
        return f->code;
    struct discovery *d = calloc(1, sizeof(*d));
    char why[128] = "";
    if (!d)
        return fail_with(f, X_OTHER, "", "out of memory");
    discover_v4l2(d, wish->folder ? wish->folder : "/dev");
    discover_libcamera(d);
    double seconds = wish->seconds > 0 ? wish->seconds : 3;
    bool asked = discover_onvif(d, wish->probe, seconds, &login, why);
    int rc = 0;
    if (!asked && wish->probe)
        rc = fail_with(f, X_USAGE, "--probe takes an address, as 192.168.1.20", "%s", why);
    else if (o->json)
        print_json(d);
    else if (wish->yaml)
        print_yaml(d, wish->user);
    else
        print_list(d);
    if (rc == 0 && fflush(stdout) != 0)
        rc = fail_errno(f, X_OTHER, errno, "standard output");
    if (!asked && rc == 0)
        ui_log(LOG_WARNING, "network cameras were not asked: %s", why);
    if (d->n == 0 && rc == 0)
        ui_log(LOG_WARNING, "no camera was found");
    if (d->refused)
        ui_log(LOG_WARNING, "%u %s to the probe that cannot be read", d->refused,
               ui_plural(d->refused, "answer"));
    if (d->left_out)
        ui_log(LOG_WARNING, "%u more cameras are left out", d->left_out);
    free(d);
    return rc;
}
