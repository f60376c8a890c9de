/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton-pipewire: a source as a camera of PipeWire.
 *
 * The first frame tells the size. After that the source is open while somebody reads the node, and
 * in the format that the readers agreed on. The failure modes are those of the source, and a
 * PipeWire that is not there or goes: it is waited for.
 */
#include "client/ui.h"
#include "relay/pipewire_node.h"
#include "relay/relay_options.h"
#include "relay/relay_source.h"

#include <pipewire/pipewire.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { SLICE_MS = 200, PAUSE_MS = 500 };

struct pipewire_relay {
    const struct relay_options *o;
    struct relay_source *source;
    struct pipewire_node *node;          /* NULL: PipeWire is not there */
    uint32_t width, height;              /* of the last frame; 0: none came */
    const struct picture_layout *layout; /* that is read; NULL: none */
    char name[128], title[160];
    char told[128];
    uint64_t frames;
};

/* Each trouble of PipeWire once. */
static void pipewire_tell(struct pipewire_relay *r, const char *why)
{
    if (strcmp(r->told, why) != 0)
        ui_log(LOG_WARNING, "%s; waiting", why);
    snprintf(r->told, sizeof(r->told), "%s", why);
}

static void node_keep(struct pipewire_relay *r)
{
    char why[128];
    if (r->node && pipewire_node_lost(r->node, why)) {
        pipewire_node_free(r->node);
        r->node = NULL;
        pipewire_tell(r, why);
    }
    if (r->node)
        return;
    r->node = pipewire_node_new(r->name, r->title, why);
    if (!r->node) {
        pipewire_tell(r, why);
        poll(NULL, 0, PAUSE_MS);
    }
}

static void node_offer(struct pipewire_relay *r)
{
    if (!pipewire_node_offer(r->node, r->width, r->height))
        return;
    ui_log(LOG_INFO, "node %s: %ux%u", r->name, r->width, r->height);
    r->told[0] = 0;
}

/* Opens or closes the source as readers come and go. True: frames are wanted. */
static bool source_follow(struct pipewire_relay *r)
{
    const struct picture_layout *wants = pipewire_node_wants(r->node);
    if (wants && !r->layout)
        ui_log(LOG_INFO, "node %s is read: %s", r->name, wants->fourcc);
    if (!wants && r->layout)
        ui_log(LOG_INFO, "node %s: nobody reads", r->name);
    r->layout = wants;
    if (wants)
        relay_source_wish(r->source, wants->pix_fmt, r->o->width, r->o->height);
    else
        relay_source_rest(r->source);
    return wants != NULL;
}

static void frame_give(struct pipewire_relay *r, const struct pelton_frame *frame)
{
    r->width = frame->width;
    r->height = frame->height;
    node_offer(r);
    if (r->layout && pipewire_node_picture(r->node, frame))
        r->frames++;
}

/* 0, or a code and the end. */
static int relay_step(struct pipewire_relay *r, struct failure *f)
{
    struct pelton_frame frame;
    node_keep(r);
    if (!r->node)
        return 0;
    if (r->width) {
        node_offer(r);
        if (!source_follow(r)) {
            pipewire_node_wait(r->node, SLICE_MS);
            return 0;
        }
    }
    int rc = relay_source_next(r->source, SLICE_MS, &frame, f);
    if (rc < 0)
        return f->code ? f->code : -1;
    if (rc > 0) {
        frame_give(r, &frame);
        relay_source_release(r->source, &frame);
    }
    return 0;
}

static int pipewire_loop(struct pipewire_relay *r, struct failure *f)
{
    int rc = 0;
    while (!rc && !interrupted() && (!r->o->frames || r->frames < r->o->frames))
        rc = relay_step(r, f);
    return rc < 0 ? 0 : rc ? rc : interrupted();
}

static int pipewire_run(const struct relay_options *o, struct failure *f)
{
    struct pipewire_relay r = {.o = o, .source = relay_source_new(o->socket, o->source)};
    if (!r.source)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    snprintf(r.name, sizeof(r.name), "%s%s", o->node ? "" : "pelton-",
             o->node ? o->node : o->source);
    snprintf(r.title, sizeof(r.title), "%s (pelton)", o->source);
    pw_init(NULL, NULL);
    relay_source_wish(r.source, "yuv420p", o->width, o->height);
    int rc = pipewire_loop(&r, f);
    pipewire_node_free(r.node);
    relay_source_free(r.source);
    pw_deinit();
    return rc;
}

int main(int argc, char **argv)
{
    return relay_main(argc, argv, RELAY_PIPEWIRE, pipewire_run);
}
