# SPDX-License-Identifier: BSD-2-Clause
"""VideoCapture with the interface of OpenCV's class."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

import numpy as np

from . import errors
from ._clips import Timing, frames_from, numbered, timing_of
from ._frame import Frame
from ._stream import Stream, open

CAP_ANY, CAP_V4L2, CAP_FFMPEG, CAP_GSTREAMER = 0, 200, 1900, 1800
CAP_PROP_POS_MSEC, CAP_PROP_POS_FRAMES, CAP_PROP_POS_AVI_RATIO = 0, 1, 2
CAP_PROP_FRAME_WIDTH, CAP_PROP_FRAME_HEIGHT, CAP_PROP_FPS = 3, 4, 5
CAP_PROP_FOURCC, CAP_PROP_FRAME_COUNT, CAP_PROP_FORMAT = 6, 7, 8
CAP_PROP_CONVERT_RGB, CAP_PROP_BUFFERSIZE = 16, 38
CAP_PROP_SAR_NUM, CAP_PROP_SAR_DEN, CAP_PROP_BACKEND, CAP_PROP_BITRATE = 40, 41, 42, 47
CAP_PROP_ORIENTATION_META, CAP_PROP_ORIENTATION_AUTO = 48, 49
FORMAT_8UC3 = 16
BGR = {"pix_fmt": "bgr24", "filter": "nearest"}  # by the daemon; chroma as OpenCV has it
# How a picture becomes upright, by enum pelton_orientation
ORIENTATIONS: Dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: lambda p: p[:, ::-1], 3: lambda p: p[::-1, ::-1], 4: lambda p: p[::-1],
    5: lambda p: p.swapaxes(0, 1), 6: lambda p: np.rot90(p, -1),
    7: lambda p: p.swapaxes(0, 1)[::-1, ::-1], 8: lambda p: np.rot90(p)}
DEGREES = {3: 180, 6: 90, 8: 270}
__all__ = ["VideoCapture"] + [name for name in dir() if name.startswith("CAP_")]


class VideoCapture:
    """Reads pictures as cv2.VideoCapture does: BGR arrays (height, width, 3) of uint8.

    The argument is a path, an address, "source:NAME", or the number of a camera: 0 is
    v4l2:///dev/video0. A source that cannot be opened leaves isOpened() False, and `error` says
    why; after setExceptionMode(True) it is raised. Pictures are turned as the file says, unless
    CAP_PROP_ORIENTATION_AUTO is set to 0.
    """

    def __init__(self, filename: Union[str, int, "os.PathLike[str]", None] = None,
                 apiPreference: int = CAP_ANY, params: Any = None) -> None:
        self.error: Optional[errors.Error] = None
        self._raises = False
        self._turns = True
        self._reset()
        if filename is not None:
            self.open(filename, apiPreference, params)

    def _reset(self) -> None:
        self._source: Any = None
        self._stream: Optional[Stream] = None
        self._frames: Optional[Iterator[Tuple[int, Frame]]] = None
        self._timing: Optional[Timing] = None
        self._frame: Optional[Frame] = None
        self._number = 0   # of the frame that the next grab() gives
        self._msec = 0.0

    # ---- open and close ----

    def open(self, filename: Union[str, int, "os.PathLike[str]"], apiPreference: int = CAP_ANY,
             params: Any = None) -> bool:
        """Returns whether it is open. params with width, height and rate are not followed."""
        self.release()
        camera = isinstance(filename, int)
        source = f"v4l2:///dev/video{filename}" if camera else os.fspath(filename)
        try:
            self._stream = open(source, **BGR)
        except errors.Error as e:
            self._fail(e)
            return False
        self._source = source
        self._frames = numbered(self._stream)
        return True

    def isOpened(self) -> bool:
        return self._stream is not None

    def release(self) -> None:
        """Closes the source."""
        if self._frames is not None:
            self._frames.close()  # type: ignore[attr-defined]
        if self._stream is not None:
            self._stream.close()
        self._reset()

    def __enter__(self) -> "VideoCapture":
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    def setExceptionMode(self, enable: bool) -> None:
        self._raises = bool(enable)

    def getExceptionMode(self) -> bool:
        return self._raises

    def getBackendName(self) -> str:
        return "PELTON"

    def _fail(self, e: errors.Error) -> None:
        self.error = e
        if self._raises:
            raise e

    # ---- pictures ----

    def grab(self) -> bool:
        """Takes the next frame; False at the end, and after a failure."""
        self._frame = None
        try:
            number, frame = next(self._frames, (0, None)) if self._frames else (0, None)
        except errors.Error as e:
            self._fail(e)
            return False
        if frame is None:
            return False
        self._frame, self._number = frame, number + 1
        first = self._timing.first_pts if self._timing else self._start_pts()
        num, den = frame.pool.time_base
        self._msec = (frame.pts - first) * 1000 * num / den if frame.pts is not None and den else 0
        return True

    def _start_pts(self) -> int:
        start = self._stream.info.start_pts if self._stream else 0
        return 0 if start == -(1 << 63) else start

    def retrieve(self, image: Optional[np.ndarray] = None,
                 flag: int = 0) -> Tuple[bool, Optional[np.ndarray]]:
        """The grabbed frame as BGR. image takes it where its shape fits."""
        if self._frame is None:
            return False, None
        view = self._turned(self._frame.planes[0])
        if image is None or image.shape != view.shape or image.dtype != view.dtype:
            return True, view.copy()
        np.copyto(image, view)
        return True, image

    def _orientation(self) -> int:
        return self._stream.info.orientation if self._stream else 0

    def _turned(self, picture: np.ndarray) -> np.ndarray:
        """A view, upright by enum pelton_orientation."""
        turn = ORIENTATIONS.get(self._orientation()) if self._turns else None
        return turn(picture) if turn else picture

    def _sides(self) -> Tuple[int, int]:
        """Width and height of the pictures."""
        s = self._stream
        across = self._turns and self._orientation() >= 5  # rows are columns
        return (s.height, s.width) if across else (s.width, s.height)  # type: ignore[union-attr]

    def read(self, image: Optional[np.ndarray] = None) -> Tuple[bool, Optional[np.ndarray]]:
        """grab() and retrieve(). Of a camera it is the newest frame."""
        if not self.grab():
            return False, None
        out = self.retrieve(image)
        self._frame = None  # its slot goes back at once
        return out

    # ---- properties ----

    def _count(self) -> float:
        s = self._stream
        if s is None:
            return 0.0
        return float(s.frames if s.frames is not None else round((s.duration or 0) * s.fps))

    def _ratio(self) -> float:
        count = self._count()
        return self._number / count if count else 0.0

    def get(self, propId: int) -> float:
        """A property; 0 where it is not known."""
        s = self._stream
        if s is None:
            return 0.0
        table: Dict[int, Callable[[], float]] = {
            CAP_PROP_POS_MSEC: lambda: self._msec,
            CAP_PROP_POS_FRAMES: lambda: self._number,
            CAP_PROP_POS_AVI_RATIO: self._ratio,
            CAP_PROP_FRAME_WIDTH: lambda: self._sides()[0],
            CAP_PROP_FRAME_HEIGHT: lambda: self._sides()[1],
            CAP_PROP_FPS: lambda: s.fps,
            CAP_PROP_FOURCC: lambda: int.from_bytes(b"h264", "little"),
            CAP_PROP_FRAME_COUNT: self._count,
            CAP_PROP_FORMAT: lambda: FORMAT_8UC3,
            CAP_PROP_CONVERT_RGB: lambda: 1,
            CAP_PROP_BUFFERSIZE: lambda: s.slots,
            CAP_PROP_SAR_NUM: lambda: s.info.sar.num or 1,
            CAP_PROP_SAR_DEN: lambda: s.info.sar.den or 1,
            CAP_PROP_ORIENTATION_META: lambda: DEGREES.get(self._orientation(), 0),
            CAP_PROP_ORIENTATION_AUTO: lambda: self._turns,
            CAP_PROP_BITRATE: lambda: s.info.bit_rate // 1000,
        }
        return float(table[propId]()) if propId in table else 0.0

    def set(self, propId: int, value: float) -> bool:
        """Goes to a frame or a time of a file; asks for BGR, or for turned pictures. Others are
        refused: False. The rule for frames by number is that of Clips."""
        if propId == CAP_PROP_ORIENTATION_AUTO:
            self._turns = bool(value)
            return True
        if self._stream is None:
            return False
        if propId == CAP_PROP_CONVERT_RGB:
            return bool(value)
        if propId == CAP_PROP_POS_FRAMES:
            return self._go(int(value))
        if propId == CAP_PROP_POS_MSEC:
            return self._go(int(value * self._stream.fps / 1000 + 0.5))
        if propId == CAP_PROP_POS_AVI_RATIO:
            return self._go(int(value * self._count()))
        return False

    def _go(self, number: int) -> bool:
        if not self._stream or self._stream._place.uri or number < 0:
            return False  # a camera has one place: now
        try:
            self._timing = self._timing or timing_of(self._source)
        except errors.Error as e:
            self._fail(e)
            return False
        self._frame = None
        self._stream.close()  # what it knows stays
        self._frames = frames_from(self._source, number, self._timing, **BGR)
        self._number = number
        rate = self._timing.rate or self._stream.fps
        self._msec = float(1000 * number / rate) if rate else 0.0
        return True
