/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Text that programs write: JSON of any value and any bytes, wrapped help, and names of errors. And
 * where a client looks for its socket.
 */
#include "proto/exposure_json.h"
#include "proto/json.h"
#include "proto/option_help.h"
#include "proto/pelton.h"
#include "proto/socket_path.h"
#include "proto/start_trace.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static char written[8192];

static struct json json_begin(bool compact)
{
    memset(written, 0, sizeof(written));
    return (struct json){.file = fmemopen(written, sizeof(written), "w"), .compact = compact};
}

static const char *json_end(const struct json *j)
{
    fclose(j->file);
    return written;
}

static void values(struct json *j)
{
    json_open(j, NULL, '{');
    json_text(j, "text", "a\"b\\c\n\x7f");
    json_int(j, "int", INT64_MIN);
    json_number(j, "number", 0.25);
    json_number(j, "endless", INFINITY);
    json_open(j, "list", '[');
    json_bool(j, NULL, true);
    json_bool(j, NULL, false);
    json_null(j, NULL);
    json_close(j, ']');
    json_open(j, "empty", '[');
    json_close(j, ']');
    json_close(j, '}');
}

static void json_values(void **state)
{
    struct json j = json_begin(true);
    values(&j);
    assert_string_equal(json_end(&j),
                        "{\"text\": \"a\\\"b\\\\c\\u000a\\u007f\", \"int\": -9223372036854775808, "
                        "\"number\": 0.25, \"endless\": null, \"list\": [true, false, null], "
                        "\"empty\": []}\n");
    j = json_begin(false);
    values(&j);
    assert_string_equal(json_end(&j),
                        "{\n  \"text\": \"a\\\"b\\\\c\\u000a\\u007f\",\n"
                        "  \"int\": -9223372036854775808,\n  \"number\": 0.25,\n"
                        "  \"endless\": null,\n  \"list\": [\n    true,\n    false,\n    null\n  ],"
                        "\n  \"empty\": []\n}\n");
}

