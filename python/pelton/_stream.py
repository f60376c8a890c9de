# SPDX-License-Identifier: BSD-2-Clause
"""A subscription: open a file or a source, read frames, learn about its end."""
from __future__ import annotations

import collections
import gc
import os
import stat
import time
from typing import (Any, Callable, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set,
                    Tuple, Union)

from . import _daemon, _proto, errors
from ._arguments import (FORMATS, ON_ERROR, POLICIES, SKIP, Place, Source, microseconds, output_of,
                         place_of, policy_of, ranges_of, real, text, times_of, whole)
from ._connection import Connection, deadline_of
from ._frame import MOST_BATCH, Frame, Pool, release_of
from ._units import UnitPool

DEVICE = 3  # of enum pelton_transport
OPEN_S = 120.0  # a software device compiles its shaders first
END_S = 2.0     # the end of a stream may come while the program holds all slots
SETTLE_S = 0.001  # between two looks at slots that the GPU still reads
STALE_S = 0.05  # a frame that waited in the socket since an earlier question
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.25, 8.0


class Event(NamedTuple):
    """`kind` is "format" (a new epoch begins), "restarting", "running" or "reconnected"; `text` is
    the daemon's."""
    kind: str
    text: str
    epoch: int


def open_file(path: str) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as e:
        raise errors.of_errno(e, path) from None
    st = os.fstat(fd)
    if stat.S_ISDIR(st.st_mode) or (stat.S_ISREG(st.st_mode) and not st.st_size):
        os.close(fd)
        what = "is a directory" if stat.S_ISDIR(st.st_mode) else "the file is empty"
        raise errors.InputError(f"{path}: {what}")
    return fd


