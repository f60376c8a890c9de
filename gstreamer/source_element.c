/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/source_element.h"

#include "gstreamer/frame_buffer.h"
#include "gstreamer/source_clock.h"
#include "gstreamer/source_wish.h"
#include "gstreamer/text_property.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum source_policy { SOURCE_POLICY_AUTO, SOURCE_POLICY_LOSSLESS, SOURCE_POLICY_LATEST };
enum { PROP_SOCKET = 1, PROP_SOURCE, PROP_LOCATION, PROP_POLICY };

struct _PeltonSrc {
    GstPushSrc parent;
    /* properties, under the object's lock */
    gchar *socket, *source, *location;
    enum source_policy policy;

    struct daemon_link *daemon; /* from start to stop */
    struct stream_link *stream; /* from the first negotiation on; NULL after a seek */
    struct source_wish wish;
    struct source_clock clock;
    GstVideoInfo info;
    struct pelton_info source_info; /* of the stream */
    struct pelton_frame first;      /* read by negotiate, given by create */
    bool first_waits;
    bool plain; /* the next element takes no strides but the usual */
};

G_DEFINE_TYPE(PeltonSrc, pelton_src, GST_TYPE_PUSH_SRC)

static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(FRAME_FORMATS)));

/* ---- the stream ---- */

/* The configuration's name of the source: the property, or the name that the user gave the element
 * ("peltonsrc name=front-door"). NULL: neither. */
static gchar *source_name(PeltonSrc *self)
{
    GST_OBJECT_LOCK(self);
    gchar *name = g_strdup(self->source ? self->source : GST_OBJECT_NAME(self));
    bool given = self->source || !g_regex_match_simple("^peltonsrc[0-9]+$", name, 0, 0);
    GST_OBJECT_UNLOCK(self);
    if (!given)
        g_clear_pointer(&name, g_free);
    return name;
}

static bool is_file(PeltonSrc *self)
{
    return !gst_base_src_is_live(GST_BASE_SRC(self));
}

static enum pelton_policy policy_of(PeltonSrc *self)
{
    if (self->policy == SOURCE_POLICY_AUTO)
        return is_file(self) ? PELTON_LOSSLESS : PELTON_LATEST;
    return self->policy == SOURCE_POLICY_LATEST ? PELTON_LATEST : PELTON_LOSSLESS;
}

static void stream_close(PeltonSrc *self)
{
    if (self->first_waits)
        stream_link_release(self->stream, &self->first);
    self->first_waits = false;
    g_clear_pointer(&self->stream, stream_link_unref);
}

/* Opens what params names by uri or fd, with all wishes. */
static bool stream_open(PeltonSrc *self, struct pelton_open_params *params)
{
    params->policy = policy_of(self);
    params->depth = STREAM_LINK_POOL;
    params->start_us = self->clock.start_us;
    source_wish_apply(&self->wish, params);
    self->stream = stream_link_open(GST_ELEMENT(self), self->daemon, params);
    return self->stream;
}

static bool file_open(PeltonSrc *self, struct pelton_open_params *params)
{
    params->name = self->location;
    params->fd = open(self->location, O_RDONLY | O_CLOEXEC);
    if (params->fd < 0) {
        GST_ELEMENT_ERROR(self, RESOURCE, NOT_FOUND, ("%s: %s", self->location, g_strerror(errno)),
                          (NULL));
        return false;
    }
    bool opened = stream_open(self, params);
    close(params->fd);
    return opened;
}

static bool source_open(PeltonSrc *self, struct pelton_open_params *params)
{
    gchar *name = source_name(self);
    if (!name) {
        GST_ELEMENT_ERROR(self, RESOURCE, SETTINGS, ("peltonsrc has no source"),
                          ("set source=NAME (\"pelton sources\" lists them) or location=FILE"));
        return false;
    }
    gchar *uri = g_strconcat("source:", name, NULL);
    params->uri = uri;
    bool opened = stream_open(self, params);
    g_free(uri);
    g_free(name);
    return opened;
}

