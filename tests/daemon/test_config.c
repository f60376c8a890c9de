/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The configuration file: keys and values in order, sources with their addresses, each refusal with
 * its place; sources of the command line; addresses without passwords.
 */
#include "daemon/config_print.h"
#include "daemon/config_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/test_config.XXXXXX";
static char path[64];

struct reading {
    char values[512]; /* "key=value;" of each scalar of the top level */
    char why[CONFIG_WHY];
    struct configured_source *sources;
    unsigned n_sources;
    int rc;
};

static int config_value(void *ctx, const char *key, const char *value, char why[CONFIG_WHY])
{
    struct reading *r = ctx;
    size_t n = strlen(r->values);
    if (!strcmp(key, "bad")) {
        snprintf(why, CONFIG_WHY, "bad: %s", value);
        return -1;
    }
    snprintf(r->values + n, sizeof(r->values) - n, "%s=%s;", key, value);
    return 0;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void read_config(struct reading *r, const char *text)
{
    memset(r, 0, sizeof(*r));
    write_file(path, text);
    r->rc = config_read(path, config_value, r, &r->sources, &r->n_sources, r->why);
}

static void reading_free(struct reading *r)
{
    config_sources_free(r->sources, r->n_sources);
}

/* What is refused says file, line and column. */
static void refused(const char *text, const char *place, const char *cause)
{
    struct reading r;
    char wanted[CONFIG_WHY];
    read_config(&r, text);
    snprintf(wanted, sizeof(wanted), "%s:%s: ", path, place);
    if (r.rc != -1 || strncmp(r.why, wanted, strlen(wanted)) != 0 || !strstr(r.why, cause))
        fail_msg("%s: %d, \"%s\", expected \"%s\" and \"%s\"", text, r.rc, r.why, wanted, cause);
    reading_free(&r);
}

static void values(void **state)
{
    struct reading r;
    read_config(&r, "version: 1\nthreads: 3\nlisten: {unix: {path: /x, mode: 0600}}\n"
                    "allow: [a, b, 'c d']\ndebug.batch: 2\ndebug:\n  arena: 4\n");
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.values, "threads=3;listen.unix.path=/x;listen.unix.mode=0600;"
                                  "allow=a,b,c d;debug.batch=2;debug.arena=4;");
    assert_int_equal(r.n_sources, 0);
    reading_free(&r);
    read_config(&r, "");
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.values, "");
    reading_free(&r);
}

static void sources(void **state)
{
    struct reading r;
    read_config(&r, "version: 1\nsources:\n"
                    "  door: {uri: \"rtsp://host/live\", user: \"a b\", password: \"p:/\"}\n"
                    "  lab:\n    uri: sim://clip\n    size: 320x240\n    ae: {flicker: 50Hz}\n"
                    "    blur: [[1, 2, 3, 4], [5, 6, 7, 8]]\n");
    assert_string_equal(r.why, "");
    assert_int_equal(r.rc, 0);
    assert_int_equal(r.n_sources, 2);
    assert_string_equal(r.sources[0].name, "door");
    assert_int_equal(r.sources[0].kind, SOURCE_NETWORK);
    assert_string_equal(r.sources[0].address, "rtsp://host/live");
    assert_string_equal(r.sources[0].user, "a b");
    assert_string_equal(r.sources[0].password, "p:/");
    assert_int_equal(r.sources[0].n_blur, 0);
    assert_string_equal(r.sources[1].name, "lab");
    assert_int_equal(r.sources[1].kind, SOURCE_CAMERA);
    assert_string_equal(r.sources[1].address, "sim://clip");
    assert_int_equal(r.sources[1].n_settings, 2);
    assert_string_equal(source_setting(&r.sources[1], "size"), "320x240");
    assert_string_equal(source_setting(&r.sources[1], "ae.flicker"), "50Hz");
    assert_null(source_setting(&r.sources[1], "fps"));
    assert_int_equal(r.sources[1].n_blur, 2);
    assert_int_equal(r.sources[1].blur[1].width, 7);
    reading_free(&r);
}

