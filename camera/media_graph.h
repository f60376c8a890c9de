/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The graph of a media controller as data, and the way of a picture through it: from a sensor, by
 * bridges and processors, to the video node that is read. Linux, "Media Controller devices" and
 * "Sub-device Interface". No I/O: daemon/worker/camera/media_pipe.c reads the graph and carries out
 * the plan.
 *
 * A graph says nothing that is relied on: numbers of pads and links are those of the arrays, and
 * each index is checked before it is used.
 */
#ifndef PELTON_MEDIA_GRAPH_H
#define PELTON_MEDIA_GRAPH_H

#include <linux/media.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MEDIA_ENTITIES = 256,
    MEDIA_PADS = 1024,
    MEDIA_LINKS = 2048,
    MEDIA_INTERFACES = 256,
    MEDIA_HOPS = 16,
    MEDIA_SWITCHES = 64,
    MEDIA_SIDES = 16,
    MEDIA_WHY = 160
};

/* As the kernel gives it (MEDIA_IOC_G_TOPOLOGY). */
struct media_description {
    const struct media_v2_entity *entities;
    const struct media_v2_interface *interfaces;
    const struct media_v2_pad *pads;
    const struct media_v2_link *links;
    uint32_t n_entities, n_interfaces, n_pads, n_links;
};

struct media_entity {
    uint32_t id, function;
    uint32_t node_type, major, minor; /* enum MEDIA_INTF_T_...; 0: no device node */
    char name[64];
};

struct media_pad {
    uint32_t entity; /* index */
    uint32_t index;  /* within its entity */
    bool sink;
};

struct media_link {
    uint32_t source, sink; /* indices of pads */
    bool enabled, immutable;
};

/* Links between pads only; those of interfaces have become nodes. */
struct media_graph {
    struct media_entity entities[MEDIA_ENTITIES];
    struct media_pad pads[MEDIA_PADS];
    struct media_link links[MEDIA_LINKS];
    uint32_t n_entities, n_pads, n_links;
};

/* 0, or -1 with one line where the description contradicts itself or is too large. */
int media_graph_build(const struct media_description *from, struct media_graph *out,
                      char why[MEDIA_WHY]);
/* The entity of a video node; -1: none of this graph. */
int media_graph_video(const struct media_graph *g, uint32_t major, uint32_t minor);

/* An entity that the picture passes; pads as indices of the graph. */
struct media_hop {
    uint32_t entity;
    int sink, source; /* -1: the sensor has no sink, the video node no source */
};

/* A link that has to change. */
struct media_switch {
    uint32_t link;
    bool enable;
};

/* The kernel checks all pads that a running sensor reaches. So links that lead off the way are
 * disabled; where one is immutable, its sink needs the format of its source. */
struct media_plan {
    struct media_hop hops[MEDIA_HOPS]; /* the sensor first, the video node last */
    uint32_t n_hops;
    uint32_t sides[MEDIA_SIDES]; /* such links, in the order of the stream */
    uint32_t n_sides;
    struct media_switch switches[MEDIA_SWITCHES]; /* in this order */
    uint32_t n_switches;
};

enum { MEDIA_NO_SENSOR = -1, MEDIA_SEVERAL = -2, MEDIA_IMMUTABLE = -3, MEDIA_TOO_LONG = -4 };

/* The way that needs the fewest changes of links; of such the shortest. sensor: the name of an
 * entity; empty: the one that is connected, or the only one. 0, or negative with one line. */
int media_plan_make(const struct media_graph *g, uint32_t video, const char *sensor,
                    struct media_plan *out, char why[MEDIA_WHY]);

/* Which hop's device serves a control: has[i] is true where that of hop i has it. The nearest to
 * the sensor; without a pipe of sub-devices the video node, which stands last, comes first. -1:
 * none. */
int media_control_owner(const bool *has, uint32_t n, bool sub_devices_first);

#endif
