/* SPDX-License-Identifier: BSD-2-Clause */
#include "gstreamer/decoder_element.h"

#include "gstreamer/frame_buffer.h"
#include "gstreamer/frame_match.h"
#include "gstreamer/redundant_units.h"
#include "gstreamer/text_property.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PROP_SOCKET = 1 };
/* A.3.1: at most 16 frames, of two access units each, wait for their turn in output order. If more
 * access units from before a frame that is out have no frame, the oldest of them will have none. */
enum { WAIT_MOST = 32 };

/* Threads. The stream lock of GstVideoDecoder guards all but the atomic members. The thread
 * `output` runs from decoder_begin to decoder_end. Nobody waits for it, or for the daemon, with the
 * stream lock. */
struct _PeltonDec {
    GstVideoDecoder parent;
    gchar *socket; /* property; object lock */

    struct daemon_link *daemon; /* from open to close */
    struct stream_link *stream; /* from decoder_begin to decoder_end */
    GThread *output;
    atomic_int feed; /* access units go here; -1: closed */
    atomic_int flow; /* GstFlowReturn of the output thread */
    GstVideoCodecState *input;
    GByteArray *unit;
    struct redundant_units redundant;
    GstVideoInfo info; /* of the last frame */
    bool plain;        /* the next element takes no strides but the usual */
};

G_DEFINE_TYPE(PeltonDec, pelton_dec, GST_TYPE_VIDEO_DECODER)

static GstStaticPadTemplate sink_template = GST_STATIC_PAD_TEMPLATE(
    "sink", GST_PAD_SINK, GST_PAD_ALWAYS,
    GST_STATIC_CAPS("video/x-h264, stream-format=(string)byte-stream, alignment=(string)au"));