/* The first line of a file beside the configuration, or of one of systemd's credentials. */
static void secrets(void **state)
{
    static const char text[] =
        "version: 1\nsources:\n  a: {uri: \"rtsp://h/\", user: u, password_file: secret}\n";
    char name[80];
    struct reading r;
    snprintf(name, sizeof(name), "%s/secret", folder);
    write_file(name, "first\nsecond\n");
    read_config(&r, text);
    assert_int_equal(r.rc, 0);
    assert_string_equal(r.sources[0].address, "rtsp://h/");
    assert_string_equal(r.sources[0].password, "first");
    assert_string_equal(r.sources[0].password_file, "secret");
    reading_free(&r);
    write_file(name, "\nsecond\n");
    refused(text, "3:49", "its first line is empty");
    unlink(name);
    refused(text, "3:49", "password_file secret: No such file");
    setenv("CREDENTIALS_DIRECTORY", folder, 1);
    write_file(name, "other\n");
    read_config(&r, text);
    assert_string_equal(r.sources[0].password, "other");
    reading_free(&r);
    unsetenv("CREDENTIALS_DIRECTORY");
    unlink(name);
}

static void refusals(void **state)
{
    refused("version: 2\n", "1:10", "this program reads version 1");
    refused("bad: 5\n", "1:6", "bad: 5");
    refused("word\n", "1:1", "expected keys with values");
    refused("a: [1, [2, [3]]]\n", "1:12", "no list is expected");
    refused("a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n", "1:32", "nested too deeply");
    refused("a: &x 1\nb: *x\n", "2:4", "no alias is expected");
    refused("a: [1\n", "2:1", "");
    refused("? {a: 1}\n: 2\n", "1:3", "a mapping where a key");
    refused("sources:\n  a: 5\n", "2:6", "expected {uri: ...}");
    refused("sources:\n  a: {fps: 5}\n", "2:13", "source a has no uri");
    refused("sources:\n  a: {uri: x}\n  a: {uri: y}\n", "3:3", "sources.a: set twice");
    refused("sources:\n  a: {uri: \"sim://clip\", nothing: 5}\n", "2:35", "no key of a source");
    refused("sources:\n  a: {uri: \"sim://clip\", sise: 1}\n", "2:32", "did you mean size?");
    refused("sources:\n  a: {uri: \"sim://clip\", fps: 1, fps: 2}\n", "2:34",
            "sources.a.fps: set twice");
    refused("a: 1\nb: 2\na: 1\n", "3:1", "a: set twice");
    refused("version: 1\nversion: 1\n", "2:1", "version: set twice");
    refused("a.b: 1\na: {b: 1}\n", "2:5", "a.b: set twice");
    refused("a: {b: 1}\na: {c: 1}\n", "2:1", "a: set twice");
    refused("sources: {a: {uri: x}}\nb: 1\nsources: {c: {uri: x}}\n", "3:1", "sources: set twice");
    refused("sources:\n  a: {uri: x, read: {users: 7}, read.users: 8}\n", "2:33",
            "sources.a.read.users: set twice");
    refused("sources:\n  a.b: {uri: x}\n", "2:3", "a.b: expected sources: {NAME:");
    refused("sources.a.uri: x\n", "1:1", "sources.a.uri: expected sources: {NAME:");
    refused("a: 1\n---\nb: 2\n", "2:1", "a second document");
    refused("sources:\n  a: {uri: \"sim://clip\", fps: x}\n", "2:31", "fps=x");
    refused("sources:\n  a: {uri: \"sim://clip\", user: x}\n", "2:32", "no key of this kind");
    refused("sources:\n  a: {uri: \"rtps://h/\"}\n", "2:12",
            "rtps://: no source has this scheme; did you mean rtsp?");
    refused("sources:\n  a: {uri: \"v4l://x\"}\n", "2:12", "did you mean v4l2?");
    refused("sources:\n  a: {uri: \"qqqqqqq://x\"}\n", "2:12", "qqqqqqq://: no source");
    refused("sources:\n  a: {}\n", "2:7", "source a has no uri");
    refused("listen: {}\n", "1:10", "nothing is in it");
    refused("sources:\n  a: {uri: \"rtsp://h/\", fps: 5}\n", "2:30", "no key of this kind");
    refused("sources:\n  a: {uri: \"sim://clip\", blur: [1, 2]}\n", "2:33", "expected [[x, y,");
    refused("sources:\n  a: {uri: \"sim://clip\", blur: [[]]}\n", "2:34", "without numbers");
    refused("sources:\n  a: {uri: \"rtsp://b:c@h/\", user: u}\n", "2:12", "holds a password");
    refused("sources:\n  a: {uri: \"rtsp://b@h/\"}\n", "2:12", "holds a user");
    refused("sources:\n  a: {uri: \"rtsp://h/\", password: u}\n", "2:35", "needs a user");
}

