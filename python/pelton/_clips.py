# SPDX-License-Identifier: BSD-2-Clause
"""Frames of files by their number, and clips of them as arrays.

Frame n of a file is the n-th in order of presentation, from 0. Clips name their frames by number,
and the daemon has an index of the file.

VideoCapture.set goes by times. In a file with evenly spaced times a frame is found by its time: the
daemon seeks to the key picture before it, and decodes from there. The time of each frame is checked
against its number. In other files (variable rate, no index, raw H.264), frames are counted from the
start of the file.
"""
from __future__ import annotations

import collections
import concurrent.futures
import os
from fractions import Fraction
from typing import (Any, Callable, Deque, Iterator, List, NamedTuple, Optional, Sequence,
                    Tuple, Union)

import numpy as np

from . import errors
from ._arguments import several, whole
from ._frame import Frame
from ._stream import Stream, open

Path = Union[str, "os.PathLike[str]"]


class Timing(NamedTuple):
    """Of a file. rate None: its times are not evenly spaced, or not known."""
    rate: Optional[Fraction]
    first_pts: int
    start_pts: int
    time_base: Fraction
    frames: Optional[int]

    def number(self, frame: Frame) -> Optional[int]:
        """The frame's number by its time; None: its time is between two frames."""
        if frame.pts is None or self.rate is None:
            return None
        at = (frame.pts - self.first_pts) * self.time_base * self.rate
        number = round(at)
        return number if abs(at - number) < Fraction(1, 4) else None

    def seconds(self, number: int) -> float:
        """From the start of the file, half a frame before that frame."""
        first = (self.first_pts - self.start_pts) * self.time_base
        return float(first + (number - Fraction(1, 2)) / self.rate)


def _fraction(r: Any) -> Fraction:
    return Fraction(r.num, r.den) if r.num > 0 and r.den > 0 else Fraction(0)


def _is_even(info: Any, rate: Fraction, first: Frame) -> bool:
    """Both rates agree, and so does the number of frames with the duration."""
    if not rate or rate != _fraction(info.frame_rate) or first.pts is None:
        return False
    if info.start_pts == -(1 << 63) or info.duration_us <= 0 or info.frames <= 0:
        return False
    return abs(info.frames - rate * Fraction(info.duration_us, 10**6)) <= 1


def timing_of(path: Path, **options: Any) -> Timing:
    """Decodes the first frame."""
    with open(path, frames=1, **options) as s:
        first = s.read()
        if first is None:
            raise errors.InputError(f"{path}: no frames")
        info, rate = s.info, _fraction(s.info.avg_frame_rate)
        even = _is_even(info, rate, first)
        return Timing(rate if even else None, first.pts or 0, info.start_pts if even else 0,
                      Fraction(*first.pool.time_base) if even else Fraction(0), s.frames)


def numbered(stream: Stream, timing: Optional[Timing] = None) -> Iterator[Tuple[int, Frame]]:
    """Frames with their numbers. timing: of a stream that begins elsewhere than at the start;
    LookupError where a time belongs to no number, or a number is missing."""
    due = None
    for count, frame in enumerate(stream):
        if timing is None:
            yield count, frame
            continue
        number = timing.number(frame)
        if number is None or (due is not None and number != due):
            raise LookupError("times are not evenly spaced")
        due = number + 1
        yield number, frame


def frames_from(path: Path, number: int, timing: Timing,
                **options: Any) -> Iterator[Tuple[int, Frame]]:
    """Frames from that number on, with their numbers."""
    if timing.rate is not None and number > 0:
        with open(path, start=timing.seconds(number), **options) as s:
            given = number
            try:
                for n, frame in numbered(s, timing):
                    if n > given and given == number:
                        raise LookupError("the first frame is missing")
                    if n >= number:
                        given = n + 1
                        yield n, frame
                return
            except LookupError:
                number = given
    with open(path, **options) as s:
        for n, frame in numbered(s):
            if n >= number:
                yield n, frame


class Clips:
    """Clips of files: `clips[i]` is an array (frames, height, width, 3) of uint8, R, G, B.

    files    paths
    start    number of the first frame of a clip, or several: then each file gives a clip for each
    frames   frames of a clip
    stride   distance between two of them, in frames
    convert  makes an array of a Frame: Frame.to_rgb, Frame.to_bgr, numpy.array, or your own
    ahead    clips that iteration decodes at once

    Item i is of file i // len(starts). A file that is too short raises InputError. Objects may be
    pickled, and used in DataLoader workers by fork or spawn: each process opens files for itself.
    Other options are those of pelton.open.
    """

    def __init__(self, files: Union[Path, Sequence[Path]], start: Union[int, Sequence[int]] = 0,
                 frames: int = 16, stride: int = 1, *,
                 convert: Callable[[Frame], np.ndarray] = Frame.to_rgb, ahead: int = 4,
                 **options: Any) -> None:
        one = isinstance(files, (str, bytes, os.PathLike))
        self.files: List[Path] = [files] if one else list(files)  # type: ignore[list-item,arg-type]
        starts: Any = start if several(start) else [start]
        self.starts = [whole("start", s) for s in starts]
        self.frames, self.stride, self.ahead = (
            whole(name, n, least=1) for name, n in (("frames", frames), ("stride", stride),
                                                    ("ahead", ahead)))
        self.convert, self.options = convert, options

    def __len__(self) -> int:
        return len(self.files) * len(self.starts)

    def __getitem__(self, i: int) -> np.ndarray:
        if not -len(self) <= i < len(self):
            raise IndexError(f"clip {i} of {len(self)}")
        file, start = divmod(i % len(self), len(self.starts))
        return self.read(self.files[file], self.starts[start])

    def read(self, path: Path, start: int) -> np.ndarray:
        """A clip of any file from any frame."""
        out: Optional[np.ndarray] = None
        numbers = range(start, start + self.frames * self.stride, self.stride)
        with open(path, at=numbers, **self.options) as stream:
            for got, frame in enumerate(stream):
                picture = self.convert(frame)
                if out is None:
                    out = np.empty((self.frames,) + picture.shape, picture.dtype)
                elif picture.shape != out.shape[1:]:
                    raise errors.InputError(f"{path}: the size changes in a clip")
                out[got] = picture
                frame.close()
        if out is None or got + 1 < self.frames:
            raise errors.InputError(f"{path}: frames of the clip are damaged or missing")
        return out

    def __iter__(self) -> Iterator[np.ndarray]:
        """All clips in order; some are decoded at once, so that they share the device's batches."""
        waiting: Deque["concurrent.futures.Future[np.ndarray]"] = collections.deque()
        with concurrent.futures.ThreadPoolExecutor(self.ahead) as threads:
            for i in range(len(self)):
                waiting.append(threads.submit(self.__getitem__, i))
                if len(waiting) >= self.ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def __repr__(self) -> str:
        return f"<Clips {len(self)} of {self.frames} frames, stride {self.stride}>"
