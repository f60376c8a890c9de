# SPDX-License-Identifier: BSD-2-Clause
"""Pictures for notebooks: PNG by zlib, and contact sheets."""
from __future__ import annotations

import os
import pathlib
import struct
import sys
import zlib
from typing import Any, List, Optional, Sequence, Union

import numpy as np

from . import errors
from ._frame import Frame
from ._stream import open

SHEET = 1920  # pixels, as of `pelton decode --sheet`
PADDING = 4


def _chunk(kind: bytes, data: bytes) -> bytes:
    return (struct.pack(">I", len(data)) + kind + data +
            struct.pack(">I", zlib.crc32(kind + data)))


def png(picture: np.ndarray) -> bytes:
    """PNG of (height, width) or (height, width, 3) of uint8 or uint16."""
    picture = np.ascontiguousarray(picture)
    colours = 2 if picture.ndim == 3 else 0
    good = picture.size and (picture.ndim == 2 or picture.ndim == 3 and picture.shape[2] == 3)
    if not good or picture.dtype not in (np.uint8, np.uint16):
        raise errors.UsageError(f"no picture: {picture.dtype} of shape {picture.shape}",
                                "uint8 or uint16, (height, width) or (height, width, 3)")
    height, width = picture.shape[:2]
    rows = picture.astype(picture.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8)
    lines = np.zeros((height, 1 + rows.shape[1]), np.uint8)
    lines[:, 1:] = rows
    head = struct.pack(">IIBBBBB", width, height, 8 * picture.itemsize, colours, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) +
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 3)) + _chunk(b"IEND", b""))


class Picture:
    """A picture that notebooks show. `array` has its samples."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def _repr_png_(self) -> bytes:
        return png(self.array)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes a PNG."""
        pathlib.Path(path).write_bytes(png(self.array))

    def __repr__(self) -> str:
        return f"<Picture {self.array.shape[1]}x{self.array.shape[0]}>"


def _array(picture: Any) -> np.ndarray:
    return picture.to_rgb() if isinstance(picture, Frame) else np.asarray(picture)


def show(picture: Union[Frame, Picture, np.ndarray]) -> Optional[Picture]:
    """Shows a frame, or an array of R, G, B or of grey, in a notebook. Elsewhere it returns the
    Picture."""
    out = picture if isinstance(picture, Picture) else Picture(_array(picture))
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return out
    from IPython.display import display
    display(out)
    return None


def _reduced(picture: np.ndarray, width: int) -> np.ndarray:
    """At most that wide: means of squares of pixels."""
    n = -(-picture.shape[1] // width)
    if n <= 1:
        return picture
    height, width = max(1, picture.shape[0] // n), picture.shape[1] // n
    part = picture[:height * n, :width * n]
    rows = min(n, part.shape[0])
    squares = part.reshape(height, rows, width, n, 3)
    return np.rint(squares.mean((1, 3), np.float32)).astype(np.uint8)


def _spread(source: Any, count: int, options: Any) -> List[np.ndarray]:
    """Pictures at even distances of a file."""
    with open(source, frames=1, **options) as s:
        duration = s.duration
    if not duration:
        raise errors.InputError(f"{source}: the duration is not known",
                                "give contact_sheet a list of frames")
    out = []
    options = {"duration": duration, **options}  # sound may last longer: no frame, no failure
    for i in range(count):
        with open(source, start=duration * i / count, **options) as s:
            frame = s.read()
            if frame is not None:
                out.append(frame.to_rgb())
    return out


def contact_sheet(source: Any, count: int = 12, columns: int = 4, width: int = SHEET,
                  **options: Any) -> Picture:
    """Pictures of a clip on one sheet, at most `width` pixels wide.

    source   a path, of which `count` frames at even distances are taken; or a sequence of frames or
             arrays (height, width, 3), as an item of Clips
    """
    path = isinstance(source, (str, os.PathLike))
    pictures: Sequence[Any] = (_spread(source, count, options) if path
                               else [_array(p) for p in source])
    if not len(pictures):
        raise errors.UsageError("a contact sheet of no pictures")
    columns = min(columns, len(pictures))
    each = max(1, (width - PADDING) // columns - PADDING)
    small = [_reduced(p, each) for p in pictures]
    high, wide = (max(p.shape[i] for p in small) for i in (0, 1))
    rows = -(-len(small) // columns)
    out = np.full((PADDING + rows * (high + PADDING), PADDING + columns * (wide + PADDING), 3), 32,
                  np.uint8)
    for i, p in enumerate(small):
        y = PADDING + i // columns * (high + PADDING)
        x = PADDING + i % columns * (wide + PADDING)
        out[y:y + p.shape[0], x:x + p.shape[1]] = p
    return Picture(out)
