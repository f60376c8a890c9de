# SPDX-License-Identifier: BSD-2-Clause
"""Access units of H.264 as they came, for pelton.open(..., encoded=True)."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import errors
from ._frame import Frame, Lease, Pool

if TYPE_CHECKING:
    from ._stream import Stream

MAX_SETS, MAX_UNITS = 1 << 17, (1 << 32) - 1


class UnitPool(Pool):
    """The memory of one epoch: each slot holds one access unit."""

    @staticmethod
    def planes_fit(m: Any) -> bool:
        return (m.HasField("encoded") and not m.planes and m.slot_size <= MAX_UNITS
                and m.encoded.nal_length <= 4 and len(m.encoded.parameter_sets) <= MAX_SETS)

    def frame(self, stream: "Stream", m: Any) -> "AccessUnit":
        if m.bytes > self.slot_size:
            raise errors.ProtocolError("the daemon sent an access unit larger than its slot")
        return AccessUnit(Lease(stream, self, m), m)


class AccessUnit(Frame):
    """One access unit in the daemon's shared memory. bytes() copies it. `data` is a read-only view;
    the daemon does not write the slot while it lives. Decoding begins where `key` is true."""
    __slots__ = ()

    @property
    def data(self) -> np.ndarray:
        """The bytes: NAL units with start codes, or each after nal_length bytes of its length."""
        if self._planes is None:
            if self._lease is None:
                raise ValueError("the access unit is closed")
            layout = {"shape": (self._m.bytes,), "strides": (1,), "version": 3, "typestr": "|u1"}
            base = self.pool.address + self._m.slot * self.pool.slot_size
            self._planes = (np.asarray(self.view_of(self._lease, base, layout)),)
        return self._planes[0]

    def __bytes__(self) -> bytes:
        return self.data.tobytes()

    @property
    def dts(self) -> int:
        """Decoding time in units of time_base."""
        return self._m.dts

    @property
    def nal_length(self) -> int:
        """Bytes of the length before each NAL unit; 0: they have start codes."""
        return self.pool.format.encoded.nal_length

    @property
    def parameter_sets(self) -> bytes:
        """Of the epoch: the content of an avcC box, or with start codes; may be empty."""
        return self.pool.format.encoded.parameter_sets

    def __repr__(self) -> str:
        key = " key" if self.key else ""
        return f"<AccessUnit {self.sequence} {self._m.bytes} bytes{key}>"