class Stream:
    """An open source. Iterate over it, or call read().

    A program may hold as many frames as the stream has slots (`slots`). With all of them held no
    further frame can come: read() then raises SlotsExhausted. Any thread may give frames back; one
    thread at a time reads a stream.
    """

    def __init__(self, place: Place, options: Any, socket: Optional[str] = None,
                 timeout: float = OPEN_S, reconnect: bool = False,
                 on_event: Optional[Callable[[Event], None]] = None) -> None:
        self.name = place.name
        self.events: Deque[Event] = collections.deque(maxlen=64)
        self._place, self._options, self._socket = place, options, socket
        self._timeout, self._reconnect, self._on_event = timeout, reconnect, on_event
        self._held: Set[Tuple[int, int, int, int]] = set()
        self._next_sequence = self._opened = self._epoch_base = self._epoch = 0
        self._closed = False
        self._pid = os.getpid()
        self._pool_kind, self._slots = UnitPool if options.encoded else Pool, None
        if options.transport == DEVICE:
            from . import _cuda # at first use: most programs have no CUDA
            self._pool_kind, self._slots = _cuda.DevicePool, _cuda.Slots()
        self._conn: Connection = None  # type: ignore[assignment]
        self._open()

    # ---- open and close ----

    def _open(self) -> None:
        """Also after the loss of a connection: then epochs of the new one begin anew."""
        conn = _daemon.connection(self._socket, self._place.named)
        self._conn, self._id = conn, conn.new_object()
        self._pools: Dict[int, Pool] = {}
        self._queue: Deque[Any] = collections.deque()
        self._end: Any = None
        self._credit = 0.0  # when it was asked for
        self._newest = -1
        self._epoch_base = self._epoch
        self._last = False
        self._opened += 1
        conn.streams[self._id] = self
        fd = open_file(self._place.path) if self._place.path is not None else self._place.fd
        try:
            request = conn.start(_proto.OPEN, self._options.SerializeToString(), self._id,
                                 [fd] if fd >= 0 else [])
            self.info = conn.answer(request, _proto.OPEN_REPLY, deadline_of(self._timeout)).info
        finally:
            if self._place.path is not None:
                os.close(fd)
        if not self.info.supported:
            conn.wait(lambda: self._end is not None, deadline_of(self._timeout))
            self._raise_end()
            raise errors.Unsupported(f"{self.name}: {self.info.unsupported_what}")

    def close(self) -> None:
        """Ends the subscription. Arrays of frames that are still held keep their contents."""
        if not self._closed:
            self._closed = True
            if self._slots:
                self._slots.clear()
            if self._conn is not None:
                self._conn.post(_proto.CLOSE, b"", self._id)
                self._conn.streams.pop(self._id, None)
                self._queue.clear()
                self._pools.clear()

    def __del__(self) -> None:
        if hasattr(self, "_closed"):
            self.close()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a stream belongs to its process: open it in the one that reads it")

    # ---- messages, by whichever thread reads the socket ----

    def _on_message(self, kind: int, m: Any, fds: List[int]) -> None:
        if self._end is not None:
            return
        if kind == _proto.FRAME_READY:
            pool = self._pools.get(m.epoch)
            if pool is None or not pool.ready or m.slot >= pool.slots:
                raise errors.ProtocolError("the daemon sent a frame in a slot that does not exist")
            self._credit = 0.0
            self._queue.append(m)
        elif kind == _proto.FORMAT_CHANGED:
            if m.epoch in self._pools:
                raise errors.ProtocolError("the daemon announced an epoch twice")
            self._pools[m.epoch] = self._pool_kind(m, fds, self._epoch_base)
            self._newest = m.epoch
            waiting = {f.epoch for f in self._queue} | {m.epoch}
            self._pools = {e: p for e, p in self._pools.items() if e in waiting}
            self._epoch = self._epoch_base + m.epoch
            self._tell("format", f"{m.width}x{m.height} {m.pix_fmt}")
        elif kind == _proto.SOURCE_STATE and m.state in (1, 2):
            self._tell("running" if m.state == 1 else "restarting", m.cause)
        elif kind == _proto.EOS:
            self._end = m

    def _tell(self, kind: str, text: str) -> None:
        self.events.append(Event(kind, text, self._epoch))

    def _raise_end(self) -> None:
        if self._end is not None and self._end.failure.code:
            f = self._end.failure
            raise errors.of_code(f.code, f.cause, f.hint)

    # ---- frames ----

    def read(self, timeout: Optional[float] = None) -> Any:
        """The next Frame, or Batch where that was asked for; None: the stream has ended. With
        policy "latest" it is the newest frame at the time of the call. timeout is in seconds; None
        waits for ever. Raises Timeout, SlotsExhausted, or the failure that ended the stream, after
        the frames before it."""
        deadline = deadline_of(timeout)
        while True:
            try:
                got = self._next(deadline)
            except errors.Gone:
                if not self._reconnect or self._closed or self._pid != os.getpid():
                    raise
                self._connect_again(deadline)
                continue
            self._report()
            if not got:
                return None
            while got and not self._place.uri and got[0].sequence < self._next_sequence:
                self._release(got.pop(0))  # a file is read again after a reconnection
            if got:
                self._next_sequence = got[-1].sequence + 1
                pool = self._pools[got[0].epoch]
                batched = self._options.batch > 1
                return pool.frames(self, got) if batched else pool.frame(self, got[0])

    def _run(self) -> int:
        """Frames that the next read() gives: of a batch those that lie one after another, 0 while
        more of them may come."""
        if self._options.batch < 2:
            return min(len(self._queue), 1)
        queue, n = list(self._queue), 0
        for n, m in enumerate(queue, 1):
            if m.epoch != queue[0].epoch or m.slot != queue[0].slot + n - 1:
                return n - 1
            if (m.slot + 1) % self._options.batch == 0:
                return n
        return n if self._end is not None or self._conn.dead else 0

    def _next(self, deadline: float) -> List[Any]:
        if self._closed:
            raise errors.UsageError("the stream is closed")
        if self._pid != os.getpid():
            raise self._conn.dead.again()  # the frames that wait are the parent's
        self._drop_stale()
        if self._slots:
            # nothing is hurried while most slots are free
            self._slots.settle(3 * len(self._held) >= self.slots)
        if not self._run() and self._end is None:
            self._ask()
            self._wait(deadline)
        if self._queue:
            got = [self._queue.popleft() for _ in range(self._run())]
            self._last = bool(got[-1].flags & 8)
            return got
        self._raise_end()
        self._check_start()
        return []

    def _check_start(self) -> None:
        """A start beyond the end is a mistake. Within the file options may leave all frames out."""
        had, length = self._options, self.info.duration_us
        if had.start_us <= 0 or self._place.uri or self._next_sequence:
            return
        partial = (had.duration_us > 0 or had.skip or had.max_fps > 0
                   or had.on_error == ON_ERROR["drop"])
        if partial and not 0 < length <= had.start_us:
            return
        raise errors.InputError(
            f"{self.name}: no frame at or after {had.start_us / 1e6:g} s, where start= begins",
            f"the file lasts {length / 1e6:.3f} s" if length > 0 else "its duration is not known")

    def _ask(self) -> None:
        if self._options.policy and not self._credit and not self._conn.dead:
            self._credit = time.monotonic()
            self._conn.send(_proto.CREDIT, _proto.Credit(count=1).SerializeToString(),
                            object_id=self._id)

    def _drop_stale(self) -> None:
        """A frame may wait that an earlier call asked for, which ended by its time-out. The reader
        wants the newest one now."""
        if self._options.policy != POLICIES["latest"]:
            return
        if self._credit and time.monotonic() - self._credit > STALE_S:
            self._conn.wait(lambda: False, 0)
        while self._queue and time.monotonic_ns() - self._queue[0].decoded_ns > STALE_S * 1e9:
            self._release(self._queue.popleft())

    def _wait(self, deadline: float) -> None:
        ready = lambda: self._run() or self._end is not None
        self._settle_all()
        if self._exhausted() and not self._last:
            gc.collect()  # frames in cycles hold their slots until then
            self._settle_all()
            if self._exhausted():
                if self._conn.wait(ready, min(deadline, time.monotonic() + END_S)):
                    return
                if self._exhausted():
                    raise errors.SlotsExhausted(
                        f"{self.name}: the program holds all {self.slots} slots, so no frame comes",
                        "close() frames, drop arrays of theirs, copy them, or open with slots=N")
        if not self._wait_settling(ready, deadline):
            raise errors.Timeout(f"{self.name}: no frame in time")

    def _wait_settling(self, ready: Callable[[], Any], deadline: float) -> bool:
        """As Connection.wait. Slots go back meanwhile: the daemon may need them for that frame."""
        while self._slots and self._slots.waiting and time.monotonic() < deadline:
            if self._conn.wait(ready, min(deadline, time.monotonic() + SETTLE_S)):
                return True
            self._slots.settle(False)
        return self._conn.wait(ready, deadline)

    def _settle_all(self) -> None:
        """Until a slot is free, or the GPU reads none that the program gave up."""
        while self._slots and self._exhausted() and self._slots.settle(True, True):
            pass

    def _exhausted(self) -> bool:
        batch = self._options.batch or 1
        if len(self._held) < self.slots // batch or not self.slots:
            return False
        mine = (self._opened, self._newest)
        groups = {key[2] // batch for key in list(self._held) if key[:2] == mine}
        return len(groups) >= self.slots // batch

    def _release(self, m: Any) -> None:
        self._conn.post(_proto.RELEASE, release_of(m), self._id)

    def _report(self) -> None:
        while self._on_event and self.events:
            self._on_event(self.events.popleft())

    def _connect_again(self, deadline: float) -> None:
        pause, why = FIRST_PAUSE_S, self._conn.dead
        while True:
            if time.monotonic() + pause > deadline:
                raise errors.Timeout(f"{self.name}: no connection in time ({why})")
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)
            try:
                self._open()
            except (errors.Gone, errors.NoDaemon, errors.Timeout):
                continue
            self._tell("reconnected", str(why))
            return

    def __iter__(self) -> Iterator[Frame]:
        return self

    def __next__(self) -> Frame:
        frame = self.read()
        if frame is None:
            raise StopIteration
        return frame

    def frames_at(self, indices: Iterable[int] = (), *,
                  times: Iterable[float] = ()) -> "Stream":
        """A stream of these frames of the same file, in this order: by their numbers from 0, or by
        times in seconds, as frame.time has them (the frame that is shown then). Each frame has its
        `number`. Only pictures that these frames need are decoded. Rising numbers are the fastest.
        Raises InputError where a number or a time is past the end."""
        had = self._options
        options = _proto.Open(uri=had.uri, name=had.name, pix_fmt=had.pix_fmt,
                              width=had.width, height=had.height, crop=had.crop,
                              filter=had.filter, layout=had.layout, type=had.type,
                              mean=had.mean, scale=had.scale, batch=had.batch,
                              on_error=had.on_error,
                              side_data=had.side_data,
                              depth=0 if had.policy else had.depth, wanted=ranges_of(indices),
                              wanted_us=times_of(times))
        if bool(options.wanted) == bool(options.wanted_us):
            raise errors.UsageError("frames_at wants numbers or times", "and at least one of them")
        return Stream(self._place, options, self._socket, self._timeout, self._reconnect)

    # ---- what is known ----

    @property
    def slots(self) -> int:
        """Frames of the shared memory; 0 before the first format."""
        pool = self._pools.get(self._newest)
        return pool.slots if pool else 0

    @property
    def held(self) -> int:
        """Frames that the program holds."""
        return len(self._held)

    @property
    def ended(self) -> bool:
        """No frame follows."""
        return self._closed or (self._end is not None and not self._queue)

    @property
    def width(self) -> int:
        """Pixels, as the container or the first picture says."""
        return self.info.width

    @property
    def height(self) -> int:
        """Pixels."""
        return self.info.height

    @property
    def pix_fmt(self) -> str:
        """FFmpeg's name of the stream's own pixel format."""
        return self.info.pix_fmt

    @property
    def codec(self) -> str:
        return self.info.codec

    @property
    def fps(self) -> float:
        """Frames per second on average; 0: not known."""
        for rate in (self.info.avg_frame_rate, self.info.frame_rate):
            if rate.num > 0 and rate.den > 0:
                return rate.num / rate.den
        return 0.0

    @property
    def duration(self) -> Optional[float]:
        """Seconds; None: not known."""
        return None if self.info.duration_us < 0 else self.info.duration_us / 1e6

    @property
    def frames(self) -> Optional[int]:
        """Number of frames; None: not known."""
        return None if self.info.frames < 0 else self.info.frames

    def stats(self, timeout: float = 10.0) -> Any:
        """The totals so far: the message StatsReply."""
        if self._end is not None:
            return self._end.stats
        request = self._conn.start(_proto.STATS, object_id=self._id)
        return self._conn.answer(request, _proto.STATS_REPLY, deadline_of(timeout))

    def __repr__(self) -> str:
        return f"<Stream {self.name} {self.width}x{self.height} {self.pix_fmt}>"