static GstStaticPadTemplate src_template = GST_STATIC_PAD_TEMPLATE(
    "src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(GST_VIDEO_CAPS_MAKE(FRAME_FORMATS)));

/* ---- frames that come back ---- */

static struct pelton_rational input_rate(const PeltonDec *self)
{
    return self->input ? (struct pelton_rational){self->input->info.fps_n, self->input->info.fps_d}
                       : (struct pelton_rational){0, 1};
}

/* Frames that are shown earlier than decoded wait for it. */
static void latency_tell(PeltonDec *self, const struct pelton_frame *frame)
{
    struct pelton_rational rate = input_rate(self);
    if (rate.num <= 0)
        return;
    guint wait = frame->vui.present ? frame->vui.reorder_frames : 1;
    GstClockTime latency = gst_util_uint64_scale_int(GST_SECOND, (wait + 1) * rate.den, rate.num);
    gst_video_decoder_set_latency(GST_VIDEO_DECODER(self), latency, latency);
}

static bool format_follow(PeltonDec *self, const struct pelton_frame *frame)
{
    GstVideoDecoder *decoder = GST_VIDEO_DECODER(self);
    GstVideoInfo info;
    if (!frame_video_info(frame, GST_VIDEO_FORMAT_UNKNOWN, input_rate(self), &info)) {
        GST_ELEMENT_ERROR(self, STREAM, FORMAT, ("GStreamer has no name for %s", frame->pix_fmt),
                          (NULL));
        return false;
    }
    if (gst_video_info_is_equal(&info, &self->info))
        return true;
    GstVideoCodecState *state = gst_video_decoder_set_interlaced_output_state(
        decoder, GST_VIDEO_INFO_FORMAT(&info), info.interlace_mode, frame->width, frame->height,
        self->input);
    state->info.colorimetry = info.colorimetry;
    state->info.chroma_site = info.chroma_site;
    state->info.par_n = info.par_n;
    state->info.par_d = info.par_d;
    self->info = info;
    gst_video_codec_state_unref(state);
    latency_tell(self, frame);
    return gst_video_decoder_negotiate(decoder);
}

/* Gives up access units from before number that will have no frame: they were damaged. */
static void barren_release(GstVideoDecoder *decoder, guint32 number)
{
    GList *frames = gst_video_decoder_get_frames(decoder); /* the oldest first */
    guint earlier = 0;
    for (GList *l = frames; l; l = l->next)
        earlier += ((GstVideoCodecFrame *)l->data)->system_frame_number < number;
    for (GList *l = frames; l && earlier > WAIT_MOST; l = l->next, earlier--)
        gst_video_decoder_release_frame(decoder, gst_video_codec_frame_ref(l->data));
    g_list_free_full(frames, (GDestroyNotify)gst_video_codec_frame_unref);
}

/* The codec frame of a decoded one. The second field's access unit has no frame of its own. */
static GstVideoCodecFrame *codec_frame_find(GstVideoDecoder *decoder,
                                            const struct pelton_frame *frame)
{
    guint32 numbers[2];
    guint n = frame_match_numbers(frame->side, numbers, G_N_ELEMENTS(numbers));
    if (!n)
        return gst_video_decoder_get_oldest_frame(decoder);
    GstVideoCodecFrame *second =
        n > 1 && numbers[1] != numbers[0] ? gst_video_decoder_get_frame(decoder, numbers[1]) : NULL;
    if (second)
        gst_video_decoder_release_frame(decoder, second);
    barren_release(decoder, numbers[0]);
    return gst_video_decoder_get_frame(decoder, numbers[0]);
}

/* With the stream lock. The frame goes back. */
static GstFlowReturn frame_give(PeltonDec *self, const struct pelton_frame *frame)
{
    GstVideoDecoder *decoder = GST_VIDEO_DECODER(self);
    if (!format_follow(self, frame)) {
        stream_link_release(self->stream, frame);
        return GST_FLOW_NOT_NEGOTIATED;
    }
    GstVideoCodecFrame *codec_frame = codec_frame_find(decoder, frame);
    if (!codec_frame) {
        stream_link_release(self->stream, frame);
        return GST_FLOW_OK;
    }
    codec_frame->output_buffer = frame_buffer(self->stream, frame, &self->info, self->plain);
    if (!codec_frame->output_buffer) {
        gst_video_decoder_release_frame(decoder, codec_frame);
        return GST_FLOW_ERROR;
    }
    return gst_video_decoder_finish_frame(decoder, codec_frame);
}

static gpointer output_run(gpointer data)
{
    PeltonDec *self = data;
    GstFlowReturn flow = GST_FLOW_OK;
    struct pelton_frame frame;
    int rc = 0;
    while (flow == GST_FLOW_OK && (rc = stream_link_next(self->stream, &frame)) > 0) {
        GST_VIDEO_DECODER_STREAM_LOCK(self);
        flow = frame_give(self, &frame);
        GST_VIDEO_DECODER_STREAM_UNLOCK(self);
    }
    if (flow == GST_FLOW_OK && rc < 0) {
        flow = rc == PELTON_ERR_TIMEOUT ? GST_FLOW_FLUSHING : GST_FLOW_ERROR;
        if (flow == GST_FLOW_ERROR)
            stream_link_complain(self->stream, GST_ELEMENT(self));
    }
    atomic_store(&self->flow, flow);
    int feed = atomic_load(&self->feed);
    if (feed >= 0)
        shutdown(feed, SHUT_RDWR); /* whoever waits to write does so no more */
    return NULL;
}

/* ---- the stream ---- */

/* What the daemon shall give: the stream's own format, or the nearest with a name in GStreamer. */
static void format_ask(PeltonDec *self, struct pelton_open_params *params)
{
    const GstStructure *s = self->input ? gst_caps_get_structure(self->input->caps, 0) : NULL;
    const char *chroma = s ? gst_structure_get_string(s, "chroma-format") : NULL;
    guint luma = 8, other = 8;
    char own[32];
    if (!chroma || !gst_structure_get_uint(s, "bit-depth-luma", &luma))
        return;
    gst_structure_get_uint(s, "bit-depth-chroma", &other);
    guint depth = MAX(luma, other);
    const char *family = g_str_equal(chroma, "4:0:0")   ? "gray"
                         : g_str_equal(chroma, "4:2:2") ? "yuv422p"
                         : g_str_equal(chroma, "4:4:4") ? "yuv444p"
                                                        : "yuv420p";
    g_snprintf(own, sizeof(own), depth > 8 ? "%s%ule" : "%s", family, depth);
    if (frame_format(own) != GST_VIDEO_FORMAT_UNKNOWN)
        return;
    params->pix_fmt = frame_nearest_pix_fmt(own);
    params->output.width = GST_VIDEO_INFO_WIDTH(&self->input->info);
    params->output.height = GST_VIDEO_INFO_HEIGHT(&self->input->info);
}

static bool decoder_begin(PeltonDec *self)
{
    int ends[2];
    struct pelton_open_params params;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
        GST_ELEMENT_ERROR(self, RESOURCE, FAILED, ("%s", g_strerror(errno)), (NULL));
        return false;
    }
    pelton_open_params_init(&params);
    params.fd = ends[0];
    params.name = "the pipeline";
    params.side_data = PELTON_SIDE_KNOWN;
    params.depth = STREAM_LINK_POOL;
    format_ask(self, &params);
    self->stream = stream_link_open(GST_ELEMENT(self), self->daemon, &params);
    close(ends[0]);
    if (!self->stream) {
        close(ends[1]);
        return false;
    }
    atomic_store(&self->feed, ends[1]);
    atomic_store(&self->flow, GST_FLOW_OK);
    self->output = g_thread_new("peltondec", output_run, self);
    return true;
}

