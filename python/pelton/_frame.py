# SPDX-License-Identifier: BSD-2-Clause
"""Frames as numpy views of the daemon's memory.

A pool is the memory of one epoch: a sealed memfd, checked and mapped read-only. A lease is one slot
of it. Arrays of a frame have the lease as their base, so the slot goes back when the frame is
closed or gone and the last array is gone. The daemon cannot write a slot while a view of it lives.
"""
from __future__ import annotations

import fcntl
import mmap
import os
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _colour, _proto, errors

if TYPE_CHECKING:
    from ._stream import Stream

MOST_BATCH = 256
MAX_SLOTS, MAX_SIDE, MAX_ROW, MAX_SLOT_SIZE = 65536, 65536, 1 << 24, 1 << 40
F_GET_SEALS = 1034
SEALS = 0x1 | 0x2 | 0x4 | 0x10  # SEAL, SHRINK, GROW, FUTURE_WRITE
NO_PTS = -(1 << 63)
# Samples of a plane that lie side by side, and its shift of width and height, by pixel format.
NCHW, NHWC = 1, 2  # of enum pelton_layout
TYPES = (1, "|u1"), (2, "<f2"), (4, "<f4")  # of enum pelton_type: bytes, and numpy's name
PACKED = {"rgb24": 3, "bgr24": 3, "rgba": 4, "bgra": 4, "rgb48le": 3}


class Colour(NamedTuple):
    """Numbers of H.264 annex E. `range` is 0 unknown, 1 limited, 2 full. `source` says who knows:
    0 nobody (it follows from the size), 1 the bitstream, 2 the container, 3 the user."""
    primaries: int
    transfer: int
    matrix: int
    range: int
    siting: int
    source: int


class Exposure(NamedTuple):
    """Settings of a camera that were in effect for a frame, and the light in it.

    `mean`, `clipped` and `target` are shares of white, of linear luminance; the target is that of
    the mean. `histogram` has 64 bins: cells of 2x2 samples, from black to white.
    """
    state: str  # "searching", "converged", "locked"
    time_us: float
    analogue_gain: float
    digital_gain: float
    mean: float
    target: float
    clipped: float
    histogram: np.ndarray


# enum pelton_trace_point
STEPS = ("parsed", "entropy_begin", "entropy_end", "motion_begin", "motion_end", "submit_begin",
         "submit_end", "sent", "gpu")
AE_STATES = ("searching", "converged", "locked")


def depth_of(pix_fmt: str) -> int:
    """Bits of a sample, by FFmpeg's name of the format."""
    if pix_fmt == "rgb48le":
        return 16
    if pix_fmt.startswith("p01"):
        return int(pix_fmt[2:4])
    digits = pix_fmt[:-2] if pix_fmt.endswith("le") else ""
    tail = digits[len(digits.rstrip("0123456789")):]
    return int(tail) if tail else 8


