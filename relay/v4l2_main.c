/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton-v4l2: a source as a V4L2 device, so that programs which read cameras read it.
 *
 * A device that nobody reads takes each size. One that is read keeps its format: then the daemon
 * gives frames of that size and format. The failure modes are those of the source and of the
 * device.
 */
#include "client/ui.h"
#include "relay/relay_options.h"
#include "relay/relay_source.h"
#include "relay/v4l2_sink.h"

#include <string.h>

enum { SLICE_MS = 200 };

struct v4l2_relay {
    const struct relay_options *o;
    struct relay_source *source;
    struct v4l2_sink *out;
    const struct picture_layout *layout; /* that is asked for */
    struct picture_plan plan;            /* that the device takes; layout NULL: none yet */
    uint64_t frames, left_out;
};

static bool frame_fits(const struct v4l2_relay *r, const struct pelton_frame *frame)
{
    return r->plan.layout && frame->width == r->plan.width && frame->height == r->plan.height &&
           !strcmp(frame->pix_fmt, r->plan.layout->pix_fmt);
}

/* The device has said what it takes: the next frames are to be like that. */
static void relay_adapt(struct v4l2_relay *r)
{
    ui_log(LOG_INFO, "%s stays at %ux%u %s: frames are made so", r->o->device, r->plan.width,
           r->plan.height, r->plan.layout->fourcc);
    r->layout = r->plan.layout;
    relay_source_wish(r->source, r->layout->pix_fmt, r->plan.width, r->plan.height);
}

static int relay_prepare(struct v4l2_relay *r, const struct pelton_frame *frame, struct failure *f)
{
    struct picture_plan before = r->plan;
    int rc = v4l2_sink_prepare(r->out, r->layout, frame, &r->plan, f);
    if (rc)
        return rc;
    if (frame_fits(r, frame)) {
        ui_log(LOG_INFO, "%s: %ux%u %s", r->o->device, r->plan.width, r->plan.height,
               r->plan.layout->fourcc);
        return 0;
    }
    bool again = before.layout == r->plan.layout && before.width == r->plan.width &&
                 before.height == r->plan.height;
    if (again)
        return fail_with(f, X_UNSUPPORTED,
                         "end the programs that read it, or set the camera's output: WxH",
                         "%s stays at %ux%u, and frames have %ux%u", r->o->device, r->plan.width,
                         r->plan.height, frame->width, frame->height);
    relay_adapt(r);
    return 0;
}

static int relay_frame(struct v4l2_relay *r, const struct pelton_frame *frame, struct failure *f)
{
    int rc = frame_fits(r, frame) ? 0 : relay_prepare(r, frame, f);
    if (rc || !frame_fits(r, frame))
        return rc;
    int taken = v4l2_sink_picture(r->out, frame, f);
    if (taken < 0)
        return -taken;
    r->frames += (unsigned)taken;
    r->left_out += !taken;
    return 0;
}

static int relay_loop(struct v4l2_relay *r, struct failure *f)
{
    struct pelton_frame frame;
    while (!interrupted() && (!r->o->frames || r->frames < r->o->frames)) {
        int rc = relay_source_next(r->source, SLICE_MS, &frame, f);
        if (rc < 0)
            return f->code;
        if (rc == 0)
            continue;
        rc = relay_frame(r, &frame, f);
        relay_source_release(r->source, &frame);
        if (rc)
            return rc;
    }
    return interrupted();
}

static int v4l2_run(const struct relay_options *o, struct failure *f)
{
    struct v4l2_relay r = {.o = o};
    int rc = v4l2_sink_open(o->device, &r.out, f);
    if (rc)
        return rc;
    r.layout = o->layout ? o->layout : v4l2_sink_likes(r.out);
    r.source = relay_source_new(o->socket, o->source);
    if (!r.source) {
        rc = fail_with(f, X_OTHER, "close other programs", "out of memory");
    } else {
        relay_source_wish(r.source, r.layout->pix_fmt, o->width, o->height);
        rc = relay_loop(&r, f);
        if (r.frames)
            ui_log(LOG_INFO, "%llu %s to %s, %llu left out", (unsigned long long)r.frames,
                   ui_plural(r.frames, "frame"), o->device, (unsigned long long)r.left_out);
    }
    relay_source_free(r.source);
    v4l2_sink_close(r.out);
    return rc;
}

int main(int argc, char **argv)
{
    return relay_main(argc, argv, RELAY_V4L2, v4l2_run);
}
