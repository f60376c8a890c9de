/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A media controller for v4l2_shim.c. Its nodes are files beside the video node's: mediaN has the
 * graph, v4l-subdevN is a sub-device. Each has a line number=MINOR, its device number for fstat and
 * stat.
 *
 * A line "entity=ID FUNCTION NODE MINOR PADS NAME" of mediaN is an entity. FUNCTION is sensor or
 * other. NODE is video, subdev or none. PADS has a letter for each pad: < is a sink, > a source.
 * A line "link=ID PAD ID PAD FLAGS" is a link. Flag 1 is enabled, flag 2 immutable.
 * With "busy=1" it refuses to change links. With "lie=" and counts, pads or links it describes an
 * impossible graph.
 *
 * A line "codes=0x300f,..." of v4l-subdevN has the codes of its source pad. "size=WIDTHxHEIGHT" is
 * the only size of that pad; without this line it takes any. With "takes=0x300f" its sink makes
 * this code of any other. With "sensor=1" it has exposure in lines, gain, pixel_rate, hblank and
 * vblank.
 *
 * The log has links, pads and a sensor's controls: "link 1", "code 12303", "width 320", "exposure
 * 500", "gain 128", "vblank 40". The device's frames have the sensor's exposure and gain. The gain
 * of N is 256 / (256 - N), as of an imx219.
 */
#include "v4l2_shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/media.h>
#include <linux/v4l2-subdev.h>
#include <linux/videodev2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { NODES = 16, PARTS = 32, PADS_OF_NODE = 4, MAJOR = 81 };

/* An open descriptor. */
static struct node {
    int fd;
    char path[PATH_MAX];
} nodes[NODES];
static int n_nodes;

/* The state of sub-devices by their minor number, and of links; it outlives descriptors. */
static struct v4l2_mbus_framefmt pads[NODES][PADS_OF_NODE];
static int switched[PARTS]; /* 1 + enabled; 0: as described */
static int exposure = 100, gain, vblank = 40;

static struct node *node_of(int fd)
{
    for (int i = 0; i < n_nodes && fd >= 0; i++)
        if (nodes[i].fd == fd)
            return &nodes[i];
    return NULL;
}

bool media_is_node(const char *real)
{
    const char *name = strrchr(real, '/');
    return name && (!strncmp(name, "/media", 6) || !strncmp(name, "/v4l-subdev", 11));
}

int media_open(const char *real)
{
    int fd = (int)number_of(real, "refused", 0) ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || n_nodes == NODES)
        return fail(EACCES);
    nodes[n_nodes].fd = fd;
    snprintf(nodes[n_nodes++].path, PATH_MAX, "%s", real);
    return fd;
}

bool media_owns(int fd)
{
    return node_of(fd) != NULL;
}

void media_close(int fd)
{
    struct node *gone = node_of(fd);
    *gone = nodes[--n_nodes];
}

/* ---- numbers ---- */

static void set_number(const char *path, struct stat *s)
{
    double minor_number = number_of(path, "number", -1);
    if (minor_number >= 0)
        s->st_rdev = makedev(MAJOR, (unsigned)minor_number);
}

static bool is_mine(const char *path)
{
    const char *mine = getenv("V4L2_SHIM");
    return mine && !strncmp(path, mine, strlen(mine));
}

EXPORTED int stat(const char *restrict path, struct stat *restrict out)
{
    static int (*next)(const char *, struct stat *);
    next = next ? next : (int (*)(const char *, struct stat *))dlsym(RTLD_NEXT, "stat");
    int rc = next(path, out);
    if (rc == 0 && is_mine(path))
        set_number(path, out);
    return rc;
}

EXPORTED int fstat(int fd, struct stat *out)
{
    static int (*next)(int, struct stat *);
    next = next ? next : (int (*)(int, struct stat *))dlsym(RTLD_NEXT, "fstat");
    int rc = next(fd, out);
    const struct node *n = node_of(fd);
    if (rc == 0 && (n || (fd >= 0 && fd == device.fd)))
        set_number(n ? n->path : device.path, out);
    return rc;
}

/* ---- the graph ---- */