def open(source: Source, device: Optional[str] = None, *, policy: Optional[str] = None,
         pix_fmt: str = "", format: str = "", size: Optional[Tuple[int, int]] = None,
         crop: Optional[Tuple[int, int, int, int]] = None, filter: str = "bicubic",
         dtype: Any = None, layout: Optional[str] = None, mean: Any = None, std: Any = None,
         batch: int = 1, start: float = 0.0, duration: Optional[float] = None, frames: int = 0,
         loop: bool = False, realtime: bool = False, fps: float = 0.0, skip: Optional[str] = None,
         at: Optional[Iterable[int]] = None, encoded: bool = False,
         on_error: str = "show", side_data: int = 0, slots: int = 0,
         socket: Optional[str] = None, timeout: float = OPEN_S, reconnect: bool = False,
         on_event: Optional[Callable[[Event], None]] = None) -> Stream:
    """Opens a file, a camera, an address, or a source that the daemon's configuration names.

    source      a path, an open file or descriptor, an address ("rtsp://…"), "source:NAME" or NAME
    device      None: frames in host memory. "cuda": in memory of the daemon's GPU, which is
                imported here; frame.planes are for torch.from_dlpack. NoDevice without CUDA
    policy      "lossless" (files), "latest" (other sources), or "fifo:N"
    pix_fmt     "gray", "nv12" of yuv420p, planar YUV of gray, "rgb24", "bgr24", "rgba", "bgra";
                with a size every planar YUV, too; empty: the stream's own
    format      the same by short names: "rgb", "bgr", "rgba", "bgra", "gray"
    size        (width, height) of the frames: the GPU scales them; None: the picture's or crop's
    crop        (x, y, width, height) in pixels of the picture; None: all of it
    filter      "bicubic", "bilinear", "area" or "nearest", of chroma too
    dtype       "uint8", "float16" or "float32", or numpy's: frame.tensor is one array of rgb, bgr,
                rgba, bgra or gray. Floats go from 0 to 1
    layout      "NCHW" (the default with a dtype): (channels, height, width); "NHWC": (height,
                width, channels)
    mean, std   of floats: (value - mean) / std, for each channel or for all
    batch       read() gives so many frames at once, as a Batch: one array of all of them. Less at
                the stream's end. Needs policy "lossless"; of cameras that pelton develops none
    start, duration   seconds of the source. Where a file has no frame at or after start, read()
                raises InputError
    frames      number of frames to decode; 0: all
    loop        reads a file again from its start
    realtime    reads a file at its own pace
    fps         frames per second of the source's time that are wanted; 0: all. Of files only the
                pictures that those frames need are decoded
    skip        "nonref": pictures that no other refers to are not decoded; "nonkey": all but key
                pictures. The other frames keep their numbers and times
    at          numbers of frames of a file, in the order that they are wanted in; None: all. See
                Stream.frames_at
    encoded     access units of H.264 as they came (AccessUnit), in decoding order, from a key one
                on; nothing is decoded
    on_error    damaged frames: "show" (concealed, frame.damaged), "drop", "fail", "show_all"
    side_data   1: SEI messages with members of their own and user data; 2: every message
    slots       frames of the shared memory; 0: the daemon's choice
    socket      of a daemon; None: the one that runs, else a private one for files and addresses
    timeout     seconds for opening
    reconnect   after the loss of the daemon the stream is opened again, and goes on
    on_event    called with each Event before the frame that follows it
    """
    cuda = device == "cuda"
    if not cuda and device not in (None, "cpu", "host"):
        raise errors.UsageError(f"device {device!r} is none", "cuda, or None for host memory")
    if cuda:
        from . import _cuda
        _cuda.Driver.get()
    if on_error not in ON_ERROR:
        raise errors.UsageError(f"on_error {on_error!r} is none", ", ".join(ON_ERROR))
    if skip not in SKIP:
        raise errors.UsageError(f"skip {skip!r} is none", "nonref, nonkey")
    place = place_of(source)
    if format and pix_fmt:
        raise errors.UsageError("format and pix_fmt are one wish", "give one of them")
    pix_fmt = FORMATS.get(text("format", format), format) or text("pix_fmt", pix_fmt)
    output = output_of(pix_fmt, size, crop, filter, dtype, layout, mean, std)
    number, depth = policy_of(policy, place)
    wanted = ranges_of(at) if at is not None else []
    if at is not None and not wanted:
        raise errors.UsageError("at names no frame", "None is for all frames")
    if not 1 <= whole("batch", batch) <= MOST_BATCH or (batch > 1 and (number or encoded)):
        raise errors.UsageError(f"batch is {batch}", f"1 to {MOST_BATCH} frames, with policy "
                                "\"lossless\" and not of encoded bytes")
    options = _proto.Open(uri=place.uri, name=place.name, pix_fmt=pix_fmt, policy=number,
                          depth=depth or whole("slots", slots), loop=bool(loop),
                          realtime=bool(realtime), start_us=microseconds("start", start),
                          duration_us=microseconds("duration", duration),
                          max_frames=whole("frames", frames), on_error=ON_ERROR[on_error],
                          max_fps=real("fps", fps), side_data=whole("side_data", side_data),
                          skip=SKIP[skip], wanted=wanted, transport=DEVICE if cuda else 0,
                          encoded=bool(encoded), batch=batch if batch > 1 else 0, **output)
    return Stream(place, options, socket, timeout, reconnect, on_event)
