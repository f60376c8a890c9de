#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An RTSP server on loopback (GStreamer's, Debian's gir1.2-gst-rtsp-server-1.0).
rtsp://127.0.0.1:PORT/clip plays a file from its start for each client. /locked asks for user "me",
password "secret". Exit code 77 without GStreamer.

  rtsp_server.py PORT FILE
"""
import sys

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtspServer
except (ImportError, ValueError):
    sys.exit(77)

port, path = sys.argv[1:3]
Gst.init(None)
if not all(Gst.ElementFactory.find(name) for name in ("qtdemux", "h264parse", "rtph264pay")):
    sys.exit(77)

PIPELINE = (f"( filesrc location={path} ! qtdemux ! h264parse ! rtph264pay name=pay0 pt=96 "
            f"config-interval=-1 )")


def factory(role):
    f = GstRtspServer.RTSPMediaFactory()
    f.set_launch(PIPELINE)
    permissions = GstRtspServer.RTSPPermissions()
    for one in {role, "everybody"}: # who sees it but may not have it is asked for a password
        permissions.add_permission_for_role(one, "media.factory.access", True)
    permissions.add_permission_for_role(role, "media.factory.construct", True)
    f.set_permissions(permissions)
    return f


server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(port)
auth = GstRtspServer.RTSPAuth()
everybody, someone = GstRtspServer.RTSPToken(), GstRtspServer.RTSPToken()
everybody.set_string("media.factory.role", "everybody")
someone.set_string("media.factory.role", "someone")
auth.set_default_token(everybody)
auth.add_basic(GstRtspServer.RTSPAuth.make_basic("me", "secret"), someone)
server.set_auth(auth)
mounts = server.get_mount_points()
mounts.add_factory("/clip", factory("everybody"))
mounts.add_factory("/locked", factory("someone"))
server.attach(None)
print("ready", flush=True)
GLib.MainLoop().run()
