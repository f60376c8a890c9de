/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See media_pipe.h: the media device of a video node, its graph, links and sub-devices.
 *
 * Nodes are found by their numbers in the folder of the video node, which is /dev. The failure
 * modes are: no media device to be seen, no sensor or several, a link that is immutable or in use,
 * a sub-device that belongs to another user.
 */
#include "daemon/worker/camera/media_pipe.h"

#include "daemon/worker/camera/v4l2.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { TRIES = 3 /* while the graph changes */ };

/* ---- the graph ---- */

/* What MEDIA_IOC_G_TOPOLOGY fills. */
struct topology {
    struct media_v2_entity entities[MEDIA_ENTITIES];
    struct media_v2_interface interfaces[MEDIA_INTERFACES];
    struct media_v2_pad pads[MEDIA_PADS];
    struct media_v2_link links[MEDIA_LINKS];
    struct media_v2_topology counts;
};

/* False with errno. */
static bool topology_read(int fd, struct topology *t)
{
    for (int i = 0; i < TRIES; i++) {
        t->counts = (struct media_v2_topology){.num_entities = MEDIA_ENTITIES,
                                               .ptr_entities = (uintptr_t)t->entities,
                                               .num_interfaces = MEDIA_INTERFACES,
                                               .ptr_interfaces = (uintptr_t)t->interfaces,
                                               .num_pads = MEDIA_PADS,
                                               .ptr_pads = (uintptr_t)t->pads,
                                               .num_links = MEDIA_LINKS,
                                               .ptr_links = (uintptr_t)t->links};
        if (v4l2_ioctl(fd, MEDIA_IOC_G_TOPOLOGY, &t->counts) == 0)
            return true;
        if (errno != ENOSPC)
            return false;
    }
    return false;
}

static int graph_read(int fd, struct media_graph *out, char why[MEDIA_WHY])
{
    struct topology *t = calloc(1, sizeof(*t));
    int rc = -1;
    if (!t) {
        snprintf(why, MEDIA_WHY, "out of memory");
        return -1;
    }
    if (topology_read(fd, t)) {
        const struct media_description d = {
            t->entities,        t->interfaces,          t->pads,
            t->links,           t->counts.num_entities, t->counts.num_interfaces,
            t->counts.num_pads, t->counts.num_links};
        rc = media_graph_build(&d, out, why);
    } else {
        snprintf(why, MEDIA_WHY, "its graph cannot be read: %s", strerror(errno));
    }
    free(t);
    return rc;
}

/* ---- nodes ---- */

/* The folder of a node's real path. */
static bool node_folder(const char *path, char out[PATH_MAX])
{
    char real[PATH_MAX];
    if (!realpath(path, real))
        return false;
    snprintf(out, PATH_MAX, "%s", dirname(real));
    return true;
}

/* The path of the next node whose name is the prefix and a number. */
static bool node_next(DIR *nodes, const char *folder, const char *prefix, char out[PATH_MAX])
{
    size_t n = strlen(prefix);
    for (struct dirent *e; nodes && (e = readdir(nodes)) != NULL;) {
        size_t digits = strncmp(e->d_name, prefix, n) ? 0 : strspn(e->d_name + n, "0123456789");
        int length = digits && !e->d_name[n + digits]
                         ? snprintf(out, PATH_MAX, "%s/%s", folder, e->d_name)
                         : -1;
        if (length > 0 && length < PATH_MAX)
            return true;
    }
    return false;
}

/* What a search for the media device of a video node found. */
struct found {
    int fd; /* of the media device; -1: none */
    struct media_graph *graph;
    int video;           /* the entity of the video node */
    int error;           /* fd -1: of a media device that could not be opened, or 0 */
    char path[PATH_MAX]; /* of the media device */
    char folder[PATH_MAX];
    char why[MEDIA_WHY]; /* its graph makes no sense */
};

static void found_close(struct found *f)
{
    free(f->graph);
    if (f->fd >= 0)
        close(f->fd);
    f->graph = NULL;
    f->fd = -1;
}

/* Whether the media device at f->path has the video node; it stays open then. */
static bool found_try(struct found *f, const struct stat *video)
{
    f->fd = open(f->path, O_RDWR | O_CLOEXEC);
    if (f->fd < 0) {
        f->error = errno;
        return false;
    }
    f->video = graph_read(f->fd, f->graph, f->why) < 0
                   ? -1
                   : media_graph_video(f->graph, major(video->st_rdev), minor(video->st_rdev));
    if (f->video < 0) {
        close(f->fd);
        f->fd = -1;
    }
    return f->video >= 0;
}