/* The i-th line of a key; false: there are not so many. */
static bool line_of(const char *path, const char *key, int i, char out[256])
{
    FILE *f = fopen(path, "r");
    size_t n = strlen(key);
    bool found = false;
    while (f && !found && fgets(out, 256, f))
        found = !strncmp(out, key, n) && out[n] == '=' && i-- == 0;
    if (f)
        fclose(f);
    if (found)
        memmove(out, out + n + 1, strlen(out + n + 1) + 1);
    return found;
}

struct part {
    unsigned id, minor, n_pads;
    char function[16], node[16], pads[16], name[32];
};

static bool part_of(const char *path, int i, struct part *out)
{
    char line[256];
    bool good = line_of(path, "entity", i, line) &&
                sscanf(line, "%u %15s %15s %u %15s %31[^\n]", &out->id, out->function, out->node,
                       &out->minor, out->pads, out->name) == 6;
    out->n_pads = good ? (unsigned)strlen(out->pads) : 0;
    return good;
}

struct wire {
    unsigned from, from_pad, to, to_pad, flags;
};

static bool wire_of(const char *path, int i, struct wire *out)
{
    char line[256];
    if (!line_of(path, "link", i, line) ||
        sscanf(line, "%u %u %u %u %u", &out->from, &out->from_pad, &out->to, &out->to_pad,
               &out->flags) != 5)
        return false;
    if (switched[i])
        out->flags = (out->flags & ~1u) | (unsigned)(switched[i] - 1);
    return true;
}

/* Numbers of pads and links: apart from those of entities. */
static unsigned pad_number(unsigned id, unsigned pad)
{
    return 1000 + id * 16 + pad;
}

static void give_entity(const struct part *p, unsigned n, struct media_v2_topology *t)
{
    struct media_v2_entity *e = (struct media_v2_entity *)(uintptr_t)t->ptr_entities + n;
    struct media_v2_interface *i = (struct media_v2_interface *)(uintptr_t)t->ptr_interfaces + n;
    struct media_v2_link *l = (struct media_v2_link *)(uintptr_t)t->ptr_links + n;
    struct media_v2_pad *pad = (struct media_v2_pad *)(uintptr_t)t->ptr_pads + t->num_pads;
    bool video = !strcmp(p->node, "video"), none = !strcmp(p->node, "none");
    *e = (struct media_v2_entity){
        .id = p->id, .function = !strcmp(p->function, "sensor") ? MEDIA_ENT_F_CAM_SENSOR : 0};
    snprintf(e->name, sizeof(e->name), "%s", p->name);
    *i = (struct media_v2_interface){.id = 500 + n,
                                     .intf_type =
                                         video ? MEDIA_INTF_T_V4L_VIDEO : MEDIA_INTF_T_V4L_SUBDEV,
                                     .devnode = {MAJOR, p->minor}};
    *l = (struct media_v2_link){.id = 600 + n,
                                .source_id = 500 + n,
                                .sink_id = p->id,
                                .flags = (none ? 2u : 1u) << 28}; /* ancillary, or interface */
    for (unsigned k = 0; k < p->n_pads; k++)
        pad[k] = (struct media_v2_pad){.id = pad_number(p->id, k),
                                       .entity_id = p->id,
                                       .flags = p->pads[k] == '<' ? MEDIA_PAD_FL_SINK
                                                                  : MEDIA_PAD_FL_SOURCE,
                                       .index = k};
    t->num_pads += p->n_pads;
}

static int topology(const char *path, struct media_v2_topology *t)
{
    struct part p;
    struct wire w;
    char lie[32] = "";
    text_of_file(path, "lie", lie, sizeof(lie));
    if (!strcmp(lie, "counts")) {
        t->num_entities = t->num_pads = t->num_links = UINT32_MAX;
        return 0;
    }
    t->num_entities = t->num_interfaces = t->num_pads = t->num_links = 0;
    for (int i = 0; part_of(path, i, &p); i++) {
        give_entity(&p, (unsigned)i, t);
        t->num_links = t->num_interfaces = ++t->num_entities;
    }
    struct media_v2_link *l = (struct media_v2_link *)(uintptr_t)t->ptr_links;
    for (int i = 0; wire_of(path, i, &w); i++)
        l[t->num_links++] = (struct media_v2_link){.id = 700 + (unsigned)i,
                                                   .source_id = pad_number(w.from, w.from_pad),
                                                   .sink_id = pad_number(w.to, w.to_pad),
                                                   .flags = w.flags};
    if (!strcmp(lie, "links"))
        l[t->num_links - 1].sink_id = 77777;
    if (!strcmp(lie, "pads"))
        ((struct media_v2_pad *)(uintptr_t)t->ptr_pads)->entity_id = 77777;
    return 0;
}

