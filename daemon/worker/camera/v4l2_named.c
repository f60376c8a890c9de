/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Controls that a source's settings name (`controls`): flips, test patterns, focus, whatever the
 * driver has. Each is set once, before the formats, since a flip changes the Bayer order. The
 * failure modes are no such control, and a value out of its range.
 */
#include "daemon/worker/camera/v4l2.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <string.h>

enum { CONTROLS_MOST = 1024 };

/* "White Balance, Automatic" is white_balance_automatic, as v4l2-ctl prints it. */
static void plain_name(const char *name, char out[CAMERA_LISTED_NAME])
{
    size_t n = 0;
    bool gap = false;
    for (; *name && n + 2 < CAMERA_LISTED_NAME; name++) {
        if (!isalnum((unsigned char)*name)) {
            gap = n > 0;
            continue;
        }
        if (gap)
            out[n++] = '_';
        gap = false;
        out[n++] = (char)tolower((unsigned char)*name);
    }
    out[n] = 0;
}

static bool has_number(const struct v4l2_query_ext_ctrl *q)
{
    bool kind = q->type == V4L2_CTRL_TYPE_INTEGER || q->type == V4L2_CTRL_TYPE_BOOLEAN ||
                q->type == V4L2_CTRL_TYPE_MENU || q->type == V4L2_CTRL_TYPE_INTEGER_MENU ||
                q->type == V4L2_CTRL_TYPE_BITMASK || q->type == V4L2_CTRL_TYPE_INTEGER64;
    return kind && !(q->flags & (V4L2_CTRL_FLAG_DISABLED | V4L2_CTRL_FLAG_READ_ONLY));
}

static void list_name(char *list, size_t size, const char *name)
{
    size_t n = strlen(list);
    if (n + strlen(name) + 3 < size)
        snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
}

/* The control called name, of those that can be set; the others' names go to the list. */
static bool control_find(int fd, const char *name, struct v4l2_query_ext_ctrl *out, char *list,
                         size_t size)
{
    uint32_t id = 0;
    for (int i = 0; i < CONTROLS_MOST; i++) {
        struct v4l2_query_ext_ctrl q = {.id = id | V4L2_CTRL_FLAG_NEXT_CTRL};
        char plain[CAMERA_LISTED_NAME];
        if (v4l2_ioctl(fd, VIDIOC_QUERY_EXT_CTRL, &q) < 0 || q.id <= id)
            return false;
        id = q.id;
        if (!has_number(&q))
            continue;
        q.name[sizeof(q.name) - 1] = 0;
        plain_name(q.name, plain);
        if (!strcmp(plain, name)) {
            *out = q;
            return true;
        }
        list_name(list, size, plain);
    }
    return false;
}

static int control_set(const struct v4l2_device *d, int fd, const char *name,
                       const struct v4l2_query_ext_ctrl *q, int64_t value,
                       struct pelton_failure *failure)
{
    struct v4l2_ext_control control = {.id = q->id};
    struct v4l2_ext_controls all = {
        .which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &control};
    char cause[200];
    /* a mask has no least, and its most is all bits */
    if (value < q->minimum || value > q->maximum) {
        snprintf(cause, sizeof(cause), "%s=%" PRId64 ": from %lld to %lld", name, value,
                 (long long)q->minimum, (long long)q->maximum);
        return v4l2_device_fail(d, failure, PELTON_ERR_USAGE, cause, "");
    }
    if (q->type == V4L2_CTRL_TYPE_INTEGER64)
        control.value64 = value;
    else
        control.value = (int32_t)value;
    if (v4l2_ioctl(fd, VIDIOC_S_EXT_CTRLS, &all) == 0)
        return 0;
    snprintf(cause, sizeof(cause), "%s=%" PRId64 ": %s", name, value,
             errno == EBUSY ? "the camera is running" : strerror(errno));
    return v4l2_device_fail(d, failure, PELTON_ERR_INPUT, cause, "");
}

static int control_set_somewhere(const struct v4l2_device *d, const char *name, int64_t value,
                                 struct pelton_failure *failure)
{
    const struct media_pipe *pipe = &d->pipe;
    struct v4l2_query_ext_ctrl q;
    char cause[200], list[110] = "";
    for (uint32_t i = 0; i < (pipe->n ? pipe->n : 1); i++) {
        int fd = i + 1 >= pipe->n ? d->fd : pipe->stations[i].fd;
        if (fd >= 0 && control_find(fd, name, &q, list, sizeof(list)))
            return control_set(d, fd, name, &q, value, failure);
    }
    snprintf(cause, sizeof(cause), "no control %s; there are %s", name, list[0] ? list : "none");
    return v4l2_device_fail(d, failure, PELTON_ERR_USAGE, cause, "v4l2-ctl -L lists them");
}

int v4l2_controls_named(const struct v4l2_device *d, const struct camera_params *p,
                        struct pelton_failure *failure)
{
    const char *at = p->device.controls;
    char name[CAMERA_LISTED_NAME];
    int64_t value;
    int rc = 0;
    while (rc == 0 && camera_listed_control(&at, name, &value))
        rc = control_set_somewhere(d, name, value, failure);
    return rc;
}