/* RFC 3629: characters of two, three and four bytes stay; all else becomes U+FFFD, byte by byte. */
static void json_bytes(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"\xc3\xa9", "\xc3\xa9"},
                 {"\xe2\x82\xac", "\xe2\x82\xac"},
                 {"\xf0\x9f\x93\xb7", "\xf0\x9f\x93\xb7"},
                 {"\xee\x80\x80", "\xee\x80\x80"},
                 {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
                 {"\xc1\xbf", "\\ufffd\\ufffd"},                       /* longer than needed */
                 {"\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd"},            /* the same */
                 {"\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* the same */
                 {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* a surrogate */
                 {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* beyond the last */
                 {"\xf5", "\\ufffd"},
                 {"\xe2\x82", "\\ufffd\\ufffd"}, /* cut off */
                 {"\xe2(", "\\ufffd("}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char want[64];
        struct json j = json_begin(true);
        json_text(&j, NULL, cases[i].in);
        snprintf(want, sizeof(want), "\"%s\"", cases[i].out);
        assert_string_equal(json_end(&j), want);
    }
}

static void exposure(void **state)
{
    static struct pelton_frame f;
    f.camera.ae_state = PELTON_AE_LOCKED;
    f.camera.exposure_us = 900;
    f.exposure.histogram[PELTON_HISTOGRAM_BINS - 1] = 77;
    struct json j = json_begin(true);
    exposure_json(&j, &f);
    json_end(&j);
    assert_non_null(strstr(written, "\"ae_state\": \"locked\", \"exposure_us\": 900"));
    assert_non_null(strstr(written, ", 77]}"));
}

static void names_of_errors(void **state)
{
    assert_string_equal(pelton_error_name(PELTON_OK), "PELTON_OK");
    int known = 0;
    for (int code = -1; code >= PELTON_ERR_CHANGED; code--) {
        bool is_known = strcmp(pelton_error_name(code), "PELTON_ERR_UNKNOWN") != 0;
        known += is_known;
        for (int other = code + 1; other <= 0 && is_known; other++)
            assert_string_not_equal(pelton_error_name(code), pelton_error_name(other));
    }
    assert_int_equal(known, 22); /* all but -3 and -10 */
    assert_string_equal(pelton_error_name(-1000), "PELTON_ERR_UNKNOWN");
    assert_string_equal(pelton_error_name(1), "PELTON_ERR_UNKNOWN");
}

static int trace_twice(void)
{
    for (int i = 0; i < 2; i++)
        START_TRACE_FIRST("a frame, %d", 7);
    return start_trace_on();
}

/* Off, then on by the option, by a switch, and by the clock of the program that started this one.
 */
static void traces_of_start(void **state)
{
    int kept = dup(STDERR_FILENO), pipes[2];
    char text[4096] = "";
    assert_int_equal(pipe(pipes), 0);
    unsetenv("PELTON_TRACE_START");
    start_trace_init("test");
    assert_false(trace_twice());
    dup2(pipes[1], STDERR_FILENO);
    start_trace("nothing");
    start_trace_enable();
    start_trace_enable();
    int on = trace_twice();
    char given[32];
    snprintf(given, sizeof(given), "%s", getenv("PELTON_TRACE_START"));
    start_trace_init("inherits");
    setenv("PELTON_TRACE_START", "1", 1);
    start_trace_init("switch");
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(pipes[1]);
    assert_true(on && strtoll(given, NULL, 10) > 0);
    assert_true(read(pipes[0], text, sizeof(text) - 1) > 0);
    close(pipes[0]);
    unsetenv("PELTON_TRACE_START");
    assert_null(strstr(text, "nothing"));
    assert_non_null(strstr(text, "ms  test    main, after "));
    const char *frame = strstr(text, "ms  test    a frame, 7\n");
    assert_non_null(frame);
    assert_null(strstr(strchr(frame, '\n'), "a frame"));
}

/* Help that would go to standard output. */
static const char *help_of(const struct option_row *row, bool whole)
{
    char path[] = "/tmp/pelton-help-XXXXXX";
    int file = mkstemp(path), out = dup(STDOUT_FILENO);
    unlink(path);
    fflush(stdout);
    dup2(file, STDOUT_FILENO);
    help_row(row, whole);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    memset(written, 0, sizeof(written));
    assert_true(pread(file, written, sizeof(written) - 1, 0) >= 0);
    close(file);
    return written;
}

static void help(void **state)
{
    struct option_row row = {.name = "depth",
                             .arg = "N",
                             .help =
                                 "Frames that wait. More of them cost memory, and a reader that "
                                 "is slow for a moment loses none.\nA paragraph of its own.",
                             .fallback = "4"};
    const char *text = help_of(&row, true);
    assert_non_null(strstr(text, "depth N"));
    assert_non_null(strstr(text, "\n\n")); /* the paragraph */
    assert_non_null(strstr(text, "4]\n"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    text = help_of(&row, false);
    assert_non_null(strstr(text, "Frames that wait."));
    assert_null(strstr(text, "More of them"));
    row = (struct option_row){.name = "an-option-with-a-name-too-long-for-its-column",
                              .help = "One sentence"};
    text = help_of(&row, false);
    assert_non_null(strstr(text, "column\n"));
    assert_non_null(strstr(text, "One sentence\n"));
}

/* ---- the socket ---- */

static char folder[] = "/tmp/pelton-text-XXXXXX";

static int folder_make(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    char path[SOCKET_PATH];
    snprintf(path, sizeof(path), "%s/pelton.sock", folder);
    unlink(path);
    return rmdir(folder);
}

static void socket_is_found(void **state)
{
    char path[SOCKET_PATH], own[SOCKET_PATH];
    unsetenv("PELTON_SOCKET");
    unsetenv("XDG_RUNTIME_DIR");
    socket_default(path);
    assert_string_equal(path, SOCKET_SYSTEM);
    setenv("XDG_RUNTIME_DIR", "relative", 1);
    assert_false(socket_of_user(path));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    assert_true(socket_of_user(own));
    socket_default(path); /* nobody is there */
    assert_string_equal(path, SOCKET_SYSTEM);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, own, strlen(own) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    socket_default(path); /* one that was left behind does not answer */
    assert_string_equal(path, SOCKET_SYSTEM);
    assert_int_equal(listen(fd, 1), 0);
    socket_default(path);
    assert_string_equal(path, own);
    close(fd);
    setenv("PELTON_SOCKET", "/else/where", 1);
    socket_default(path);
    assert_string_equal(path, "/else/where");
    setenv("PELTON_SOCKET", "", 1);
    assert_null(socket_named());
    char endless[2 * SOCKET_PATH];
    memset(endless, 'x', sizeof(endless) - 1);
    endless[0] = '/';
    endless[sizeof(endless) - 1] = 0;
    setenv("XDG_RUNTIME_DIR", endless, 1);
    assert_false(socket_of_user(path));
}

static void access_is_explained(void **state)
{
    char hint[256], path[SOCKET_PATH];
    socket_access_hint("/nowhere/at/all", hint, sizeof(hint));
    assert_non_null(strstr(hint, "administrator"));
    snprintf(path, sizeof(path), "%s/pelton.sock", folder);
    char file[] = "/tmp/pelton-text-file-XXXXXX";
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0600), 0);
    socket_access_hint(file, hint, sizeof(hint));
    assert_non_null(strstr(hint, "mode: 0660"));
    assert_int_equal(fchmod(fd, 0660), 0);
    socket_access_hint(file, hint, sizeof(hint));
    assert_true(strstr(hint, "usermod -aG") || strstr(hint, "log in again") ||
                strstr(hint, "no name"));
    if (geteuid() == 0) { /* a group that nobody has named */
        assert_int_equal(fchown(fd, 0, 54321), 0);
        socket_access_hint(file, hint, sizeof(hint));
        assert_non_null(strstr(hint, "54321"));
    }
    unlink(file);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_values),     cmocka_unit_test(json_bytes),
        cmocka_unit_test(exposure),        cmocka_unit_test(names_of_errors),
        cmocka_unit_test(traces_of_start), cmocka_unit_test(help),
        cmocka_unit_test(socket_is_found), cmocka_unit_test(access_is_explained)};
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
