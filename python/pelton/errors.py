# SPDX-License-Identifier: BSD-2-Clause
"""Failures of the daemon as exceptions: its code, its cause, its hint."""
from __future__ import annotations

import os
from typing import Dict, Optional, Type


class Error(Exception):
    """A failure. `code` is that of `enum pelton_error`, `cause` one clause, `hint` one line."""

    code = -1

    def __init__(self, cause: str, hint: str = "", code: Optional[int] = None) -> None:
        super().__init__(cause)
        self.cause, self.hint = cause, hint
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.cause} ({self.hint})" if self.hint else self.cause

    def again(self) -> "Error":
        """A fresh one, to be raised once more."""
        return type(self)(self.cause, self.hint, self.code)

    def __reduce__(self):
        return type(self), (self.cause, self.hint, self.code)


class UsageError(Error, ValueError):
    """An argument makes no sense."""
    code = -2


class InputError(Error, OSError):
    """The source is not there, empty, a folder, or no video."""
    code = -4


class Unsupported(Error):
    """Another codec, or an H.264 tool that is not supported."""
    code = -5


class DecodeError(Error):
    """The stream is damaged, and on_error="fail" is set."""
    code = -6


class NoDevice(Error):
    """There is no device that decodes, or none that is asked for."""
    code = -7


class NoDaemon(Error, ConnectionError):
    """No daemon listens, or none could be started."""
    code = -8


class Forbidden(Error, PermissionError):
    """The daemon or the system refuses it."""
    code = -9


class Timeout(Error, TimeoutError):
    """Nothing came in time. Another call may succeed."""
    code = -11


class WorkerLost(Error):
    """The device or its worker is lost, and the stream could not go on."""
    code = -13


class Gone(Error, ConnectionError):
    """The connection to the daemon has ended."""
    code = -14


class ProtocolError(Error):
    """The other side broke the protocol."""
    code = -15


class LimitReached(Error):
    """A quota of the daemon: the hint names its key. Another call may succeed."""
    code = -17


class SlotsExhausted(Error):
    """The program holds every slot of the stream's memory, so no frame can come."""
    code = -17


class SourceError(Error):
    """A camera or network source failed."""
    code = -18


KINDS: Dict[int, Type[Error]] = {
    -2: UsageError, -4: InputError, -5: Unsupported, -6: DecodeError, -7: NoDevice, -8: NoDaemon,
    -9: Forbidden, -11: Timeout, -12: WorkerLost, -13: WorkerLost, -14: Gone, -15: ProtocolError,
    -17: LimitReached, -18: SourceError, -19: SourceError, -20: SourceError, -21: SourceError,
    -22: SourceError, -23: SourceError,
}


def of_code(code: int, cause: str, hint: str = "") -> Error:
    """The exception of a code that the daemon sent."""
    return KINDS.get(code, Error)(cause, hint, code if code < 0 else -1)


def of_errno(error: OSError, path: object) -> Error:
    """The exception of a system call about a file."""
    kind = Forbidden if isinstance(error, PermissionError) else InputError
    return kind(f"{path}: {os.strerror(error.errno or 0)}")