/* Reads a frame. False: the end, an error that is told, or a flush; *flow has it. */
static bool frame_read(PeltonSrc *self, struct pelton_frame *frame, GstFlowReturn *flow)
{
    int rc = stream_link_next(self->stream, frame);
    *flow = rc == PELTON_ERR_TIMEOUT ? GST_FLOW_FLUSHING : rc == 0 ? GST_FLOW_EOS : GST_FLOW_OK;
    if (rc < 0 && rc != PELTON_ERR_TIMEOUT) {
        stream_link_complain(self->stream, GST_ELEMENT(self));
        *flow = GST_FLOW_ERROR;
    }
    return rc > 0;
}

static struct pelton_rational frame_rate(const PeltonSrc *self)
{
    const struct pelton_info *i = &self->source_info;
    return self->wish.rate.num         ? self->wish.rate
           : i->avg_frame_rate.num > 0 ? i->avg_frame_rate
                                       : i->frame_rate;
}

static bool frame_describe(PeltonSrc *self, const struct pelton_frame *frame, GstVideoInfo *info)
{
    if (frame_video_info(frame, self->wish.format, frame_rate(self), info))
        return true;
    GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("GStreamer has no name for %s", frame->pix_fmt),
                      ("set a caps filter, as video/x-raw,format=I420_10LE"));
    return false;
}

/* Opens the stream, waits for its first frame, and knows then what it is. */
static bool stream_begin(PeltonSrc *self)
{
    struct pelton_open_params params;
    GstFlowReturn flow;
    pelton_open_params_init(&params);
    stream_close(self);
    if (is_file(self) ? !file_open(self, &params) : !source_open(self, &params))
        return false;
    if (!frame_read(self, &self->first, &flow)) {
        if (flow == GST_FLOW_EOS)
            GST_ELEMENT_ERROR(self, STREAM, FAILED, ("the source ended before its first frame"),
                              (NULL));
        return false;
    }
    self->first_waits = true;
    if (stream_link_info(self->stream, &self->source_info) < 0)
        self->source_info = (struct pelton_info){.duration_us = -1};
    source_clock_begin(&self->clock, &self->source_info);
    return true;
}

/* The frames' own format has no name in GStreamer: the nearest that has one. */
static bool nearest_format(PeltonSrc *self)
{
    GstVideoFormat nearest = frame_format(frame_nearest_pix_fmt(self->first.pix_fmt));
    if (frame_format(self->first.pix_fmt) != GST_VIDEO_FORMAT_UNKNOWN)
        return true;
    if (nearest == GST_VIDEO_FORMAT_UNKNOWN)
        return frame_describe(self, &self->first, &self->info);
    self->wish = (struct source_wish){
        .format = nearest, .width = self->first.width, .height = self->first.height};
    return stream_begin(self);
}

/* ---- GstBaseSrc ---- */

static gboolean pelton_src_start(GstBaseSrc *base)
{
    PeltonSrc *self = PELTON_SRC(base);
    self->wish = (struct source_wish){0};
    self->clock = (struct source_clock){0};
    self->source_info = (struct pelton_info){.duration_us = -1};
    self->daemon = daemon_link_open(GST_ELEMENT(self), self->socket, is_file(self));
    return self->daemon != NULL;
}

static gboolean pelton_src_stop(GstBaseSrc *base)
{
    PeltonSrc *self = PELTON_SRC(base);
    stream_close(self);
    g_clear_pointer(&self->daemon, daemon_link_unref);
    return TRUE;
}

static gboolean pelton_src_unlock(GstBaseSrc *base)
{
    daemon_link_flush(PELTON_SRC(base)->daemon, true);
    return TRUE;
}

static gboolean pelton_src_unlock_stop(GstBaseSrc *base)
{
    daemon_link_flush(PELTON_SRC(base)->daemon, false);
    return TRUE;
}

static gboolean caps_set(PeltonSrc *self)
{
    GstCaps *caps = gst_video_info_to_caps(&self->info);
    gboolean set = gst_base_src_set_caps(GST_BASE_SRC(self), caps);
    gst_caps_unref(caps);
    return set;
}

static bool wishes_are_equal(const struct source_wish *a, const struct source_wish *b)
{
    return a->format == b->format && a->width == b->width && a->height == b->height &&
           a->rate.num == b->rate.num && a->rate.den == b->rate.den;
}