static bool found_search(struct found *f, const struct v4l2_device *d)
{
    struct stat video;
    *f = (struct found){.fd = -1, .video = -1, .graph = malloc(sizeof(*f->graph))};
    if (!f->graph || fstat(d->fd, &video) < 0 || !node_folder(d->path, f->folder))
        return false;
    DIR *nodes = opendir(f->folder);
    bool there = false;
    while (!there && node_next(nodes, f->folder, "media", f->path))
        there = found_try(f, &video);
    if (nodes)
        closedir(nodes);
    return there;
}

/* A sub-device's node; -1 with errno, ENOENT where none has its number. */
static int subdev_open(const char *folder, const struct media_entity *e)
{
    char path[PATH_MAX];
    struct stat node;
    DIR *nodes = opendir(folder);
    int fd = -1, error = ENOENT;
    while (fd < 0 && error == ENOENT && node_next(nodes, folder, "v4l-subdev", path)) {
        if (stat(path, &node) < 0 || major(node.st_rdev) != e->major ||
            minor(node.st_rdev) != e->minor)
            continue;
        fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        error = errno;
    }
    if (nodes)
        closedir(nodes);
    errno = error;
    return fd;
}

/* ---- links ---- */

static struct media_pad_desc pad_desc(const struct media_graph *g, uint32_t pad)
{
    const struct media_pad *p = &g->pads[pad];
    return (struct media_pad_desc){.entity = g->entities[p->entity].id,
                                   .index = (uint16_t)p->index,
                                   .flags = p->sink ? MEDIA_PAD_FL_SINK : MEDIA_PAD_FL_SOURCE};
}

static int link_fail(const struct v4l2_device *d, const struct media_graph *g,
                     const struct media_link *l, bool enable, struct pelton_failure *failure)
{
    char cause[200];
    bool busy = errno == EBUSY;
    snprintf(cause, sizeof(cause), "the link from %.40s to %.40s cannot be %s: %s",
             g->entities[g->pads[l->source].entity].name, g->entities[g->pads[l->sink].entity].name,
             enable ? "enabled" : "disabled",
             busy ? "a pipe that uses it is running" : strerror(errno));
    return v4l2_device_fail(d, failure, busy ? PELTON_ERR_BUSY : PELTON_ERR_INPUT, cause,
                            busy ? "end the program that has it"
                                 : "media-ctl -p shows the graph; media=off leaves it alone");
}

static int links_switch(const struct v4l2_device *d, const struct found *f,
                        const struct media_plan *plan, struct pelton_failure *failure)
{
    const struct media_graph *g = f->graph;
    for (uint32_t i = 0; i < plan->n_switches; i++) {
        const struct media_switch *s = &plan->switches[i];
        const struct media_link *l = &g->links[s->link];
        struct media_link_desc desc = {.source = pad_desc(g, l->source),
                                       .sink = pad_desc(g, l->sink),
                                       .flags = s->enable ? MEDIA_LNK_FL_ENABLED : 0};
        if (v4l2_ioctl(f->fd, MEDIA_IOC_SETUP_LINK, &desc) < 0)
            return link_fail(d, g, l, s->enable, failure);
    }
    return 0;
}

/* ---- the pipe ---- */

static int station_open(const struct v4l2_device *d, const struct found *f,
                        const struct media_hop *hop, struct media_station *s,
                        struct pelton_failure *failure)
{
    const struct media_graph *g = f->graph;
    const struct media_entity *e = &g->entities[hop->entity];
    char cause[160];
    *s = (struct media_station){.fd = -1,
                                .sink = hop->sink < 0 ? -1 : (int)g->pads[hop->sink].index,
                                .source = hop->source < 0 ? -1 : (int)g->pads[hop->source].index};
    memcpy(s->name, e->name, sizeof(s->name));
    if (e->node_type != MEDIA_INTF_T_V4L_SUBDEV)
        return 0;
    s->fd = subdev_open(f->folder, e);
    if (s->fd >= 0)
        return 0;
    bool refused = errno == EACCES || errno == EPERM;
    snprintf(cause, sizeof(cause), "the sub-device of %.60s (%u:%u) cannot be opened: %s", e->name,
             e->major, e->minor, strerror(errno));
    return v4l2_device_fail(
        d, failure, refused ? PELTON_ERR_PERMISSION : PELTON_ERR_NOT_FOUND, cause,
        refused ? "the daemon's user has to be in the group video" : "ls -l /dev/v4l-subdev*");
}

