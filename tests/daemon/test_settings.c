/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Settings: one name from command line, environment and file to use; the order in which they count.
 */
#include "daemon/config_source.h"
#include "daemon/log.h"
#include "daemon/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/pelton-settings-XXXXXX";

static void file_write(const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* error: cause and hint. */
static int parse_words(int argc, char **argv, struct settings *out, char error[256])
{
    struct option_fault fault;
    int rc = settings_parse(argc, argv, out, &fault);
    if (rc < 0)
        snprintf(error, 256, "%.150s; %.100s", fault.cause, fault.hint);
    return rc;
}

/* Up to four words behind the name of the program. */
static int parse(struct settings *out, char error[256], const char *a, const char *b, const char *c,
                 const char *d)
{
    char *argv[] = {"peltond", (char *)a, (char *)b, (char *)c, (char *)d, NULL};
    int argc = 1;
    while (argv[argc])
        argc++;
    return parse_words(argc, argv, out, error);
}

static void presets(void **state)
{
    struct settings s;
    char error[256];
    assert_int_equal(parse(&s, error, NULL, NULL, NULL, NULL), 0);
    assert_true(s.engine.gpu_motion && s.engine.live_clocks && s.engine.tune);
    assert_int_equal(s.limits.streams, 64);
    assert_int_equal(s.timing.dead_ms, 15000);
    assert_int_equal(s.listen.mode, 0660);
    assert_int_equal(s.debug.batch, 0);
    assert_int_equal(s.process.worker_fd, -1);
    settings_free(&s);
}

static void names_keep_their_sense(void **state)
{
    struct settings s;
    char error[256];
    assert_int_equal(parse(&s, error, "-c", "gpu_motion=false", "-c", "live_clocks=false"), 0);
    assert_false(s.engine.gpu_motion || s.engine.live_clocks);
    assert_true(s.engine.tune);
    settings_free(&s);
    assert_int_equal(parse(&s, error, "-c", "entropy=both", "-c", "debug.tune_force=a=b"), 0);
    assert_int_equal(s.engine.entropy, 3);
    assert_string_equal(s.debug.tune_force, "a=b");
    settings_free(&s);
}

static void levels_of_the_log(void **state)
{
    static const struct {
        const char *word;
        int level;
    } cases[] = {{"quiet", LOG_LEVEL_QUIET},     {"error", LOG_LEVEL_ERROR},
                 {"fatal", LOG_LEVEL_ERROR},     {"panic", LOG_LEVEL_ERROR},
                 {"warning", LOG_LEVEL_WARNING}, {"notice", LOG_LEVEL_NOTICE},
                 {"Info", LOG_LEVEL_INFO},       {"verbose", LOG_LEVEL_DEBUG},
                 {"debug", LOG_LEVEL_DEBUG},     {"trace", LOG_LEVEL_DEBUG}};
    struct settings s;
    char error[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(parse(&s, error, "--log-level", cases[i].word, NULL, NULL), 0);
        assert_int_equal(s.process.log_level, cases[i].level);
        assert_string_equal(s.process.log_name, cases[i].word);
        settings_free(&s);
    }
}

static void refused(void **state)
{
    static const char *const values[] = {"workers=1",   "wavefront=1",  "debug=1",
                                         "debug.x=1",   "threads=-1",   "threads=2x",
                                         "restarts=17", "entropy=fast", "debug.arena=3"};
    struct settings s;
    char error[256];
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        error[0] = 0;
        assert_int_equal(parse(&s, error, "-c", values[i], NULL, NULL), -1);
        assert_non_null(strstr(error, values[i]));
    }
}

/* The command line goes before the environment, the environment before the file. */
static void order(void **state)
{
    struct settings s;
    char error[256];
    file_write("version: 1\nthreads: 3\nlookahead: 4\ndebug: {batch: 5, wavefront: 6}\n"
               "debug.arena: 1\n");
    setenv("PELTON_CONFIG_LOOKAHEAD", "7", 1);
    setenv("PELTON_CONFIG_DEBUG_BATCH", "8", 1);
    assert_int_equal(parse(&s, error, "-c", path, "-c", "debug.batch=9"), 0);
    unsetenv("PELTON_CONFIG_LOOKAHEAD");
    unsetenv("PELTON_CONFIG_DEBUG_BATCH");
    assert_int_equal(s.engine.threads, 3);
    assert_int_equal(s.engine.lookahead, 7);
    assert_int_equal(s.debug.batch, 9);
    assert_int_equal(s.debug.wavefront, 6);
    assert_int_equal(s.debug.arena, 1);
    settings_free(&s);
}