/* The source as it is first; then as the next element wants it. */
static gboolean pelton_src_negotiate(GstBaseSrc *base)
{
    PeltonSrc *self = PELTON_SRC(base);
    struct source_wish wish;
    if (!self->stream && !(stream_begin(self) && nearest_format(self)))
        return FALSE;
    if (self->first_waits && !frame_describe(self, &self->first, &self->info))
        return FALSE;
    if (!source_wish_find(GST_BASE_SRC_PAD(base), &self->info, &wish)) {
        GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("the next element takes no frames of this source"),
                          ("put videoconvert behind peltonsrc"));
        return FALSE;
    }
    if (!wishes_are_equal(&wish, &(struct source_wish){0})) {
        self->wish = wish;
        self->clock.start_us = source_clock_position_us(&self->clock);
        if (!stream_begin(self) || !frame_describe(self, &self->first, &self->info))
            return FALSE;
    }
    return caps_set(self);
}

static gboolean pelton_src_decide_allocation(GstBaseSrc *base, GstQuery *query)
{
    PELTON_SRC(base)->plain = !gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    return TRUE; /* no pool: the daemon has one */
}

/* Frames of another kind: the pad's caps follow. */
static GstFlowReturn format_follow(PeltonSrc *self, const struct pelton_frame *frame)
{
    GstVideoInfo info;
    if (!frame_describe(self, frame, &info))
        return GST_FLOW_ERROR;
    if (gst_video_info_is_equal(&info, &self->info))
        return GST_FLOW_OK;
    self->info = info;
    return caps_set(self) ? GST_FLOW_OK : GST_FLOW_NOT_NEGOTIATED;
}

static GstFlowReturn pelton_src_create(GstPushSrc *push, GstBuffer **out)
{
    PeltonSrc *self = PELTON_SRC(push);
    struct pelton_frame frame = self->first;
    GstFlowReturn flow = GST_FLOW_OK;
    if (!self->stream && !pelton_src_negotiate(GST_BASE_SRC(self)))
        return GST_FLOW_NOT_NEGOTIATED;
    if (self->first_waits)
        frame = self->first;
    else if (!frame_read(self, &frame, &flow))
        return flow;
    self->first_waits = false;
    flow = format_follow(self, &frame);
    if (flow != GST_FLOW_OK) {
        stream_link_release(self->stream, &frame);
        return flow;
    }
    GstClockTime pts = source_clock_time(&self->clock, GST_ELEMENT(self), &frame,
                                         gst_base_src_is_live(GST_BASE_SRC(self)));
    GstBuffer *buffer = frame_buffer(self->stream, &frame, &self->info, self->plain);
    if (!buffer)
        return GST_FLOW_ERROR;
    GST_BUFFER_PTS(buffer) = pts;
    GST_BUFFER_DURATION(buffer) = source_clock_duration(&frame, &self->info);
    GST_BUFFER_OFFSET(buffer) = frame.sequence;
    *out = buffer;
    return GST_FLOW_OK;
}

static gboolean pelton_src_is_seekable(GstBaseSrc *base)
{
    return is_file(PELTON_SRC(base));
}

static gboolean pelton_src_do_seek(GstBaseSrc *base, GstSegment *segment)
{
    PeltonSrc *self = PELTON_SRC(base);
    if (!is_file(self))
        return TRUE; /* the first segment: live sources are asked no other */
    if (segment->rate < 0)
        return FALSE;
    stream_close(self);
    self->clock.start_us = segment->start / 1000;
    segment->position = segment->start;
    return TRUE;
}

static gboolean pelton_src_query(GstBaseSrc *base, GstQuery *query)
{
    PeltonSrc *self = PELTON_SRC(base);
    GstFormat format;
    switch (GST_QUERY_TYPE(query)) {
    case GST_QUERY_LATENCY:
        if (is_file(self))
            break;
        gst_query_set_latency(query, TRUE, source_clock_latency(&self->clock), GST_CLOCK_TIME_NONE);
        return TRUE;
    case GST_QUERY_DURATION:
        gst_query_parse_duration(query, &format, NULL);
        if (format != GST_FORMAT_TIME || !is_file(self) || self->source_info.duration_us < 0)
            break;
        gst_query_set_duration(query, format, self->source_info.duration_us * 1000);
        return TRUE;
    default:
        break;
    }
    return GST_BASE_SRC_CLASS(pelton_src_parent_class)->query(base, query);
}

/* ---- GObject ---- */