static void feed_close(PeltonDec *self)
{
    int feed = atomic_exchange(&self->feed, -1);
    if (feed >= 0)
        close(feed);
}

/* Waits for the output thread; then the stream is closed. The stream lock is given up meanwhile. */
static void decoder_end(PeltonDec *self)
{
    if (!self->stream)
        return;
    GThread *output = g_steal_pointer(&self->output);
    GST_VIDEO_DECODER_STREAM_UNLOCK(self);
    g_thread_join(output);
    GST_VIDEO_DECODER_STREAM_LOCK(self);
    feed_close(self);
    g_clear_pointer(&self->stream, stream_link_unref);
}

/* At once: what is on its way is dropped. */
static void decoder_abort(PeltonDec *self)
{
    daemon_link_flush(self->daemon, true);
    decoder_end(self);
    daemon_link_flush(self->daemon, false);
}

/* False: the other side reads no more. */
static bool feed_write(PeltonDec *self, const GByteArray *unit)
{
    int feed = atomic_load(&self->feed);
    for (gsize at = 0; at < unit->len;) {
        ssize_t n = send(feed, unit->data + at, unit->len - at, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        at += MAX(n, 0);
    }
    return true;
}

/* ---- GstVideoDecoder ---- */

static gboolean pelton_dec_open(GstVideoDecoder *decoder)
{
    PeltonDec *self = PELTON_DEC(decoder);
    self->daemon = daemon_link_open(GST_ELEMENT(self), self->socket, true);
    return self->daemon != NULL;
}

static gboolean pelton_dec_close(GstVideoDecoder *decoder)
{
    g_clear_pointer(&PELTON_DEC(decoder)->daemon, daemon_link_unref);
    return TRUE;
}

static gboolean pelton_dec_start(GstVideoDecoder *decoder)
{
    gst_video_info_init(&PELTON_DEC(decoder)->info);
    return TRUE;
}

/* Called without the stream lock. */
static gboolean pelton_dec_stop(GstVideoDecoder *decoder)
{
    PeltonDec *self = PELTON_DEC(decoder);
    GST_VIDEO_DECODER_STREAM_LOCK(self);
    decoder_abort(self);
    redundant_units_forget(&self->redundant);
    g_clear_pointer(&self->input, gst_video_codec_state_unref);
    GST_VIDEO_DECODER_STREAM_UNLOCK(self);
    return TRUE;
}

static gboolean pelton_dec_set_format(GstVideoDecoder *decoder, GstVideoCodecState *state)
{
    PeltonDec *self = PELTON_DEC(decoder);
    g_clear_pointer(&self->input, gst_video_codec_state_unref);
    self->input = gst_video_codec_state_ref(state);
    return TRUE;
}

static gboolean pelton_dec_flush(GstVideoDecoder *decoder)
{
    decoder_abort(PELTON_DEC(decoder));
    return TRUE;
}

/* The end of the byte stream: all frames come. */
static GstFlowReturn pelton_dec_finish(GstVideoDecoder *decoder)
{
    PeltonDec *self = PELTON_DEC(decoder);
    int feed = atomic_load(&self->feed);
    if (!self->stream)
        return GST_FLOW_OK;
    if (feed >= 0)
        shutdown(feed, SHUT_WR);
    decoder_end(self);
    return atomic_load(&self->flow);
}

/* The unit's bytes for the daemon. False: it belongs to the unit before, and has no frame. Streams
 * with redundant pictures get no delimiters, so that the next unit can go on with this one. */
static bool unit_write(PeltonDec *self, const GstMapInfo *map, guint32 number)
{
    bool redundant = redundant_units_look(&self->redundant, map->data, map->size);
    g_byte_array_set_size(self->unit, 0);
    if (redundant) {
        frame_match_copy(self->unit, map->data, map->size);
        return false;
    }
    frame_match_mark(self->unit, map->data, map->size, number);
    if (!self->redundant.allowed)
        frame_match_delimit(self->unit);
    return true;
}

/* Takes the frame. */
static GstFlowReturn unit_feed(PeltonDec *self, GstVideoCodecFrame *frame)
{
    GstMapInfo map;
    if (!gst_buffer_map(frame->input_buffer, &map, GST_MAP_READ)) {
        gst_video_codec_frame_unref(frame);
        return GST_FLOW_ERROR;
    }
    bool begins = unit_write(self, &map, frame->system_frame_number);
    gst_buffer_unmap(frame->input_buffer, &map);
    if (begins)
        gst_video_codec_frame_unref(frame);
    else
        gst_video_decoder_release_frame(GST_VIDEO_DECODER(self), frame);
    GST_VIDEO_DECODER_STREAM_UNLOCK(self);
    bool fed = feed_write(self, self->unit);
    GST_VIDEO_DECODER_STREAM_LOCK(self);
    GstFlowReturn flow = atomic_load(&self->flow);
    return fed || flow != GST_FLOW_OK ? flow : GST_FLOW_EOS;
}

static GstFlowReturn pelton_dec_handle_frame(GstVideoDecoder *decoder, GstVideoCodecFrame *frame)
{
    PeltonDec *self = PELTON_DEC(decoder);
    if (self->stream || decoder_begin(self))
        return unit_feed(self, frame);
    gst_video_codec_frame_unref(frame);
    return GST_FLOW_ERROR;
}

static gboolean pelton_dec_decide_allocation(GstVideoDecoder *decoder, GstQuery *query)
{
    PELTON_DEC(decoder)->plain =
        !gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, NULL);
    return GST_VIDEO_DECODER_CLASS(pelton_dec_parent_class)->decide_allocation(decoder, query);
}

