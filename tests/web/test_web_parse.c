/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What pelton-web parses of a request and of its own files: tables of good and bad texts, and
 * random ones, for which the promises of the headers hold.
 */
#include "web/http_path.h"
#include "web/http_query.h"
#include "web/http_request.h"
#include "web/web_tokens.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 100000, TEXT = 64 };

static void paths_are_strict(void **state)
{
    static const struct {
        const char *text, *plain; /* NULL: refused */
    } rows[] = {
        {"/", "/"},      {"/a/b.c", "/a/b.c"}, {"/a%20b", "/a b"}, {"/%C3%A4", "/\xc3\xa4"},
        {"", NULL},      {"a", NULL},          {"//", NULL},       {"/a/", NULL},
        {"/.", NULL},    {"/a/..", NULL},      {"/%2e%2E", NULL},  {"/a%2fb", NULL},
        {"/a\\b", NULL}, {"/%", NULL},         {"/%4", NULL},      {"/%4g", NULL},
        {"/%00", NULL},  {"/%0a", NULL},       {"/a\x7f", NULL},   {"/...", "/..."},
    };
    char out[TEXT];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool good = http_path_decode(rows[i].text, out, sizeof(out));
        assert_int_equal(good, rows[i].plain != NULL);
        if (good)
            assert_string_equal(out, rows[i].plain);
    }
    assert_false(http_path_decode("/12345678", out, 8));
    assert_true(http_path_decode("/123456", out, 8));
}

static void hosts_lose_their_port(void **state)
{
    static const struct {
        const char *text, *host;
    } rows[] = {
        {"localhost", "localhost"},
        {"LocalHost:80", "localhost"},
        {"[::1]:8790", "::1"},
        {"[::1]", "::1"},
        {"", NULL},
        {":80", NULL},
        {"a:", NULL},
        {"a:8x", NULL},
        {"a:123456", NULL},
        {"[::1", NULL},
        {"[]:1", NULL},
        {"a b", NULL},
        {"a/b", NULL},
        {"::1", NULL},
        {"[::1]x", NULL},
    };
    char out[TEXT];
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool good = http_host_split(rows[i].text, out, sizeof(out));
        assert_int_equal(good, rows[i].host != NULL);
        if (good)
            assert_string_equal(out, rows[i].host);
    }
}

static void parameters_have_one_form(void **state)
{
    static const struct {
        const char *name, *value;
        bool good;
    } rows[] = {
        {"size", "640x360", true},
        {"size", "640", false},
        {"size", "0x0", false},
        {"size", "-1x5", false},
        {"size", "16386x2", false},
        {"size", "64x", false},
        {"fps", "29.97", true},
        {"fps", "1e9", false},
        {"fps", "nan", false},
        {"fps", "1.2.3", false},
        {"fps", ".", false},
        {"quality", "100", true},
        {"quality", "101", false},
        {"frames", "1", true},
        {"frames", "+1", false},
        {"frames", " 1", false},
        {"pix_fmt", "gray", true},
        {"pix_fmt", "../x", false},
        {"pix_fmt", "aaaaaaaaaaaaaaaa", false},
        {"policy", "latest", true},
        {"policy", "best", false},
        {"after", "now", true},
        {"after", NULL, false},
        {"size", "%36x%38", true},
        {"other", "1", false},
        {"frames", "99999999999999999999", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct stream_query q;
        char why[QUERY_WHY] = "";
        stream_query_preset(&q);
        bool good = stream_query_set(&q, rows[i].name, rows[i].value, why);
        if (good && strcmp(rows[i].value, "%36x%38") == 0)
            assert_int_equal(q.width, 6);
        assert_int_equal(good, rows[i].good);
        assert_int_equal(good, why[0] == 0);
        assert_false(good && stream_query_set(&q, rows[i].name, rows[i].value, why)); /* twice */
    }
}

static void tokens_are_whole(void **state)
{
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        {"read 0123456789abcdef\n", true},
        {"# x\n\ncontrol 0123456789abcdef\r\nread fedcba9876543210", true},
        {"", false},
        {"# none\n", false},
        {"read short\n", false},
        {"write 0123456789abcdef\n", false},
        {"read 0123456789abcdef more\n", false},
        {"read  0123456789abcdef\n", false},
        {"read\n", false},
        {"0123456789abcdef\n", false},
        {"read 0123456789abcde\"\n", false},
    };
    struct web_tokens *t = web_tokens_new();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char why[TOKENS_WHY];
        assert_int_equal(web_tokens_parse(t, rows[i].text, why) == 0, rows[i].good);
    }
    /* the last good file holds */
    assert_int_equal(web_tokens_right(t, "0123456789abcdef", 16), TOKEN_CONTROL);
    assert_int_equal(web_tokens_right(t, "fedcba9876543210", 16), TOKEN_READ);
    assert_int_equal(web_tokens_right(t, "fedcba987654321", 15), TOKEN_NONE);
    assert_int_equal(web_tokens_right(t, "", 0), TOKEN_NONE);
    web_tokens_free(t);
}

static void routes_take_names(void **state)
{
    char name[HTTP_NAME];
    bool other;
    assert_non_null(http_route_find("GET", "/streams/a.b.mjpeg", name, &other));
    assert_string_equal(name, "a.b");
    assert_non_null(http_route_find("HEAD", "/streams/x/snapshot.jpg", name, &other));
    assert_string_equal(name, "x");
    assert_null(http_route_find("GET", "/streams/a/b.mjpeg", name, &other));
    assert_null(http_route_find("GET", "/streams/.mjpeg", name, &other));
    assert_false(other);
    assert_null(http_route_find("PUT", "/healthz", name, &other));
    assert_true(other);
}

/* Random texts out of characters that mean something. */
static void random_texts_keep_promises(void **state)
{
    static const char letters[] = "/.%2eEfF0\\:[]x=&?a\x01 \xc3\n-#read ";
    struct web_tokens *t = web_tokens_new();
    uint64_t seed = 88172645463325252u;
    for (int round = 0; round < ROUNDS; round++) {
        char text[TEXT], out[TEXT / 2], why[TOKENS_WHY];
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        size_t n = seed % TEXT;
        for (size_t i = 0; i < n; i++)
            text[i] = letters[(seed >> (i % 56)) % (sizeof(letters) - 1)];
        text[n] = 0;
        if (http_path_decode(text, out, sizeof(out)))
            assert_true(out[0] == '/' && !strstr(out, "/../") && !strstr(out, "//") &&
                        !strchr(out, '\n') && strlen(out) < sizeof(out));
        if (http_host_split(text, out, sizeof(out)))
            assert_true(out[0] && !strpbrk(out, "/% []"));
        struct stream_query q;
        stream_query_preset(&q);
        for (unsigned i = 0; i < 7; i++) {
            const char *form;
            stream_query_set(&q, stream_query_name(i, &form), text, why);
        }
        assert_true(q.width <= QUERY_SIZE_MOST && q.quality >= 1 && q.quality <= 100);
        web_tokens_parse(t, text, why);
    }
    web_tokens_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_strict),         cmocka_unit_test(hosts_lose_their_port),
        cmocka_unit_test(parameters_have_one_form), cmocka_unit_test(tokens_are_whole),
        cmocka_unit_test(routes_take_names),        cmocka_unit_test(random_texts_keep_promises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
