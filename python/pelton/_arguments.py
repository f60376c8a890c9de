# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of pelton.open as members of Open. Each mistake is a UsageError that names it."""
from __future__ import annotations

import collections.abc
import itertools
import math
import operator
import os
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from . import errors

POLICIES = {"lossless": 0, "latest": 1, "fifo": 2}
ON_ERROR = {"show": 0, "drop": 1, "fail": 2, "show_all": 3}
SKIP = {None: 0, "nonref": 1, "nonkey": 2}
FIFO_MOST = 60
WANTED_MOST, WANTED_FRAMES_MOST = 4096, 65536  # ranges, frames
LAST_FRAME = 2**53
LONGEST_S = 1e12
FILTERS = {"bicubic": 0, "bilinear": 1, "area": 2, "nearest": 3}
LAYOUTS = {None: 0, "NCHW": 1, "NHWC": 2}
DTYPES = {"uint8": 0, "float16": 1, "float32": 2}
FORMATS = {"rgb": "rgb24", "bgr": "bgr24"}  # short names; rgba, bgra and gray are FFmpeg's
Source = Union[str, "os.PathLike[str]", int, Any]


class Place(NamedTuple):
    """Where a source is: an address for the daemon, or a descriptor that is passed."""
    name: str
    uri: str
    path: Optional[str]
    fd: int

    @property
    def named(self) -> bool:
        return self.uri.startswith("source:")


def place_of(source: Source) -> Place:
    """A path, an address with "://", "source:NAME", the bare NAME of a source, an open file, or its
    descriptor."""
    if isinstance(source, int):
        return Place(f"descriptor {source}", "", None, source)
    if hasattr(source, "fileno"):
        return Place(str(getattr(source, "name", "input")), "", None, source.fileno())
    text = os.fspath(source)
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    if "://" in text or text.startswith("source:"):
        return Place(text, text, None, -1)
    if isinstance(source, str) and text and not set(text) & set("/.") and not os.path.exists(text):
        return Place(text, "source:" + text, None, -1)
    return Place(text, "", text, -1)


def policy_of(text: Optional[str], place: Place) -> Tuple[int, int]:
    """Number and depth. Files default to every frame, other sources to the newest."""
    if text is None:
        return POLICIES["latest" if place.uri else "lossless"], 0
    word, _, depth = str(text).partition(":")
    if word not in POLICIES or (depth and (word != "fifo" or not depth.isdigit())):
        raise errors.UsageError(f"policy {text!r} is none", "lossless, latest, or fifo:N")
    if depth and not 1 <= int(depth) <= FIFO_MOST:
        raise errors.UsageError(f"policy {text!r}", f"N is 1 to {FIFO_MOST}")
    return POLICIES[word], int(depth or 0)


def whole(name: str, value: Any, most: int = 2**31 - 1, least: int = 0) -> int:
    """An integer of Python or numpy."""
    try:
        number = operator.index(value)
    except TypeError:
        raise errors.UsageError(f"{name} is {value!r}", f"{name} is a whole number") from None
    if not least <= number <= most:
        raise errors.UsageError(f"{name} is {number}", f"{name} is {least} to {most}")
    return number


def real(name: str, value: Any, least: float = 0) -> float:
    """A finite number."""
    try:
        number = math.nan if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not least <= number <= LONGEST_S:
        raise errors.UsageError(f"{name} is {value!r}",
                                f"{name} is a number" + (", 0 or more" if not least else ""))
    return number


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise errors.UsageError(f"{name} is {value!r}", f"{name} is a string")
    return value


def several(values: Any) -> bool:
    return isinstance(values, collections.abc.Iterable) and not isinstance(values, (str, bytes))


def listed(name: str, values: Any, most: int) -> List[Any]:
    """One more than `most` at most: a range may be endless."""
    if not several(values):
        raise errors.UsageError(f"{name} is {values!r}", f"{name} is a list")
    return list(itertools.islice(values, most + 1))


def ask_less(what: str, most: str) -> errors.UsageError:
    return errors.UsageError(f"{what} are wanted at once", f"{most} are the most; "
                             "ask several times")


