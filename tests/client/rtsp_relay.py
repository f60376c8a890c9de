#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An RTSP server on loopback (GStreamer's, Debian's gir1.2-gst-rtsp-server-1.0) that streams are
published at. What comes to rtsp://127.0.0.1:PORT/push is played at /play, from a key picture on.
It prints "ready", then "published" with each publisher's first picture. Exit code 77 without
GStreamer.

  rtsp_relay.py PORT
"""
import sys

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstApp", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstApp, GstRtspServer
except (ImportError, ValueError):
    sys.exit(77)

Gst.init(None)
if not all(Gst.ElementFactory.find(name) for name in ("rtph264depay", "h264parse", "rtph264pay",
                                                      "appsrc", "appsink")):
    sys.exit(77)

READERS = {} # appsrc: whether it has had a key picture
FORMAT = "video/x-h264,stream-format=byte-stream,alignment=au"


def sample_came(sink, told):
    sample = sink.emit("pull-sample")
    if not told:
        told.append(True)
        print("published", flush=True)
    data = sample.get_buffer()
    key = not data.has_flags(Gst.BufferFlags.DELTA_UNIT)
    for source in list(READERS):
        if not key and not READERS[source]:
            continue
        READERS[source] = True
        copy = data.copy_deep()
        copy.pts = copy.dts = Gst.CLOCK_TIME_NONE # those of arrival
        if source.emit("push-buffer", copy) != Gst.FlowReturn.OK:
            READERS.pop(source)
    return Gst.FlowReturn.OK


def publisher_came(factory, media):
    sink, told = media.get_element().get_by_name("sink"), []
    sink.connect("new-sample", lambda s: sample_came(s, told))


def reader_came(factory, media):
    READERS[media.get_element().get_by_name("source")] = False


push = GstRtspServer.RTSPMediaFactory()
push.set_transport_mode(GstRtspServer.RTSPTransportMode.RECORD)
push.set_latency(0)
push.set_launch("( rtph264depay name=depay0 ! h264parse config-interval=-1 ! "
                f"{FORMAT} ! appsink name=sink emit-signals=true sync=false )")
push.connect("media-configure", publisher_came)
play = GstRtspServer.RTSPMediaFactory()
play.set_latency(0)
play.set_launch(f"( appsrc name=source is-live=true format=time do-timestamp=true caps={FORMAT} ! "
                "h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1 )")
play.connect("media-configure", reader_came)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1])
pool = GstRtspServer.RTSPThreadPool() # a reader that is described waits for the publisher's data
pool.set_max_threads(8)
server.set_thread_pool(pool)
mounts = server.get_mount_points()
mounts.add_factory("/push", push)
mounts.add_factory("/play", play)
server.attach(None)
print("ready", flush=True)
GLib.MainLoop().run()
