/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pairing of the frames of two views, in either order of arrival.
 */
#include "codec/h264.h"
#include "daemon/worker/source/second_view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void note(struct second_view *v, int64_t tag, bool keep)
{
    second_view_note(v, &(struct packet_times){.tag = tag, .pts = 100 + tag}, keep);
}

static void test_base_first(void **state)
{
    struct second_view v = {0};
    assert_null(second_view_base(&v, 0)); /* nothing was noted yet, of access unit 0 neither */
    note(&v, 1, true);
    note(&v, 2, false);
    assert_int_equal(second_view_base(&v, 1)->times.pts, 101);
    assert_true(second_view_base(&v, 1)->keep);
    assert_false(second_view_base(&v, 2)->keep);
    assert_null(second_view_base(&v, 3));
    note(&v, 1 + SECOND_VIEW_RING, true);
    assert_null(second_view_base(&v, 1));
    assert_int_equal(second_view_base(&v, 1 + SECOND_VIEW_RING)->times.pts, 101 + SECOND_VIEW_RING);
}

static void test_second_first(void **state)
{
    static struct h264_picture pictures[SECOND_VIEW_HELD + 1];
    struct second_view v = {0};
    for (unsigned i = 0; i <= SECOND_VIEW_HELD; i++) {
        pictures[i].tag = i;
        assert_int_equal(second_view_hold(&v, &pictures[i]), i < SECOND_VIEW_HELD);
    }
    assert_null(second_view_take(&v, SECOND_VIEW_HELD, false));
    assert_ptr_equal(second_view_take(&v, 5, false), &pictures[5]);
    assert_null(second_view_take(&v, 5, false));
    for (unsigned i = 0; i < SECOND_VIEW_HELD; i++)
        if (i != 5)
            assert_ptr_equal(second_view_take(&v, 0, true), &pictures[i]);
    assert_null(second_view_take(&v, 0, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_base_first),
                                       cmocka_unit_test(test_second_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