static void sources(void **state)
{
    struct settings s;
    char error[256];
    file_write("version: 1\nsources:\n  a: {uri: \"rtsp://h/x\", user: me, password: \"p/w\",\n"
               "      blur: [[1, 2, 3, 4]]}\n");
    assert_int_equal(parse(&s, error, "-c", path, "-c", "sources.b.uri=sim:///clip"), 0);
    assert_int_equal(s.n_sources, 2);
    assert_string_equal(s.sources[0].address, "rtsp://h/x");
    assert_string_equal(s.sources[0].user, "me");
    assert_string_equal(s.sources[0].password, "p/w");
    assert_int_equal(s.sources[0].n_blur, 1);
    assert_string_equal(s.sources[1].name, "b");
    settings_free(&s);
}

/* A wrong word says which one, where it stands, and which one was meant. */
static void wrong_words(void **state)
{
    static const char *const cases[][2] = {
        {"--sokcet", "--sokcet: no such option (peltond); did you mean --socket? peltond --help"},
        {"--foo", "--foo: no such option (peltond); peltond --help lists its options"},
        {"--check=1", "--check=1: takes no argument; see: peltond --help"},
        {"--device", "--device: DEVICE is missing; see: peltond --help"},
        {"-x", "-x: no such option (peltond)"},
        {"--worker-f=3", "--worker-f=3: no such option (peltond); peltond --help"},
        {"--private-fd=x", "--private-fd x: not understood; a whole number from 0 to"},
        {"-loglevel=loud", "--log-level loud: not understood; one of: quiet error"},
        {"-c/nonexistent.yaml", "/nonexistent.yaml: No such file or directory; -c takes the name"},
        {"-clisten=/x.sock", "-c listen=/x.sock: no such key; did you mean listen.unix.path?"},
        {"-cthraeds=1", "-c thraeds=1: no such key; did you mean threads?"},
        {"-cdebug.shufle_seed=1", "did you mean debug.shuffle_seed?"},
        {"surplus", "surplus: unexpected word; see: peltond --help"},
    };
    struct settings s;
    char error[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *argv[] = {"peltond", (char *)cases[i][0], NULL};
        assert_int_equal(parse_words(2, argv, &s, error), -1);
        if (!strstr(error, cases[i][1]))
            fail_msg("%s: %s", cases[i][0], error);
    }
    setenv("PELTON_CONFIG_THREADS", "x", 1);
    assert_int_equal(parse(&s, error, NULL, NULL, NULL, NULL), -1);
    unsetenv("PELTON_CONFIG_THREADS");
    assert_non_null(strstr(error, "PELTON_CONFIG_THREADS: threads=x: expected a number"));
    file_write("version: 1\nsorces:\n  a: {uri: \"sim://x\"}\n");
    assert_int_equal(parse(&s, error, "-c", path, NULL, NULL), -1);
    assert_non_null(
        strstr(error, ":3:12: sorces.a.uri=sim://x: no such key; did you mean sources?"));
    file_write("version: 1\nlisten: {tcp: 8790}\n");
    assert_int_equal(parse(&s, error, "-c", path, NULL, NULL), -1);
    assert_non_null(strstr(error, ":2:15: listen.tcp=8790: no such key; did you mean listen.unix"));
}

static void reread(void **state)
{
    struct settings s;
    struct configured_source *list;
    unsigned count;
    char note[256] = "", error[256];
    file_write("version: 1\nthreads: 3\nsources: {a: {uri: \"rtsp://h/x\"}}\n");
    char *argv[] = {"peltond", "-c", path, NULL};
    assert_int_equal(parse_words(3, argv, &s, error), 0);
    file_write("version: 1\nthreads: 4\ndebug: {batch: 2}\n");
    assert_int_equal(settings_reread(&s, &list, &count, note, error), 0);
    assert_string_equal(note, "only after a restart: threads, debug.batch");
    assert_int_equal(count, 0);
    config_sources_free(list, count);
    file_write("version: 1\nthreads: none\n");
    assert_int_equal(settings_reread(&s, &list, &count, note, error), -1);
    assert_non_null(strstr(error, ":2:"));
    settings_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets),     cmocka_unit_test(names_keep_their_sense),
        cmocka_unit_test(refused),     cmocka_unit_test(order),
        cmocka_unit_test(sources),     cmocka_unit_test(reread),
        cmocka_unit_test(wrong_words), cmocka_unit_test(levels_of_the_log),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return rc;
}