static int set_link(const char *path, const struct media_link_desc *d)
{
    struct wire w;
    for (int i = 0; wire_of(path, i, &w); i++) {
        if (w.from != d->source.entity || w.from_pad != d->source.index || w.to != d->sink.entity ||
            w.to_pad != d->sink.index)
            continue;
        if (number_of(path, "busy", 0) != 0 || w.flags & 2)
            return fail(w.flags & 2 ? EINVAL : EBUSY);
        switched[i] = 1 + (d->flags & 1);
        note(path, d->flags & 1 ? "enable" : "disable", i);
        return 0;
    }
    return fail(EINVAL);
}

/* ---- sub-devices ---- */

static struct v4l2_mbus_framefmt *pad_of(const struct node *n, unsigned pad)
{
    unsigned minor_number = (unsigned)number_of(n->path, "number", 0);
    return pad < PADS_OF_NODE && minor_number < NODES ? &pads[minor_number][pad] : NULL;
}

/* The i-th of its codes; 0: none. */
static unsigned code_of(const struct node *n, unsigned i)
{
    char text[256];
    if (!text_of_file(n->path, "codes", text, sizeof(text)))
        return 0;
    const char *at = text;
    for (; i && at; i--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    return at ? (unsigned)strtoul(at, NULL, 0) : 0;
}

static int set_pad(const struct node *n, struct v4l2_subdev_format *f)
{
    char size[32];
    struct v4l2_mbus_framefmt *pad = pad_of(n, f->pad);
    unsigned takes = (unsigned)number_of(n->path, "takes", 0), width, height;
    if (!pad)
        return fail(EINVAL);
    if (takes && f->pad == 0)
        f->format.code = takes;
    if (text_of_file(n->path, "size", size, sizeof(size)) &&
        sscanf(size, "%ux%u", &width, &height) == 2) {
        f->format.width = width;
        f->format.height = height;
    }
    if (f->pad == 1) { /* no entity here scales */
        f->format.width = pad_of(n, 0)->width;
        f->format.height = pad_of(n, 0)->height;
    }
    *pad = f->format;
    note(n->path, "code", (int)pad->code);
    note(n->path, "width", (int)pad->width);
    return 0;
}

static int get_pad(const struct node *n, struct v4l2_subdev_format *f)
{
    const struct v4l2_mbus_framefmt *pad = pad_of(n, f->pad);
    if (!pad)
        return fail(EINVAL);
    f->format = *pad;
    if (!pad->code) {
        f->format.code = code_of(n, 0);
        f->format.width = 640;
        f->format.height = 480;
    }
    return 0;
}

static int give_code(const struct node *n, struct v4l2_subdev_mbus_code_enum *e)
{
    e->code = code_of(n, e->index);
    return e->code ? 0 : fail(EINVAL);
}

/* Whether an entity gets a picture from another. */
static bool is_fed(const char *path, unsigned id)
{
    struct wire w;
    for (int i = 0; wire_of(path, i, &w); i++)
        if (w.to == id && w.flags & 1)
            return true;
    return false;
}

bool media_is_ready(unsigned width, unsigned height)
{
    char path[PATH_MAX], *slash;
    struct wire w;
    snprintf(path, sizeof(path), "%s", device.path);
    slash = strrchr(path, '/');
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/media0");
    for (int i = 0; wire_of(path, i, &w); i++)
        if (!is_fed(path, w.to))
            return false;
    return pads[1][0].width == width && pads[1][0].height == height;
}

/* The video node has one format for each code. */
bool media_gives(unsigned code, unsigned fourcc)
{
    return !code || (code == MEDIA_BUS_FMT_SRGGB8_1X8 && fourcc == V4L2_PIX_FMT_SRGGB8) ||
           (code == MEDIA_BUS_FMT_SRGGB10_1X10 && fourcc == V4L2_PIX_FMT_SRGGB10);
}

/* ---- the sensor's controls ---- */

enum { PIXEL_RATE = 20000000, HBLANK = 360, LINES = 240, MOST_GAIN = 232 };

static double line_us(void)
{
    return (pads[1][0].width + HBLANK) * 1e6 / PIXEL_RATE;
}

static int query_control(struct v4l2_queryctrl *q)
{
    unsigned id = q->id;
    bool known = id == V4L2_CID_EXPOSURE || id == V4L2_CID_ANALOGUE_GAIN || id == V4L2_CID_VBLANK;
    if (!known)
        return fail(EINVAL);
    *q = (struct v4l2_queryctrl){.id = id,
                                 .type = V4L2_CTRL_TYPE_INTEGER,
                                 .minimum = id == V4L2_CID_ANALOGUE_GAIN ? 0 : 4,
                                 .maximum = id == V4L2_CID_EXPOSURE        ? LINES + vblank - 4
                                            : id == V4L2_CID_ANALOGUE_GAIN ? MOST_GAIN
                                                                           : 4000,
                                 .step = 1};
    return 0;
}

static int get_control(struct v4l2_ext_control *c)
{
    if (c->id == V4L2_CID_PIXEL_RATE)
        c->value64 = PIXEL_RATE;
    else if (c->id == V4L2_CID_HBLANK)
        c->value = HBLANK;
    else if (c->id == V4L2_CID_VBLANK)
        c->value = vblank;
    else if (c->id == V4L2_CID_EXPOSURE)
        c->value = exposure;
    else if (c->id == V4L2_CID_ANALOGUE_GAIN)
        c->value = gain;
    else
        return fail(EINVAL);
    return 0;
}

static int set_control(const struct node *n, const struct v4l2_ext_control *c)
{
    struct v4l2_queryctrl q = {.id = c->id};
    if (query_control(&q) < 0)
        return -1;
    if (c->value < q.minimum || c->value > q.maximum)
        return fail(ERANGE);
    int *value = c->id == V4L2_CID_EXPOSURE        ? &exposure
                 : c->id == V4L2_CID_ANALOGUE_GAIN ? &gain
                                                   : &vblank;
    *value = c->value;
    note(n->path, value == &exposure ? "exposure" : value == &gain ? "gain" : "vblank", c->value);
    device.exposure[DELAY] = exposure * line_us() / 100;
    device.gain[DELAY] = 16 * 256.0 / (256 - gain);
    return 0;
}

static int controls(const struct node *n, struct v4l2_ext_controls *all, bool set)
{
    for (unsigned i = 0; i < all->count; i++)
        if ((set ? set_control(n, &all->controls[i]) : get_control(&all->controls[i])) < 0)
            return -1;
    return 0;
}

int media_answer(int fd, unsigned long what, void *arg)
{
    const struct node *n = node_of(fd);
    bool sensor = number_of(n->path, "sensor", 0) != 0;
    switch (what) {
    case MEDIA_IOC_G_TOPOLOGY:
        return topology(n->path, arg);
    case MEDIA_IOC_SETUP_LINK:
        return set_link(n->path, arg);
    case VIDIOC_SUBDEV_G_FMT:
        return get_pad(n, arg);
    case VIDIOC_SUBDEV_S_FMT:
        return set_pad(n, arg);
    case VIDIOC_SUBDEV_ENUM_MBUS_CODE:
        return give_code(n, arg);
    case VIDIOC_QUERYCTRL:
        return sensor ? query_control(arg) : fail(ENOTTY);
    case VIDIOC_G_EXT_CTRLS:
        return sensor ? controls(n, arg, false) : fail(ENOTTY);
    case VIDIOC_S_EXT_CTRLS:
        return sensor ? controls(n, arg, true) : fail(ENOTTY);
    default:
        return fail(ENOTTY);
    }
}
