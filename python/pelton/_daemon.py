# SPDX-License-Identifier: BSD-2-Clause
"""Which daemon: the one that is named, the user's, the system's. Files and addresses get a private
one where none runs; names of a configuration never do. Each process has one connection to each."""
from __future__ import annotations

import atexit
import errno
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Dict, List, Optional

from . import _connection, errors
from ._connection import Connection

SYSTEM = "/run/pelton/pelton.sock"
CONNECT_S, SPAWN_S = 10.0, 60.0
PRIVATE = ""
_connections: Dict[str, Connection] = {}
_lock = threading.Lock()


def client_name() -> str:
    program = os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] else "python3")
    return f"{program[:32]}, pelton.py {_connection.VERSION}"


def program(name: str) -> str:
    """Of the wheel, else in PATH."""
    beside = pathlib.Path(__file__).parent / "bin" / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(name) or name


def _candidates() -> List[str]:
    named = os.environ.get("PELTON_SOCKET")
    if named:
        return [named]
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return ([folder + "/pelton.sock"] if folder.startswith("/") else []) + [SYSTEM]


def connect(path: str) -> Connection:
    """To a daemon that listens there."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    sock.settimeout(CONNECT_S)
    try:
        sock.connect(path)
    except OSError as e:
        sock.close()
        if isinstance(e, PermissionError):
            raise errors.Forbidden(f"{path}: Permission denied", "sudo usermod -aG pelton USER, "
                                   "then log in again")
        absent = e.errno in (errno.ENOENT, errno.ENOTDIR)
        cause = "no daemon listens there" if absent else str(e.strerror or e)
        raise errors.NoDaemon(f"{path}: {cause}", "start it: systemctl start peltond, or run "
                              "peltond")
    connection = Connection(sock, path=path)
    connection.hello(client_name(), CONNECT_S)
    _connection.start_keeper()
    return connection


def _last_words(log) -> errors.Error:
    """The private daemon's last line, and its hint."""
    log.seek(0)
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line]
    hint = lines.pop()[6:] if lines and lines[-1].startswith("hint: ") else "its log says why"
    cause = lines[-1].replace("peltond: ", "", 1) if lines else "peltond ended at once"
    return errors.NoDaemon(cause, hint)


def spawn(settings: Dict[str, str]) -> Connection:
    """Starts a private daemon, which ends with the connection."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    name = program("peltond")
    words = [name, "--private-fd", str(theirs.fileno())]
    for key, value in settings.items():
        words += ["--device", value] if key == "device" else ["-c", f"{key}={value}"]
    with theirs, tempfile.TemporaryFile() as log:
        try:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=log, pass_fds=[theirs.fileno()])
        except OSError as e:
            ours.close()
            raise errors.NoDaemon(f"{name}: {e.strerror}", "install peltond in PATH, or the wheel "
                                  "that carries it")
        theirs.close()
        connection = Connection(ours, child)
        try:
            connection.hello(client_name(), SPAWN_S)
        except errors.Gone:
            connection.close()
            raise _last_words(log)
        return connection


def _find(path: Optional[str], named: bool) -> Connection:
    for candidate in [path] if path else _candidates():
        try:
            return connect(candidate)
        except errors.NoDaemon as e:
            failure = e
    if path or os.environ.get("PELTON_SOCKET"):
        raise failure
    if named:
        raise errors.NoDaemon(f"no daemon runs ({failure.cause})",
                              "systemctl start peltond, or peltond -c FILE")
    return spawn({})


def connection(path: Optional[str] = None, named: bool = False) -> Connection:
    """This process's connection to the daemon at that socket; path None: to the one that runs, else
    to a private one. named: the source is a name of its configuration."""
    with _lock:
        key = path or os.environ.get("PELTON_SOCKET") or PRIVATE
        found = _connections.get(key)
        if found is None or found.dead or (named and found.child):
            found = _find(path, named)
            _connections[key] = found
        return found


def close() -> None:
    """Ends all connections of this process, with their streams, and the private daemon."""
    with _lock:
        for found in _connections.values():
            found.close()
        _connections.clear()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _connections.clear()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(close)