static void text_set(PeltonSrc *self, gchar **text, const GValue *value)
{
    GST_OBJECT_LOCK(self);
    g_free(*text);
    *text = g_value_dup_string(value);
    if (*text && !**text)
        g_clear_pointer(text, g_free);
    GST_OBJECT_UNLOCK(self);
}

static void pelton_src_set_property(GObject *object, guint id, const GValue *value,
                                    GParamSpec *spec)
{
    PeltonSrc *self = PELTON_SRC(object);
    switch (id) {
    case PROP_SOCKET:
        text_set(self, &self->socket, value);
        break;
    case PROP_SOURCE:
        text_set(self, &self->source, value);
        break;
    case PROP_LOCATION:
        text_set(self, &self->location, value);
        gst_base_src_set_live(GST_BASE_SRC(self), !self->location);
        break;
    case PROP_POLICY:
        self->policy = g_value_get_enum(value);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
}

static void pelton_src_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    PeltonSrc *self = PELTON_SRC(object);
    GST_OBJECT_LOCK(self);
    switch (id) {
    case PROP_SOCKET:
        g_value_set_string(value, self->socket);
        break;
    case PROP_SOURCE:
        g_value_set_string(value, self->source);
        break;
    case PROP_LOCATION:
        g_value_set_string(value, self->location);
        break;
    case PROP_POLICY:
        g_value_set_enum(value, self->policy);
        break;
    default:
        G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    }
    GST_OBJECT_UNLOCK(self);
}

static void pelton_src_finalize(GObject *object)
{
    PeltonSrc *self = PELTON_SRC(object);
    g_free(self->socket);
    g_free(self->source);
    g_free(self->location);
    G_OBJECT_CLASS(pelton_src_parent_class)->finalize(object);
}

static GType policy_type(void)
{
    static const GEnumValue values[] = {
        {SOURCE_POLICY_AUTO, "Every frame of a file, the newest of a source", "auto"},
        {SOURCE_POLICY_LOSSLESS, "Every frame", "lossless"},
        {SOURCE_POLICY_LATEST, "The newest frame", "latest"},
        {0, NULL, NULL}};
    static gsize type;
    if (g_once_init_enter(&type))
        g_once_init_leave(&type, g_enum_register_static("PeltonSrcPolicy", values));
    return type;
}

static void properties_install(GObjectClass *object)
{
    object->set_property = pelton_src_set_property;
    object->get_property = pelton_src_get_property;
    object->finalize = pelton_src_finalize;
    text_install(object, PROP_SOCKET, "socket",
                 "Socket of the daemon; by default the user's or the system's daemon");
    text_install(object, PROP_SOURCE, "source",
                 "A source of the daemon's configuration; by default the element's own name");
    text_install(object, PROP_LOCATION, "location", "A file to decode, in place of a source");
    g_object_class_install_property(
        object, PROP_POLICY,
        g_param_spec_enum("policy", "policy", "What comes if the pipeline is slower", policy_type(),
                          SOURCE_POLICY_AUTO,
                          G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY));
}

static void pelton_src_class_init(PeltonSrcClass *klass)
{
    GstElementClass *element = GST_ELEMENT_CLASS(klass);
    GstBaseSrcClass *base = GST_BASE_SRC_CLASS(klass);
    properties_install(G_OBJECT_CLASS(klass));
    gst_element_class_add_static_pad_template(element, &src_template);
    gst_element_class_set_static_metadata(element, "pelton source", "Source/Video",
                                          "Frames of a pelton daemon's camera, or of a file",
                                          "pelton developers");
    base->start = pelton_src_start;
    base->stop = pelton_src_stop;
    base->unlock = pelton_src_unlock;
    base->unlock_stop = pelton_src_unlock_stop;
    base->negotiate = pelton_src_negotiate;
    base->decide_allocation = pelton_src_decide_allocation;
    base->is_seekable = pelton_src_is_seekable;
    base->do_seek = pelton_src_do_seek;
    base->query = pelton_src_query;
    GST_PUSH_SRC_CLASS(klass)->create = pelton_src_create;
    gst_type_mark_as_plugin_api(policy_type(), 0);
}

static void pelton_src_init(PeltonSrc *self)
{
    gst_base_src_set_format(GST_BASE_SRC(self), GST_FORMAT_TIME);
    gst_base_src_set_live(GST_BASE_SRC(self), TRUE);
}