static int plan_fail(const struct v4l2_device *d, int code, const char *why,
                     struct pelton_failure *failure)
{
    return v4l2_device_fail(d, failure, PELTON_ERR_UNSUPPORTED, why,
                            code == MEDIA_SEVERAL     ? "name one: sensor=NAME"
                            : code == MEDIA_NO_SENSOR ? "media-ctl -p shows the graph"
                                                      : "media=off leaves the graph alone");
}

/* A side that ends in a video node is left alone: that node is somebody else's. */
static int side_open(struct v4l2_device *d, const struct found *f, const struct media_link *l,
                     struct pelton_failure *failure)
{
    const struct media_graph *g = f->graph;
    const struct media_hop from = {g->pads[l->source].entity, -1, (int)l->source},
                           to = {g->pads[l->sink].entity, (int)l->sink, -1};
    if (g->entities[to.entity].node_type != MEDIA_INTF_T_V4L_SUBDEV)
        return 0;
    struct media_side *side = &d->pipe.sides[d->pipe.n_sides++];
    side->to.fd = -1;
    int rc = station_open(d, f, &from, &side->from, failure);
    return rc < 0 ? rc : station_open(d, f, &to, &side->to, failure);
}

static int stations_open(struct v4l2_device *d, const struct found *f,
                         const struct media_plan *plan, struct pelton_failure *failure)
{
    struct media_pipe *pipe = &d->pipe;
    int rc = 0;
    for (uint32_t i = 0; i < plan->n_hops && rc == 0; i++, pipe->n++)
        rc = station_open(d, f, &plan->hops[i], &pipe->stations[i], failure);
    for (uint32_t i = 0; i < plan->n_sides && rc == 0; i++)
        rc = side_open(d, f, &f->graph->links[plan->sides[i]], failure);
    return rc;
}

/* Sub-devices of a driver that sets them by itself serve only what the video node lacks, so
 * nothing of them is missed. */
static int pipe_connect(struct v4l2_device *d, const struct found *f, const struct camera_params *p,
                        struct pelton_failure *failure)
{
    struct media_plan plan;
    char why[MEDIA_WHY];
    int rc = media_plan_make(f->graph, (uint32_t)f->video, p->device.sensor, &plan, why);
    if (!d->pipe.full && (rc < 0 || plan.n_switches))
        return 0;
    if (rc < 0)
        return plan_fail(d, rc, why, failure);
    rc = links_switch(d, f, &plan, failure);
    rc = rc < 0 ? rc : stations_open(d, f, &plan, failure);
    if (rc < 0 && !d->pipe.full) {
        media_pipe_close(&d->pipe);
        return 0;
    }
    return rc;
}

static int not_found(const struct v4l2_device *d, const struct found *f,
                     struct pelton_failure *failure)
{
    char cause[200];
    bool refused = f->error == EACCES || f->error == EPERM;
    if (refused)
        return v4l2_device_fail(d, failure, PELTON_ERR_PERMISSION,
                                "the media device behind it belongs to another user",
                                "the daemon's user has to be in the group video");
    snprintf(cause, sizeof(cause), "no media device with this video node; %s",
             f->why[0] ? f->why : "its driver expects one");
    return v4l2_device_fail(d, failure, PELTON_ERR_NOT_FOUND, cause, "ls -l /dev/media*");
}

int media_pipe_open(struct v4l2_device *d, const struct camera_params *p,
                    struct pelton_failure *failure)
{
    struct found f;
    d->pipe.full = p->device.media == CAMERA_MEDIA_ON || p->device.sensor[0] ||
                   (p->device.media == CAMERA_MEDIA_AUTO && d->media);
    if (p->device.media == CAMERA_MEDIA_OFF)
        return 0;
    bool there = found_search(&f, d);
    int rc = there ? pipe_connect(d, &f, p, failure) : d->pipe.full ? not_found(d, &f, failure) : 0;
    found_close(&f);
    d->pipe.full &= d->pipe.n > 0;
    return rc;
}

static void station_close(const struct media_station *s)
{
    if (s->fd >= 0)
        close(s->fd);
}

void media_pipe_close(struct media_pipe *pipe)
{
    for (uint32_t i = 0; i < pipe->n; i++)
        station_close(&pipe->stations[i]);
    for (uint32_t i = 0; i < pipe->n_sides; i++) {
        station_close(&pipe->sides[i].from);
        station_close(&pipe->sides[i].to);
    }
    *pipe = (struct media_pipe){0};
}