def frame_number(value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise errors.UsageError(f"frame {value!r} is wanted", "frames have whole numbers") from None
    if not 0 <= number <= LAST_FRAME:
        raise errors.UsageError(f"frame {number} is wanted", "the first frame has number 0")
    return number


def microseconds(name: str, seconds: Optional[float]) -> int:
    return int(round(1e6 * real(name, seconds or 0))) or -1


def ranges_of(numbers: Iterable[int]) -> List[int]:
    """First, count and stride of each run of numbers that rise evenly."""
    out: List[int] = []
    values = listed("at", numbers, WANTED_FRAMES_MOST)
    if len(values) > WANTED_FRAMES_MOST:
        raise ask_less(f"more than {WANTED_FRAMES_MOST} frames", str(WANTED_FRAMES_MOST))
    for n in map(frame_number, values):
        if out and out[-2] == 1 and n > out[-3]:
            out[-2:] = 2, n - out[-3]
        elif out and out[-2] > 1 and n == out[-3] + out[-2] * out[-1]:
            out[-2] += 1
        else:
            out += [n, 1, 1]
    if len(out) > 3 * WANTED_MOST:
        raise ask_less(f"{len(values)} frames in {len(out) // 3} runs", f"{WANTED_MOST} runs")
    return out


def times_of(times: Iterable[float]) -> List[int]:
    values = listed("times", times, WANTED_MOST)
    if len(values) > WANTED_MOST:
        raise ask_less(f"more than {WANTED_MOST} times", str(WANTED_MOST))
    return [int(round(1e6 * real("a time", t, -LONGEST_S))) for t in values]


def numbers_of(name: str, values: Any, channels: int) -> List[float]:
    """One for each channel; a single number is for all."""
    values = list(values) if several(values) else [values] * channels
    out = [real(name, v, -LONGEST_S) for v in values]
    if len(out) != channels:
        raise errors.UsageError(f"{name} has {len(out)} numbers for {channels} channels",
                                "one for each channel, or one for all")
    return out


def numbers_in(name: str, values: Any, form: str) -> List[int]:
    """Whole numbers, as many as the form has."""
    count = form.count(",") + 1
    out = listed(name, values, count) if several(values) else []
    if len(out) != count or (name == "size" and 0 in out):
        raise errors.UsageError(f"{name} is {values!r}", f"{name}={form}")
    return [whole(f"a number of {name}", v) for v in out]


def output_of(pix_fmt: str, size: Optional[Tuple[int, int]],
              crop: Optional[Tuple[int, int, int, int]], filter: str, dtype: Any,
              layout: Optional[str], mean: Any, std: Any) -> Dict[str, Any]:
    """Members of Open. A NCHW layout is the default of floats."""
    kind = getattr(dtype, "__name__", None) or str(dtype or "uint8")
    for name, value, known in (("filter", filter, FILTERS), ("layout", layout, LAYOUTS),
                               ("dtype", kind, DTYPES)):
        if value not in known:
            raise errors.UsageError(f"{name} {value!r} is none",
                                    ", ".join(str(k) for k in known if k))
    width, height = numbers_in("size", size, "(width, height)") if size is not None else (0, 0)
    box = numbers_in("crop", crop, "(x, y, width, height)") if crop is not None else []
    out: Dict[str, Any] = dict(
        width=width, height=height, crop=box, filter=FILTERS[filter], type=DTYPES[kind],
        layout=LAYOUTS[layout or ("NCHW" if dtype is not None else None)])
    if mean is not None or std is not None:
        if not DTYPES[kind]:
            raise errors.UsageError("mean and std are for floats", "dtype='float16' or 'float32'")
        channels = {"rgba": 4, "bgra": 4, "gray": 1}.get(pix_fmt, 3)
        stds = numbers_of("std", 1 if std is None else std, channels)
        if not all(stds):
            raise errors.UsageError("a std is 0")
        out.update(mean=numbers_of("mean", 0 if mean is None else mean, channels),
                   scale=[1 / s for s in stds])
    return out