static void no_file(void **state)
{
    struct reading r = {.rc = 0};
    assert_int_equal(config_read("/nonexistent", config_value, &r, &r.sources, &r.n_sources, r.why),
                     -1);
    assert_string_equal(r.why, "/nonexistent: No such file or directory");
    assert_int_equal(config_read(folder, config_value, &r, &r.sources, &r.n_sources, r.why), -1);
    assert_non_null(strstr(r.why, "Is a directory"));
    assert_null(r.sources);
}

static void overrides(void **state)
{
    struct reading r;
    read_config(&r, "version: 1\nsources:\n  lab: {uri: \"sim://clip\", fps: 30}\n"
                    "  net: {uri: \"rtsp://h/\"}\n");
    assert_int_equal(config_override("sources.lab.fps=10", &r.sources, &r.n_sources, r.why), 0);
    assert_string_equal(source_setting(&r.sources[0], "fps"), "10");
    assert_int_equal(r.sources[0].n_settings, 1);
    assert_int_equal(config_override("sources.new.uri=sim://x", &r.sources, &r.n_sources, r.why),
                     0);
    assert_int_equal(r.n_sources, 3);
    assert_string_equal(r.sources[2].name, "new");
    assert_string_equal(r.sources[2].address, "sim://x");
    static const char *const bad[][2] = {
        {"sources.lab=1", "expected sources.NAME.KEY=VALUE"},
        {"sources..fps=1", "expected sources.NAME.KEY=VALUE"},
        {"sources.lab.nothing=1", "-c sources.lab: "},
        {"sources.net.fps=1", "no key of this kind"},
        {"sources.net.password=x", "everybody may read a command line"},
        {"sources.new.uri=rtsp://a:b@h/", "holds a password"},
        {"sources.lab.fps=0", "fps=0"},
        {"sources.none.fps=1", "no source of this name"},
        {"sources.none.uri=", "no source of this name"},
        {"sources.none.uri=sim://x?nothing=1", "-c sources.none: "},
        {"sources.none.uri=rtps://x", "did you mean rtsp?"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(config_override(bad[i][0], &r.sources, &r.n_sources, r.why), -1);
        assert_non_null(strstr(r.why, bad[i][1]));
    }
    assert_int_equal(r.n_sources, 3);
    assert_string_equal(source_setting(&r.sources[0], "fps"), "10");
    reading_free(&r);
}

/* Values take variables of the environment; a variable that is not there is named. */
static void variables(void **state)
{
    struct reading r;
    char text[1200];
    setenv("TEST_PW", "s3cret", 1);
    setenv("TEST_HOST", "door", 1);
    read_config(&r, "threads: ${TEST_HOST}\nsources:\n  a: {uri: \"rtsp://${TEST_HOST}/x$$y$z\", "
                    "user: u, password: \"${TEST_PW}\"}\n");
    assert_string_equal(r.why, "");
    assert_string_equal(r.values, "threads=door;");
    assert_string_equal(r.sources[0].address, "rtsp://door/x$y$z");
    assert_string_equal(r.sources[0].password, "s3cret");
    reading_free(&r);
    refused("a: ${TEST_NOT_SET}\n", "1:4", "${TEST_NOT_SET}: the environment has no such variable");
    refused("a: [1, \"${TEST_NOT_SET}\"]\n", "1:8", "TEST_NOT_SET");
    refused("a: ${TEST_PW\n", "1:4", "expected ${NAME}");
    refused("a: ${}\n", "1:4", "expected ${NAME}");
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "a: ", 3);
    text[sizeof(text) - 1] = 0;
    refused(text, "1:4", "longer than 1023 bytes");
    unsetenv("TEST_PW");
    unsetenv("TEST_HOST");
}

