# SPDX-License-Identifier: BSD-2-Clause
"""YUV to RGB in numpy, with the matrix and range of H.264 annex E.

Eight bits go through tables: each component of each sample becomes a term of 1/64 level, and the
terms are added and clipped. The result is within one level of the exact formula. Deeper samples are
computed in float32.
"""
from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Tuple

import numpy as np

if TYPE_CHECKING:
    from ._frame import Frame

# kr, kb by matrix_coefficients, table E-5
WEIGHTS = {1: (0.2126, 0.0722), 4: (0.30, 0.11), 5: (0.299, 0.114), 6: (0.299, 0.114),
           7: (0.212, 0.087), 9: (0.2627, 0.0593), 10: (0.2627, 0.0593)}
IDENTITY, YCGCO, UNSPECIFIED, FULL = 0, 8, 2, 2


def coefficients(matrix: int) -> np.ndarray:
    """RGB from Y, Cb, Cr, where Y is 0..1 and chroma -0.5..0.5. Where the stream names no matrix it
    is that of BT.601, FFmpeg's default."""
    if matrix == YCGCO:
        return np.array([[1, -1, 1], [1, 1, 0], [1, -1, -1]], float)
    kr, kb = WEIGHTS.get(matrix, WEIGHTS[6])
    kg = 1 - kr - kb
    return np.array([[1, 0, 2 * (1 - kr)],
                     [1, -2 * kb * (1 - kb) / kg, -2 * kr * (1 - kr) / kg],
                     [1, 2 * (1 - kb), 0]])


def scales(depth: int, full: bool) -> Tuple[float, float, float, float]:
    """Zero and span of luma, then of chroma, in sample values. Annex E.2.1."""
    unit = 1 << (depth - 8)
    middle = float(1 << (depth - 1))
    if full:
        return 0.0, float((1 << depth) - 1), middle, float((1 << depth) - 1)
    return 16.0 * unit, 219.0 * unit, middle, 224.0 * unit


@functools.lru_cache(maxsize=16)
def _tables(matrix: int, full: bool) -> Tuple[np.ndarray, np.ndarray]:
    """Terms of 1/64 level by value: of luma, less the middle of the range so that sums fit 16 bits,
    and [colour][Cb, Cr] of chroma."""
    zero, span, middle, chroma_span = scales(8, full)
    values = np.arange(256)
    luma = np.rint(((values - zero) / span * 255 - 128) * 64).astype(np.int16)
    chroma = (values - middle) / chroma_span * 255 * 64
    terms = coefficients(matrix)[:, 1:, None] * chroma
    return luma, np.rint(terms).astype(np.int16)


def _eight_bits(y: np.ndarray, cb: np.ndarray, cr: np.ndarray, matrix: int, full: bool,
                order: Tuple[int, int, int]) -> np.ndarray:
    luma, terms = _tables(matrix, full)
    out = np.empty(y.shape + (3,), np.uint8)
    base = luma[y]
    sub_y, sub_x = -(-y.shape[0] // cb.shape[0]), -(-y.shape[1] // cb.shape[1])
    for place, colour in enumerate(order):
        chroma = terms[colour][0][cb] + terms[colour][1][cr]
        for dy in range(sub_y):
            for dx in range(sub_x):
                part = base[dy::sub_y, dx::sub_x]
                total = part + chroma[:part.shape[0], :part.shape[1]]
                total += 32
                total >>= 6
                total += 128
                out[dy::sub_y, dx::sub_x, place] = np.clip(total, 0, 255, out=total)
    return out


def _repeat(plane: np.ndarray, shape: Tuple[int, ...]) -> np.ndarray:
    """A chroma plane in the size of luma."""
    down, across = -(-shape[0] // plane.shape[0]), -(-shape[1] // plane.shape[1])
    out = plane.repeat(down, axis=0) if down > 1 else plane
    out = out.repeat(across, axis=1) if across > 1 else out
    return out[:shape[0], :shape[1]]


def _exact(y: np.ndarray, cb: np.ndarray, cr: np.ndarray, depth: int, matrix: int, full: bool,
           most: int) -> np.ndarray:
    """(height, width, 3) as float32 from 0 to most, not yet rounded."""
    zero, span, middle, chroma_span = scales(depth, full)
    parts = ((y - np.float32(zero)) * np.float32(most / span),
             (_repeat(cb, y.shape) - np.float32(middle)) * np.float32(most / chroma_span),
             (_repeat(cr, y.shape) - np.float32(middle)) * np.float32(most / chroma_span))
    rows = coefficients(matrix).astype(np.float32)
    return np.stack([sum(k * p for k, p in zip(row, parts) if k) for row in rows], axis=-1)


def _rounded(samples: np.ndarray, dtype: Any) -> np.ndarray:
    return np.clip(np.rint(samples), 0, np.iinfo(dtype).max).astype(dtype)


def _scaled(samples: np.ndarray, depth: int, dtype: Any) -> np.ndarray:
    """Samples of full range in the range of dtype."""
    most = np.iinfo(dtype).max
    if most == (1 << depth) - 1:
        return samples.astype(dtype)
    return _rounded(samples * np.float32(most / ((1 << depth) - 1)), dtype)


def _yuv_planes(frame: "Frame") -> Tuple[np.ndarray, ...]:
    planes = frame.planes
    if frame.pix_fmt.startswith("p01"):
        planes = tuple(p >> (16 - frame.depth) for p in planes)
    if len(planes) == 2:  # nv12, p010le
        return planes[0], planes[1][..., 0], planes[1][..., 1]
    return planes


def _grey(frame: "Frame", dtype: Any) -> np.ndarray:
    zero, span, _, _ = scales(frame.depth, frame.colour.range == FULL)
    most = np.iinfo(dtype).max
    grey = _rounded((frame.planes[0] - np.float32(zero)) * np.float32(most / span), dtype)
    return np.repeat(grey[..., None], 3, axis=2)


def convert(frame: "Frame", dtype: Any, order: Tuple[int, int, int]) -> np.ndarray:
    """(height, width, 3) in that order of R, G, B."""
    if dtype not in (np.uint8, np.uint16):
        raise ValueError(f"RGB as {dtype}: uint8 and uint16 are there")
    name, colour = frame.pix_fmt, frame.colour
    if name in ("rgb24", "rgba", "rgb48le"):
        return _scaled(frame.planes[0][..., list(order)], frame.depth, dtype)
    if name.startswith("gray"):
        return _grey(frame, dtype)
    if name in ("bgr24", "bgra"):
        return _scaled(frame.planes[0][..., [2 - i for i in order]], frame.depth, dtype)
    planes = _yuv_planes(frame)
    if name.startswith("gbr") or colour.matrix == IDENTITY and planes[1].shape == planes[0].shape:
        rgb = (planes[2], planes[0], planes[1])
        return _scaled(np.stack([rgb[i] for i in order], axis=-1), frame.depth, dtype)
    full = colour.range == FULL or name.startswith("yuvj")
    if frame.depth == 8 and dtype == np.uint8:
        return _eight_bits(*planes[:3], colour.matrix, full, order)
    exact = _exact(*planes[:3], frame.depth, colour.matrix, full, np.iinfo(dtype).max)
    return _rounded(exact[..., list(order)], dtype)
