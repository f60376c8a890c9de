# SPDX-License-Identifier: BSD-2-Clause
"""Several frames as one array: their slots lie one after another in the daemon's memory."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from ._frame import Frame, Lease, Pool, _Plane

if TYPE_CHECKING:
    from ._stream import Stream


def stacked(layout: Dict[str, Any], count: int, pitch: int) -> Dict[str, Any]:
    """The layout of so many planes, pitch bytes apart."""
    return dict(layout, shape=(count,) + layout["shape"], strides=(pitch,) + layout["strides"])


class BatchLease:
    """The slots of a batch. They go back together."""
    __slots__ = ("pool", "leases")

    def __init__(self, stream: "Stream", pool: Pool, messages: List[Any]) -> None:
        self.pool = pool
        self.leases = [Lease(stream, pool, m) for m in messages]


class Batch:
    """Frames that lie one after another in memory, in order.

    `batch[i]` and iteration give them as Frame, each with its own `damaged`, `time` and `number`.
    `planes` are arrays of all of them, of shape (frames, rows, columns) or (frames, rows, columns,
    samples), and `tensor` of a stream with a dtype is (frames, channels, height, width), or
    (frames, height, width, channels) of NHWC. All are read-only views without a copy. len(batch)
    is `batch` of pelton.open, but less at the end of a stream and before a new epoch. The slots go
    back when the batch, its frames and their arrays are gone.
    """
    __slots__ = ("_lease", "_messages", "_planes", "pool")
    kind = Frame

    def __init__(self, lease: Any, messages: List[Any]) -> None:
        self._lease: Any = lease
        self._messages, self.pool = messages, lease.pool
        self._planes: Optional[Tuple[Any, ...]] = None

    def __len__(self) -> int:
        return len(self._messages)

    def __getitem__(self, i: int) -> Frame:
        return self.kind(self._alive(), self._messages[i])

    def __iter__(self) -> Iterator[Frame]:
        return (self[i] for i in range(len(self)))

    def _alive(self) -> Any:
        if self._lease is None:
            raise ValueError("the batch is closed")
        return self._lease

    @property
    def damaged(self) -> np.ndarray:
        """(frames,) of bool: the stream was damaged there, and the picture is concealed."""
        return np.array([bool(m.flags & 2) for m in self._messages], bool)

    @property
    def numbers(self) -> np.ndarray:
        """(frames,) of uint64: their numbers in the file, from 0."""
        return np.array([m.number for m in self._messages], np.uint64)

    @property
    def epoch(self) -> int:
        """As of its frames."""
        return self.pool.epoch

    @property
    def planes(self) -> Tuple[Any, ...]:
        """One array a plane, of all frames."""
        if self._planes is None:
            lease, pool, count = self._alive(), self.pool, len(self)
            base = pool.address + self._messages[0].slot * pool.slot_size
            self._planes = tuple(
                np.asarray(_Plane(lease, base + offset, stacked(layout, count, pool.slot_size)))
                for offset, layout in pool.layout)
        return self._planes

    @property
    def tensor(self) -> Any:
        """All channels of all frames, of a stream that was opened with a dtype or a layout."""
        if not self.pool.is_tensor:
            raise TypeError("the frames have planes: open the stream with dtype= or layout=")
        return self.planes[0]

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray:
        """tensor, and of grey frames their samples, without a copy."""
        if not self.pool.is_tensor and not self.pool.pix_fmt.startswith("gray"):
            raise TypeError("the frames have several planes: use batch.planes, or open the stream "
                            "with dtype=")
        out = self.planes[0].copy() if copy else self.planes[0]
        return out if dtype is None else out.astype(dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        """The array of __array__, as of Frame."""
        return Frame.__dlpack__(self, **options)  # type: ignore[arg-type]

    def __dlpack_device__(self) -> Tuple[int, int]:
        return 1, 0  # kDLCPU

    def close(self) -> None:
        """Gives up the batch. The slots go back when the last frame and array of it is gone."""
        self._lease = self._planes = None

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a batch lies in shared memory and is not pickled: use numpy.array(batch)")

    def __repr__(self) -> str:
        first = self._messages[0].sequence
        return (f"<Batch {first} to {first + len(self) - 1} {self.pool.width}x{self.pool.height} "
                f"{self.pool.pix_fmt}>")
