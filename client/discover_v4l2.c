/* SPDX-License-Identifier: BSD-2-Clause
 *
 * V4L2 capture devices: see discover.h.
 *
 * A device is named by its link in v4l/by-id, which stays when it is plugged in elsewhere; by its
 * node where it has none. Nodes that capture nothing, such as those of metadata, are left out.
 */
#include "client/discover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED_MOST = 256, PATH_SIZE = 512 };

static int device_ask(int fd, unsigned long request, void *argument)
{
    int rc;
    do {
        rc = ioctl(fd, request, argument);
    } while (rc < 0 && errno == EINTR);
    return rc;
}

/* 0: it captures nothing. */
static uint32_t device_type(const struct v4l2_capability *c)
{
    uint32_t can = c->capabilities & V4L2_CAP_DEVICE_CAPS ? c->device_caps : c->capabilities;
    if (!(can & V4L2_CAP_STREAMING))
        return 0;
    return can & V4L2_CAP_VIDEO_CAPTURE          ? V4L2_BUF_TYPE_VIDEO_CAPTURE
           : can & V4L2_CAP_VIDEO_CAPTURE_MPLANE ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE
                                                 : 0;
}

static double largest_rate(int fd, uint32_t fourcc, uint32_t width, uint32_t height)
{
    double most = 0;
    for (uint32_t i = 0; i < LISTED_MOST; i++) {
        struct v4l2_frmivalenum v = {
            .index = i, .pixel_format = fourcc, .width = width, .height = height};
        if (device_ask(fd, VIDIOC_ENUM_FRAMEINTERVALS, &v) < 0)
            break;
        struct v4l2_fract f = v.type == V4L2_FRMIVAL_TYPE_DISCRETE ? v.discrete : v.stepwise.min;
        double fps = f.numerator ? (double)f.denominator / f.numerator : 0;
        most = fps > most ? fps : most;
    }
    return most;
}

static void largest_size(int fd, uint32_t type, uint32_t fourcc, struct discovered_format *out)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < LISTED_MOST; i++) {
        struct v4l2_frmsizeenum s = {.index = i, .pixel_format = fourcc};
        if (device_ask(fd, VIDIOC_ENUM_FRAMESIZES, &s) < 0)
            break;
        bool discrete = s.type == V4L2_FRMSIZE_TYPE_DISCRETE;
        uint32_t width = discrete ? s.discrete.width : s.stepwise.max_width,
                 height = discrete ? s.discrete.height : s.stepwise.max_height;
        if ((uint64_t)width * height > most) {
            most = (uint64_t)width * height;
            out->width = width;
            out->height = height;
        }
    }
    struct v4l2_format f = {.type = type};
    if (most || device_ask(fd, VIDIOC_G_FMT, &f) < 0)
        return;
    bool planar = type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    out->width = planar ? f.fmt.pix_mp.width : f.fmt.pix.width;
    out->height = planar ? f.fmt.pix_mp.height : f.fmt.pix.height;
}

static void device_formats(int fd, uint32_t type, struct discovered *c)
{
    for (uint32_t i = 0; i < LISTED_MOST && c->n_formats < DISCOVERED_FORMATS; i++) {
        struct v4l2_fmtdesc d = {.index = i, .type = type};
        if (device_ask(fd, VIDIOC_ENUM_FMT, &d) < 0)
            break;
        struct discovered_format *f = &c->formats[c->n_formats++];
        char raw[5] = {0};
        for (int k = 0; k < 4; k++)
            raw[k] = (char)(d.pixelformat >> 8 * k & 0x7f ? d.pixelformat >> 8 * k & 0x7f : '?');
        discovery_text(f->fourcc, sizeof(f->fourcc), raw);
        largest_size(fd, type, d.pixelformat, f);
        f->fps = largest_rate(fd, d.pixelformat, f->width, f->height);
    }
}

static void device_describe(struct discovery *d, const char *path)
{
    struct v4l2_capability caps;
    char title[2 * sizeof(caps.card)];
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    int error = errno;
    if (fd < 0 && (error == ENOENT || error == ENODEV || error == ENXIO))
        return;
    if (fd >= 0 && device_ask(fd, VIDIOC_QUERYCAP, &caps) < 0) {
        close(fd);
        return;
    }
    uint32_t type = fd < 0 ? 0 : device_type(&caps);
    if (fd < 0)
        snprintf(title, sizeof(title), "%s", strrchr(path, '/') + 1);
    else
        snprintf(title, sizeof(title), "%.*s", (int)sizeof(caps.card), (const char *)caps.card);
    struct discovered *c = fd < 0 || type ? discovery_add(d, "v4l2", title) : NULL;
    if (c) {
        char shown[DISCOVERED_TEXT];
        discovery_text(shown, sizeof(shown), path);
        snprintf(c->uri, sizeof(c->uri), "v4l2://%s", shown);
        if (fd < 0)
            snprintf(c->cause, sizeof(c->cause), "%s", strerror(error));
        else
            device_formats(fd, type, c);
    }
    if (fd >= 0)
        close(fd);
}

/* Of one folder; `begins`: its devices. seen: nodes that have been described. */
static void folder_describe(struct discovery *d, const char *folder, const char *begins,
                            dev_t seen[LISTED_MOST], unsigned *n_seen)
{
    struct dirent **names = NULL;
    int n = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[PATH_SIZE];
        struct stat st;
        unsigned k = 0;
        bool fits =
            snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name) < (int)sizeof(path);
        if (fits && !strncmp(names[i]->d_name, begins, strlen(begins)) &&
            names[i]->d_name[0] != '.' && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
            dev_t node = st.st_rdev ? st.st_rdev : st.st_ino;
            while (k < *n_seen && seen[k] != node)
                k++;
            if (k == *n_seen && k < LISTED_MOST) {
                seen[(*n_seen)++] = node;
                device_describe(d, path);
            }
        }
        free(names[i]);
    }
    free(names);
}

void discover_v4l2(struct discovery *d, const char *folder)
{
    dev_t seen[LISTED_MOST];
    unsigned n_seen = 0;
    char by_id[PATH_SIZE];
    if (snprintf(by_id, sizeof(by_id), "%s/v4l/by-id", folder) < (int)sizeof(by_id))
        folder_describe(d, by_id, "", seen, &n_seen);
    folder_describe(d, folder, "video", seen, &n_seen);
}