class Pool:
    """The mapped memory of one epoch, and the layout of its slots."""
    device = False

    def __init__(self, m: Any, fds: list, epoch_base: int = 0) -> None:
        self.check(m, fds)
        self.format, self.epoch = m, epoch_base + m.epoch
        self.slots, self.slot_size, self.batch = m.slots, m.slot_size, m.batch or 1
        self.width, self.height, self.pix_fmt = m.width, m.height, m.pix_fmt
        self.depth = depth_of(m.pix_fmt)
        self.time_base = (m.time_base.num, m.time_base.den)
        self.colour = Colour(m.colour.primaries, m.colour.transfer, m.colour.matrix,
                             m.colour.range, m.colour.siting, m.colour.source)
        self.is_tensor = bool(m.layout or m.type)
        self.layout = ([self.tensor_layout(m)] if self.is_tensor and m.planes
                       else [self.plane_layout(p) for p in m.planes])
        self.memory = self.address = None
        self.ready = bool(fds)
        if fds and not self.device:
            try:
                memory = mmap.mmap(fds[0], m.memfd_size, mmap.MAP_SHARED, mmap.PROT_READ)
            except OSError as e:
                raise errors.Error(f"the frames' memory cannot be mapped: {os.strerror(e.errno)}")
            self.memory = np.frombuffer(memory, np.uint8)
            self.address = self.memory.__array_interface__["data"][0]

    def plane_layout(self, p: Any) -> Tuple[int, Dict[str, Any]]:
        """Offset, and numpy's description without the address."""
        size = 1 if self.depth == 8 else 2
        across = 2 if len(self.format.planes) == 2 and self.is_second(p) else 0
        across = PACKED.get(self.pix_fmt, across)
        shape: Tuple[int, ...] = (p.height, p.width // size)
        strides: Tuple[int, ...] = (p.stride, size)
        if across:
            shape = (p.height, p.width // size // across, across)
            strides = (p.stride, size * across, size)
        return p.offset, {"shape": shape, "strides": strides, "version": 3,
                          "typestr": "|u1" if size == 1 else "<u2"}

    @staticmethod
    def tensor_layout(m: Any) -> Tuple[int, Dict[str, Any]]:
        """All planes as one array: (channels, height, width), or (height, width, channels)."""
        size, kind = TYPES[m.type]
        first, planes, channels = m.planes[0], len(m.planes), m.channels
        pitch = m.planes[1].offset - first.offset if planes > 1 else first.stride * first.height
        even = all(p.offset == first.offset + i * pitch and p.stride == first.stride
                   and p.width == first.width for i, p in enumerate(m.planes))
        packed = planes == 1 and m.layout != NCHW
        if not even or pitch % size or first.width != m.width * size * (channels if packed else 1):
            raise errors.ProtocolError("the daemon announced a tensor whose planes are not even")
        shape: Tuple[int, ...] = (planes, m.height, m.width)
        strides: Tuple[int, ...] = (pitch, first.stride, size)
        if packed:
            shape = (m.height, m.width, channels)
            strides = (first.stride, size * channels, size)
        return first.offset, {"shape": shape, "strides": strides, "version": 3, "typestr": kind}

    def is_second(self, p: Any) -> bool:
        """The chroma plane of nv12 and p010le."""
        return p.offset == self.format.planes[1].offset

    @staticmethod
    def check_memory(m: Any, fds: list) -> bool:
        """Without F_SEAL_SHRINK a read could end in SIGBUS."""
        seals = fcntl.fcntl(fds[0], F_GET_SEALS)
        return (not m.HasField("device") and seals & SEALS == SEALS
                and os.fstat(fds[0]).st_size >= m.memfd_size)

    @classmethod
    def check(cls, m: Any, fds: list) -> None:
        """The daemon is not trusted: each number is compared before use."""
        good = m.layout <= NHWC and m.type < len(TYPES) and m.channels <= 4
        good = good and m.batch <= MOST_BATCH
        good = good and len(m.planes) <= 4 and m.width <= MAX_SIDE and m.height <= MAX_SIDE
        good = good and len(fds) == (1 if m.memfd_size else 0)
        if good and m.memfd_size:
            good = (0 < m.width and 0 < m.height
                    and 0 < m.slots <= MAX_SLOTS and 0 < m.slot_size <= MAX_SLOT_SIZE
                    and m.slots * m.slot_size <= m.memfd_size
                    and cls.planes_fit(m))
            good = good and cls.check_memory(m, fds)
        if not good:
            raise errors.ProtocolError(
                "the daemon announced a frame format whose numbers or seals are wrong")

    def frame(self, stream: "Stream", m: Any) -> "Frame":
        """Of a FrameReady."""
        return Frame(Lease(stream, self, m), m)

    def frames(self, stream: "Stream", messages: List[Any]) -> Any:
        """Of the FrameReady of a batch."""
        from ._batch import Batch, BatchLease  # which needs this file
        return Batch(BatchLease(stream, self, messages), messages)

    @staticmethod
    def planes_fit(m: Any) -> bool:
        """There are some, inside of the slot."""
        return (len(m.planes) > 0 and not m.HasField("encoded")
                and all(Pool.plane_fits(p, m.slot_size) for p in m.planes))

    @staticmethod
    def plane_fits(p: Any, slot_size: int) -> bool:
        return (0 < p.width <= MAX_ROW and 0 < p.height <= MAX_SIDE
                and p.width <= p.stride <= 2 * MAX_ROW
                and p.offset + p.stride * (p.height - 1) + p.width <= slot_size)


def release_of(m: Any) -> bytes:
    """The body of the Release of a FrameReady."""
    return _proto.Release(epoch=m.epoch, slot=m.slot, generation=m.generation).SerializeToString()


class Lease:
    """One slot that the daemon lent. It goes back with the last reference."""
    __slots__ = ("stream", "pool", "connection", "id", "message", "key")

    def __init__(self, stream: "Stream", pool: Pool, m: Any) -> None:
        self.stream, self.pool = stream, pool
        self.connection, self.id, self.message = stream._conn, stream._id, m
        self.key = (stream._opened, m.epoch, m.slot, m.generation)
        stream._held.add(self.key)

    def give(self) -> None:
        self.stream._held.discard(self.key)
        self.connection.post(_proto.RELEASE, release_of(self.message), self.id)

    def __del__(self) -> None:
        self.give()


class _Plane:
    """Describes a plane to numpy. The array keeps it, and with it the lease."""
    __slots__ = ("lease", "__array_interface__")

    def __init__(self, lease: Lease, address: int, layout: Dict[str, Any]) -> None:
        self.lease = lease
        self.__array_interface__ = dict(layout, data=(address, True))


class Frame:
    """One decoded picture in the daemon's shared memory.

    `planes` are read-only numpy views, without a copy, of shape (rows, columns), or (rows, columns,
    samples) where samples of several components lie side by side. They are uint8, or uint16 above
    8 bits, with the sample in the low bits (p010le: in the high bits). The daemon does not write
    the slot while the frame or one of its arrays lives. close(), the end of a `with` block, or the
    garbage collector give the slot back.
    """
    __slots__ = ("_lease", "_m", "pool", "_planes")
    view_of = _Plane

    def __init__(self, lease: Lease, m: Any) -> None:
        self._lease: Optional[Lease] = lease
        self._m, self.pool = m, lease.pool
        self._planes: Optional[Tuple[np.ndarray, ...]] = None

    # ---- what it is ----

    @property
    def width(self) -> int:
        """Pixels, cropped."""
        return self.pool.width

    @property
    def height(self) -> int:
        """Pixels, cropped."""
        return self.pool.height

    @property
    def pix_fmt(self) -> str:
        """FFmpeg's name of the pixel format: "yuv420p"."""
        return self.pool.pix_fmt

    @property
    def depth(self) -> int:
        """Bits of a sample."""
        return self.pool.depth

    @property
    def colour(self) -> Colour:
        """Primaries, transfer, matrix and range."""
        return self.pool.colour

    @property
    def number(self) -> int:
        """Of the frame in its file, in order of presentation, from 0; of cameras 0."""
        return self._m.number

    @property
    def sequence(self) -> int:
        """Counts the frames of the source. A gap means frames that were left out."""
        return self._m.sequence

    @property
    def epoch(self) -> int:
        """It grows with a new format, a new worker or a new connection."""
        return self.pool.epoch

    @property
    def slot(self) -> int:
        """Its place in the shared memory."""
        return self._m.slot

    @property
    def view(self) -> int:
        """1: the second view of a stereo stream."""
        return self._m.view

    @property
    def pts(self) -> Optional[int]:
        """Presentation time in units of time_base; None: not known."""
        return None if self._m.pts == NO_PTS else self._m.pts

    @property
    def time(self) -> Optional[float]:
        """Presentation time in seconds; None: not known."""
        num, den = self.pool.time_base
        return None if self._m.pts == NO_PTS or not den else self._m.pts * num / den

    @property
    def duration(self) -> float:
        """Seconds; 0: not known."""
        num, den = self.pool.time_base
        return self._m.duration * num / den if den else 0.0

    @property
    def key(self) -> bool:
        """A key picture."""
        return bool(self._m.flags & 1)

    @property
    def damaged(self) -> bool:
        """The stream was damaged here, and the picture is concealed."""
        return bool(self._m.flags & 2)

    @property
    def discontinuity(self) -> bool:
        """Time stamps jump before this frame."""
        return bool(self._m.flags & 4)

    @property
    def last(self) -> bool:
        """No frame follows, as far as is known."""
        return bool(self._m.flags & 8)

    @property
    def placeholder(self) -> bool:
        """A picture of the daemon's, because the source is down."""
        return bool(self._m.flags & 16)

    @property
    def received_ns(self) -> int:
        """CLOCK_MONOTONIC when its data was read; of a camera: when it was captured."""
        return self._m.received_ns

    @property
    def decoded_ns(self) -> int:
        """CLOCK_MONOTONIC when it became readable."""
        return self._m.decoded_ns

    @property
    def steps(self) -> Dict[str, int]:
        """CLOCK_MONOTONIC in ns of the steps towards it that the daemon has measured, of its last
        picture: "parsed", "entropy_begin", "entropy_end", "motion_begin", "motion_end",
        "submit_begin", "submit_end", "sent". "gpu" is how long its batch took. Cameras have
        none."""
        return {name: ns for name, ns in zip(STEPS, self._m.trace_ns) if ns}

    @property
    def dropped(self) -> Tuple[int, int, int]:
        """Frames left out so far: by the source, as damaged, for want of a faster reader."""
        return self._m.dropped_source, self._m.dropped_decoder, self._m.dropped_client

    @property
    def exposure(self) -> Optional[Exposure]:
        """Of cameras that pelton develops; else None."""
        if not self._m.HasField("camera"):
            return None
        c, light = self._m.camera, self._m.exposure
        return Exposure(AE_STATES[min(c.ae_state, 2)], c.exposure_us, c.analogue_gain,
                        c.digital_gain, c.mean, light.target, c.clipped,
                        np.array(light.histogram, np.uint32))

    @property
    def side_data(self) -> Any:
        """The message SideData, or None: pelton.open(..., side_data=1) asks for it."""
        data = self._m.side_data
        return _proto.SideData.FromString(data) if data else None

    # ---- samples ----

    @property
    def planes(self) -> Tuple[np.ndarray, ...]:
        """Read-only views, one a plane: y, cb, cr of yuv420p."""
        if self._planes is None:
            if self._lease is None:
                raise ValueError("the frame is closed")
            base = self.pool.address + self._m.slot * self.pool.slot_size
            self._planes = tuple(np.asarray(_Plane(self._lease, base + offset, layout))
                                 for offset, layout in self.pool.layout)
        return self._planes

    @property
    def y(self) -> np.ndarray:
        """The first plane, luma of YUV formats: (height, width)."""
        return self.planes[0]

    @property
    def tensor(self) -> Any:
        """Of a stream opened with a dtype or a layout: all channels as one read-only view, of shape
        (channels, height, width) for NCHW, else (height, width, channels)."""
        if not self.pool.is_tensor:
            raise TypeError("the frame has planes: open the stream with dtype= or layout=")
        return self.planes[0]

    def to_rgb(self, dtype: Any = np.uint8) -> np.ndarray:
        """A new array (height, width, 3) of R, G, B with the stream's own matrix and range, uint8,
        or uint16 from 0 to 65535. Chroma is repeated, not interpolated."""
        if self.pool.is_tensor:
            raise TypeError("the frame is a tensor: use frame.tensor")
        return _colour.convert(self, np.dtype(dtype), (0, 1, 2))

    def to_bgr(self, dtype: Any = np.uint8) -> np.ndarray:
        """As to_rgb, in the order of OpenCV."""
        return _colour.convert(self, np.dtype(dtype), (2, 1, 0))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        """A tensor, or a grey frame's samples (height, width), without a copy; else to_rgb()."""
        if self.pool.is_tensor or self.pix_fmt.startswith("gray"):
            out = self.planes[0]
            if copy:
                out = out.copy()
        elif copy is False:
            raise ValueError("RGB of a frame is a copy; frame.planes are views")
        else:
            out = self.to_rgb()
        return out if dtype is None else out.astype(dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """The array of __array__, in host memory. A consumer that does not know read-only tensors
        (DLPack before 1.0) gets a copy."""
        out = self.__array__()
        options = {k: v for k, v in options.items() if v is not None}
        try:
            return out.__dlpack__(**options)
        except (BufferError, TypeError):
            return out.copy().__dlpack__()

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 1, 0  # kDLCPU

    def _repr_png_(self) -> bytes:
        from ._show import png  # at first use: most programs show nothing
        return png(self.to_rgb())

    # ---- its slot ----

    def close(self) -> None:
        """Gives up this frame. The slot goes back when the last of its arrays is gone."""
        self._lease = self._planes = None

    def __enter__(self) -> "Frame":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a frame lies in shared memory and is not pickled: use frame.to_rgb() or "
                        "numpy.array(frame)")

    def __repr__(self) -> str:
        flags = "".join(f" {name}" for name in ("key", "damaged", "discontinuity", "last",
                                                       "placeholder")
                        if getattr(self, name))
        when = "" if self.time is None else f" {self.time:.6f} s"
        return f"<Frame {self.sequence}{when} {self.width}x{self.height} {self.pix_fmt}{flags}>"