static void rights(void **state)
{
    static const gid_t groups[] = {5, 8};
    const struct access_subject reader = {3, groups, 2}, user = {7, groups, 1},
                                other = {3, groups, 1};
    struct reading r;
    char text[200];
    read_config(&r, "sources:\n  a: {uri: x, read: {users: 7, groups: [8, 9]}, "
                    "control: {users: [10]}}\n  b: {uri: x}\n  c: {uri: x, read: {users: []}}\n");
    assert_string_equal(r.why, "");
    const struct source_rights *a = &r.sources[0].rights, *c = &r.sources[2].rights;
    assert_true(rights_read(a, &reader) && rights_read(a, &user));
    assert_false(rights_read(a, &other) || rights_control(a, &reader));
    assert_true(rights_read(a, &(struct access_subject){10, groups, 0})); /* it may control */
    assert_true(rights_control(a, &(struct access_subject){10, groups, 0}));
    assert_true(rights_control(&r.sources[1].rights, &other));
    assert_false(rights_read(c, &other) || rights_control(c, &other));
    access_describe(&a->read, text, sizeof(text));
    assert_string_equal(text, "user 7 and groups 8, 9");
    struct source_rights b = r.sources[1].rights, own = *a;
    rights_inherit(&b, a);
    assert_true(rights_same(&b, a) && b.read.inherited);
    rights_inherit(&own, c);
    assert_true(rights_same(&own, a) && !own.read.inherited);
    reading_free(&r);
    refused("sources:\n  a: {uri: x, read: {user: 7}}\n", "2:28", "with users or groups");
    refused("sources:\n  a: {uri: x, read: {users: 7x}}\n", "2:29", "there is no such user");
    refused("sources:\n  a: {uri: x, read: 7}\n", "2:21", "no key of a source");
}

/* What is printed can be read again, but for the password. */
static void printing(void **state)
{
    struct reading r, again;
    char *text;
    size_t size;
    read_config(&r, "sources:\n  a: {uri: \"sim://cl$$ip\", size: 64x48, blur: [[1, 2, 3, 4]]}\n"
                    "  b: {uri: \"rtsp://h/\", user: 'a\"$b', password: pw}\n");
    assert_string_equal(r.why, "");
    FILE *f = open_memstream(&text, &size);
    fputs("sources:\n", f);
    source_print(&r.sources[0], f);
    source_print(&r.sources[1], f);
    fclose(f);
    assert_null(strstr(text, "pw\""));
    read_config(&again, text);
    assert_string_equal(again.why, "");
    assert_true(source_same(&r.sources[0], &again.sources[0]));
    assert_false(source_same(&r.sources[1], &again.sources[1]));
    assert_string_equal(again.sources[1].user, r.sources[1].user);
    free(text);
    reading_free(&again);
    reading_free(&r);
}

/* Names and values with characters that YAML gives a sense. */
static void printing_of_odd_texts(void **state)
{
    static const char *const texts[] = {"a: b",
                                        "# c",
                                        "{d",
                                        "\"e\\",
                                        "f\xc2\x85g\xe2\x80\xa8h",
                                        "i\x7f\xef\xbb\xbf",
                                        "\xc3\xa4\xf0\x9f\x98\x80",
                                        "$j"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct reading r;
        char *text;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        fputs("sources: {", f);
        config_print_key(texts[i], f);
        fputs(": {uri: ", f);
        config_print_value(texts[i], f);
        fputs("}}", f);
        fclose(f);
        read_config(&r, text);
        assert_string_equal(r.why, "");
        assert_string_equal(r.sources[0].name, texts[i]);
        assert_string_equal(r.sources[0].address, texts[i]);
        free(text);
        reading_free(&r);
    }
}

static void redaction(void **state)
{
    static const char *const cases[][2] = {
        {"rtsp://user:pa55@host/live", "rtsp://user:***@host/live"},
        {"rtsp://user@host/live", "rtsp://user@host/live"},
        {"rtsp://u:p@ss:w@host/x", "rtsp://u:***@host/x"},
        {"rtsp://host/a@b:c", "rtsp://host/a@b:c"},
        {"http://h/x?token=abc&b=1&PassWord=q", "http://h/x?token=***&b=1&PassWord=***"},
        {"http://h/x?monkey=1", "http://h/x?monkey=1"},
        {"/a/file?key=1", "/a/file?key=***"},
        {"", ""},
    };
    char out[128];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        config_redact(cases[i][0], out, sizeof(out));
        assert_string_equal(out, cases[i][1]);
    }
    config_redact("rtsp://user:pa55@host/live", out, 12); /* cut, and without the password */
    assert_string_equal(out, "rtsp://user");
}

static int folder_create(void **state)
{
    unsetenv("CREDENTIALS_DIRECTORY");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/p.yaml", folder);
    return 0;
}

static int folder_remove(void **state)
{
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(sources),
        cmocka_unit_test(secrets),
        cmocka_unit_test(refusals),
        cmocka_unit_test(no_file),
        cmocka_unit_test(overrides),
        cmocka_unit_test(redaction),
        cmocka_unit_test(rights),
        cmocka_unit_test(variables),
        cmocka_unit_test(printing),
        cmocka_unit_test(printing_of_odd_texts),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
