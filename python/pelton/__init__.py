# SPDX-License-Identifier: BSD-2-Clause
"""H.264 and camera frames of a pelton daemon as numpy arrays, without a copy.

    import pelton
    with pelton.open("clip.mp4") as stream:
        for frame in stream:
            print(frame.time, frame.y.mean())

Frames lie in shared memory, read-only. See pelton.open, Frame, VideoCapture, Clips and show.
"""
from ._connection import VERSION as __version__
from ._daemon import close
from ._frame import Colour, Frame
from ._stream import Event, Stream, open
from .errors import (DecodeError, Error, Forbidden, Gone, InputError, NoDaemon, NoDevice,
                     ProtocolError, SlotsExhausted, SourceError, Timeout, Unsupported, UsageError,
                     WorkerLost)

__all__ = ["Colour", "DecodeError", "Error", "Event", "Forbidden", "Frame", "Gone", "InputError",
           "NoDaemon", "NoDevice", "ProtocolError", "SlotsExhausted", "SourceError", "Stream",
           "Timeout", "Unsupported", "UsageError", "WorkerLost", "__version__", "close", "open"]