/* The way down: a thread that waits for the daemon must not hold the pads. */
static GstStateChangeReturn pelton_dec_change_state(GstElement *element, GstStateChange change)
{
    PeltonDec *self = PELTON_DEC(element);
    int feed = atomic_load(&self->feed);
    if (change == GST_STATE_CHANGE_PAUSED_TO_READY) {
        daemon_link_flush(self->daemon, true);
        if (feed >= 0)
            shutdown(feed, SHUT_RDWR);
    }
    return GST_ELEMENT_CLASS(pelton_dec_parent_class)->change_state(element, change);
}

/* ---- GObject ---- */

static void pelton_dec_set_property(GObject *object, guint id, const GValue *value,
                                    GParamSpec *spec)
{
    PeltonDec *self = PELTON_DEC(object);
    GST_OBJECT_LOCK(self);
    g_free(self->socket);
    self->socket = g_value_dup_string(value);
    GST_OBJECT_UNLOCK(self);
}

static void pelton_dec_get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
    GST_OBJECT_LOCK(object);
    g_value_set_string(value, PELTON_DEC(object)->socket);
    GST_OBJECT_UNLOCK(object);
}

static void pelton_dec_finalize(GObject *object)
{
    PeltonDec *self = PELTON_DEC(object);
    g_free(self->socket);
    g_byte_array_unref(self->unit);
    G_OBJECT_CLASS(pelton_dec_parent_class)->finalize(object);
}

static void properties_install(GObjectClass *object)
{
    object->set_property = pelton_dec_set_property;
    object->get_property = pelton_dec_get_property;
    object->finalize = pelton_dec_finalize;
    text_install(
        object, PROP_SOCKET, "socket",
        "Socket of the daemon; by default the user's or the system's daemon, or one of the "
        "pipeline's own");
}

static void pelton_dec_class_init(PeltonDecClass *klass)
{
    GstElementClass *element = GST_ELEMENT_CLASS(klass);
    GstVideoDecoderClass *decoder = GST_VIDEO_DECODER_CLASS(klass);
    properties_install(G_OBJECT_CLASS(klass));
    gst_element_class_add_static_pad_template(element, &sink_template);
    gst_element_class_add_static_pad_template(element, &src_template);
    gst_element_class_set_static_metadata(element, "pelton H.264 decoder", "Codec/Decoder/Video",
                                          "Decodes H.264 by a pelton daemon, on the GPU",
                                          "pelton developers");
    element->change_state = pelton_dec_change_state;
    decoder->open = pelton_dec_open;
    decoder->close = pelton_dec_close;
    decoder->start = pelton_dec_start;
    decoder->stop = pelton_dec_stop;
    decoder->set_format = pelton_dec_set_format;
    decoder->flush = pelton_dec_flush;
    decoder->finish = pelton_dec_finish;
    decoder->drain = pelton_dec_finish;
    decoder->handle_frame = pelton_dec_handle_frame;
    decoder->decide_allocation = pelton_dec_decide_allocation;
}

static void pelton_dec_init(PeltonDec *self)
{
    self->unit = g_byte_array_new();
    atomic_init(&self->feed, -1);
    gst_video_decoder_set_packetized(GST_VIDEO_DECODER(self), TRUE);
    gst_video_decoder_set_needs_format(GST_VIDEO_DECODER(self), TRUE);
}
