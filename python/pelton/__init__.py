# SPDX-License-Identifier: BSD-2-Clause
"""H.264 and camera frames of a pelton daemon as numpy arrays, without a copy.

    import pelton
    with pelton.open("clip.mp4") as stream:
        for frame in stream:
            print(frame.time, frame.y.mean())

Frames lie in shared memory, read-only. See pelton.open, Frame, VideoCapture, Clips and show.
"""
from ._batch import Batch
from ._capture import *  # VideoCapture and OpenCV's names of its properties
from ._clips import Clips
from ._connection import VERSION as __version__
from ._daemon import close
from ._frame import Colour, Exposure, Frame
from ._show import Picture, contact_sheet, show
from ._stream import Event, Stream, open
from ._units import AccessUnit
from .errors import (DecodeError, Error, Forbidden, Gone, InputError, LimitReached, NoDaemon,
                     NoDevice, ProtocolError, SlotsExhausted, SourceError, Timeout, Unsupported,
                     UsageError, WorkerLost)
