# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of the GStreamer plugin: pipelines, their buffers, their messages."""
import ctypes, os, pathlib, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from pythontest import SKIPPED, arguments, check, clip, equal, finish, t

try:
    import gi
    gi.require_version("Gst", "1.0")
    gi.require_version("GstVideo", "1.0")
    gi.require_version("GstApp", "1.0")
    from gi.repository import GLib, Gst, GstApp, GstVideo
except (ImportError, ValueError) as e:
    print("skipped:", e)
    sys.exit(SKIPPED)

NEEDED = {"h264parse": "gstreamer1.0-plugins-bad", "qtdemux": "gstreamer1.0-plugins-good",
          "videoconvert": "gstreamer1.0-plugins-base"}


def begin(args):
    """Loads the plugin of the build tree."""
    build = pathlib.Path(args.bin).resolve().parent
    os.environ["GST_REGISTRY"] = str(build / "gstreamer-1.0/registry.bin")
    os.environ["GST_PLUGIN_PATH"] = str(build / "gstreamer-1.0")
    Gst.init(None)
    for element, package in NEEDED.items():
        if not Gst.ElementFactory.find(element):
            print(f"skipped: no {element} ({package})")
            sys.exit(SKIPPED)
    for element in ("peltonsrc", "peltondec"):
        if not Gst.ElementFactory.find(element):
            raise SystemExit(f"no element {element} in {build}/gstreamer-1.0")


class Pipeline:
    """A pipeline whose last element is the appsink `out`. It ends with the block."""

    def __init__(self, text):
        self.pipeline = Gst.parse_launch(text + " ! appsink name=out sync=false max-buffers=4")
        self.sink = self.pipeline.get_by_name("out")
        self.bus = self.pipeline.get_bus()
        self.failed = None # the error that sample() met

    def __enter__(self):
        self.pipeline.set_state(Gst.State.PLAYING)
        return self

    def __exit__(self, *_):
        self.pipeline.set_state(Gst.State.NULL)

    def sample(self, seconds=20):
        """The next sample; None: the end, an error, or nothing came."""
        end = time.monotonic() + t.patience(seconds)
        while time.monotonic() < end and not self.sink.get_property("eos") and not self.failed:
            sample = self.sink.emit("try-pull-sample", Gst.SECOND // 10)
            if sample:
                return sample
            self.failed = self.bus.pop_filtered(Gst.MessageType.ERROR)
        return None

    def samples(self):
        """All of them."""
        while (sample := self.sample()) is not None:
            yield sample

    def error(self, seconds=20):
        """(text, hint, domain's code) of the first error; None: there was none."""
        m = self.failed or self.bus.timed_pop_filtered(
            int(t.patience(seconds) * Gst.SECOND), Gst.MessageType.ERROR | Gst.MessageType.EOS)
        if m is None or m.type == Gst.MessageType.EOS:
            return None
        error, debug = m.parse_error()
        return error.message, debug or "", error.code

    def seek(self, seconds):
        flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
        return self.pipeline.seek_simple(Gst.Format.TIME, flags, int(seconds * Gst.SECOND))


def shown(text):
    """Runs a pipeline to its end in a video sink, which takes any strides. All its buffers."""
    pipeline = Gst.parse_launch(text + " ! fakevideosink name=out sync=false")
    buffers = []

    def keep(_, probe):
        buffers.append(probe.get_buffer())
        return Gst.PadProbeReturn.OK

    pad = pipeline.get_by_name("out").get_static_pad("sink")
    pad.add_probe(Gst.PadProbeType.BUFFER, keep)
    pipeline.set_state(Gst.State.PLAYING)
    pipeline.get_bus().timed_pop_filtered(int(t.patience(20) * Gst.SECOND),
                                          Gst.MessageType.ERROR | Gst.MessageType.EOS)
    return pipeline, buffers


def text(sample, field):
    """A field of the caps."""
    return sample.get_caps().get_structure(0).get_value(field)


def fraction(sample, field):
    ok, num, den = sample.get_caps().get_structure(0).get_fraction(field)
    return f"{num}/{den}" if ok else None


def planes(sample):
    """The samples of each plane without padding, by GStreamer's own view of the buffer."""
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    ok, frame = GstVideo.video_frame_map(info, sample.get_buffer(), Gst.MapFlags.READ)
    assert ok
    frame.unmap()
    ok, view = sample.get_buffer().map(Gst.MapFlags.READ)
    data = bytes(view.data)
    sample.get_buffer().unmap(view)
    meta = GstVideo.buffer_get_video_meta(sample.get_buffer())
    out = []
    for i in range(info.finfo.n_planes):
        offset = meta.offset[i] if meta else info.offset[i]
        stride = meta.stride[i] if meta else info.stride[i]
        width = -(-info.width // (1 << info.finfo.w_sub[i])) * info.finfo.pixel_stride[i]
        height = -(-info.height // (1 << info.finfo.h_sub[i]))
        out.append(b"".join(data[offset + y * stride:offset + y * stride + width]
                            for y in range(height)))
    return b"".join(out)


class MapInfo(ctypes.Structure):
    """GstMapInfo"""
    _fields_ = [("memory", ctypes.c_void_p), ("flags", ctypes.c_int), ("data", ctypes.c_void_p),
                ("size", ctypes.c_size_t), ("maxsize", ctypes.c_size_t),
                ("user_data", ctypes.c_void_p * 4), ("reserved", ctypes.c_void_p * 4)]


def mapping(buffer):
    """The line of /proc/self/maps that the buffer's first byte lies in."""
    gst = ctypes.CDLL("libgstreamer-1.0.so.0")
    info = MapInfo()
    memory = ctypes.c_void_p(hash(buffer.peek_memory(0)))
    if not gst.gst_memory_map(memory, ctypes.byref(info), 1):
        return "cannot be mapped"
    address = info.data
    gst.gst_memory_unmap(memory, ctypes.byref(info))
    for line in open("/proc/self/maps"):
        first, last = (int(x, 16) for x in line.split()[0].split("-"))
        if first <= address < last:
            return line.strip()
    return "nowhere"


def descriptors():
    return len(os.listdir("/proc/self/fd"))
