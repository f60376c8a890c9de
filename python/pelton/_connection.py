# SPDX-License-Identifier: BSD-2-Clause
"""One socket to a daemon: frames of the protocol out and in, and descriptors with them.

Threads may share a connection. One of them reads the socket at a time, and hands each message to
the question or stream that it belongs to. The others sleep until something of theirs has come, or
until it is their turn to read.

Slots go back from finalizers, which may run anywhere, even inside this file. So they only put a
Release into a queue. It is sent at once where nobody sends, else by the one who does.
"""
from __future__ import annotations

import collections
import errno
import os
import select
import socket
import struct
import subprocess
import threading
import time
import weakref
from typing import Any, Callable, Deque, Dict, List, Optional, Sequence, Tuple

from . import _proto, errors

HEADER = struct.Struct("<IHBBII")  # length, type, descriptors, flags, request, object
MAX_BODY, MAX_FDS = 65536, 4
PING_S, DEAD_S, GRACE_S = 5.0, 15.0, 2.0
VERSION = "0.2.0"
FOREVER = float("inf")


def deadline_of(timeout: Optional[float]) -> float:
    return FOREVER if timeout is None else time.monotonic() + timeout


class Connection:
    """A welcomed connection. `child` is the private daemon that ends with it, or None."""

    def __init__(self, sock: socket.socket, child: Optional[subprocess.Popen] = None,
                 path: str = "") -> None:
        sock.setblocking(False)
        self.sock, self.child, self.path = sock, child, path
        self.pid = os.getpid()
        self.streams: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()
        self.dead: Optional[errors.Error] = None
        self.welcome: Any = None
        self._buffer, self._fds = bytearray(), []  # type: Tuple[bytearray, List[int]]
        self._state, self._sending = threading.Lock(), threading.Lock()
        self._reading = False
        # of threads that sleep: what they wait for; with the lock of the state
        self._sleeping: Dict[threading.Condition, Callable[[], Any]] = {}
        self._posted: Deque[bytes] = collections.deque()
        self._answers: Dict[int, Any] = {}
        self._last_request = self._last_object = 0
        self._heard = self._sent = time.monotonic()
        self._pinged = 0.0
        _alive.add(self)

    # ---- out ----

    def send(self, kind: int, body: bytes = b"", request: int = 0, object_id: int = 0,
             fds: Sequence[int] = ()) -> None:
        """Sends one message. Raises what ended the connection."""
        if self.dead:
            raise self.dead.again()
        if len(body) > MAX_BODY:
            raise errors.UsageError("an argument is too long for a message")
        frame = HEADER.pack(len(body), kind, len(fds), 0, request, object_id) + body
        with self._sending:
            self._write(self._queued(), ())
            self._write(frame, fds)
        self._send_posted()

    def post(self, kind: int, body: bytes, object_id: int) -> None:
        """Sends a Release or a Close, from any thread and from a finalizer. Never fails."""
        if not self.dead and self.pid == os.getpid():
            self._posted.append(HEADER.pack(len(body), kind, 0, 0, 0, object_id) + body)
            self._send_posted()

    def _send_posted(self) -> None:
        while self._posted and not self.dead and self._sending.acquire(blocking=False):
            try:
                self._write(self._queued(), ())
            except errors.Error:
                return  # whoever reads next is told
            finally:
                self._sending.release()

    def _queued(self) -> bytes:
        out = b""
        while self._posted:
            out += self._posted.popleft()
        return out

    def _write(self, data: bytes, fds: Sequence[int]) -> None:
        """With the lock of sending. The daemon always reads, so this waits for moments only."""
        view, end = memoryview(data), time.monotonic() + DEAD_S
        while view:
            try:
                n = socket.send_fds(self.sock, [view], list(fds)) if fds else self.sock.send(view)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise self._die(errors.Gone("the daemon does not read any more"))
                select.select([], [self.sock], [], 1)
            except OSError as e:
                if e.errno != errno.EINTR:
                    return  # its last words may still be read
            else:
                view, fds = view[n:], ()
        self._sent = time.monotonic()

    # ---- in ----

    def wait(self, ready: Callable[[], Any], deadline: float) -> bool:
        """Handles messages until ready() is true; False: the deadline has passed. Raises what ended
        the connection, where ready() is false even so."""
        with self._state:
            self._begin_wait()
            try:
                return self._wait(ready, deadline)
            finally:
                self._pass_on()

    def _wait(self, ready: Callable[[], Any], deadline: float) -> bool:
        polled = False
        while not ready():
            if self.dead:
                raise self.dead.again()
            left = deadline - time.monotonic()
            if left <= 0 and polled:
                return False
            if self._reading:
                self._sleep(ready, max(0.0, min(left, 1.0)))
                polled = True
            else:
                polled = not self._turn(max(0.0, left))
        return True

    def _sleep(self, ready: Callable[[], Any], seconds: float) -> None:
        wake = threading.Condition(self._state)
        self._sleeping[wake] = ready
        try:
            wake.wait(seconds)
        finally:
            self._sleeping.pop(wake, None)

    def _wake_ready(self) -> None:
        for wake in [w for w, ready in self._sleeping.items() if self.dead or ready()]:
            del self._sleeping[wake]
            wake.notify()

    def _pass_on(self) -> None:
        """Somebody else reads from now on."""
        if not self._reading and self._sleeping:
            wake = next(iter(self._sleeping))
            del self._sleeping[wake]
            wake.notify()

    def _begin_wait(self) -> None:
        """Nobody listened for long, so a ping goes before any verdict."""
        if not self._reading and self._pinged <= self._heard:
            self._heard = max(self._heard, time.monotonic() - PING_S)

    def _turn(self, left: float) -> bool:
        """Reads once, without the lock; True where something came."""
        self._reading = True
        self._state.release()
        try:
            got = self._receive(min(left, 1.0))
        finally:
            self._state.acquire()
            self._reading = False
        if got is None:
            self._check_silence()
        else:
            self._take(*got)
        self._wake_ready()
        return got is not None

    def _receive(self, left: float) -> Optional[Tuple[bytes, List[int]]]:
        flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        for last in (False, True):
            try:
                data, fds, seen, _ = socket.recv_fds(self.sock, MAX_BODY, MAX_FDS, flags)
            except (BlockingIOError, InterruptedError):
                if last or left <= 0:
                    return None
                poll = select.poll()
                poll.register(self.sock, select.POLLIN)
                poll.poll(left * 1000)
            except OSError:
                return b"", []
            else:
                if seen & socket.MSG_CTRUNC:
                    for fd in fds:
                        os.close(fd)
                    return b"", []
                return data, fds
        return None

    def _check_silence(self) -> None:
        now = time.monotonic()
        if self._pinged > self._heard:
            if now - self._pinged >= DEAD_S - PING_S:
                self._die(errors.Gone(f"the daemon has not answered for {DEAD_S:.0f} s"))
        elif self.welcome is not None and now - self._heard >= PING_S:
            self._pinged = now
            self.send(_proto.PING)

    def _take(self, data: bytes, fds: List[int]) -> None:
        if not data:
            self._die(errors.Gone("the daemon has closed the connection"))
            return
        self._heard = time.monotonic()
        self._buffer += data
        self._fds += fds
        at = 0
        while len(self._buffer) - at >= HEADER.size and not self.dead:
            length, kind, n_fds, _, request, object_id = HEADER.unpack_from(self._buffer, at)
            if length > MAX_BODY or n_fds > min(MAX_FDS, len(self._fds)):
                self._die(errors.ProtocolError("the daemon broke the protocol"))
                break
            end = at + HEADER.size + length
            if len(self._buffer) < end:
                break
            body, at = bytes(self._buffer[at + HEADER.size:end]), end
            mine, self._fds = self._fds[:n_fds], self._fds[n_fds:]
            try:
                self._dispatch(kind, request, object_id, body, mine)
            finally:
                for fd in mine:
                    os.close(fd)
        del self._buffer[:at]

    def _dispatch(self, kind: int, request: int, object_id: int, body: bytes,
                  fds: List[int]) -> None:
        make = _proto.BODIES.get(kind)
        try:
            message = make.FromString(body) if make else None
        except Exception:  # protobuf has one class of its own for each implementation
            self._die(errors.ProtocolError("the daemon sent a message that cannot be parsed"))
            return
        if request and request in self._answers:
            self._answers[request] = (kind, message)
        elif kind == _proto.WELCOME:
            self.welcome = message
        elif kind == _proto.PING:
            self.send(_proto.PONG, request=request)
        elif kind == _proto.GOODBYE:
            self._die(errors.Gone(f"the daemon said goodbye: {message.reason}"))
        elif kind == _proto.ERROR and not request and not object_id:
            self._die(errors.of_code(message.code, message.message, message.hint))
        elif (stream := self.streams.get(object_id)) is not None:
            try:
                stream._on_message(kind, message, fds)
            except errors.Error as e:
                self._die(e)

    def _die(self, why: errors.Error) -> errors.Error:
        self.dead = self.dead or why
        return self.dead.again()

    # ---- questions ----

    def hello(self, client: str, timeout: float) -> None:
        """Hello and Welcome."""
        body = _proto.Hello(proto_min=1, proto_max=1, client=client).SerializeToString()
        self.send(_proto.HELLO, body)
        if not self.wait(lambda: self.welcome, deadline_of(timeout)):
            raise errors.Timeout("the daemon did not welcome us in time")
        if self.welcome.proto != 1:
            raise errors.NoDaemon(f"the daemon speaks protocol {self.welcome.proto}, we speak 1",
                                  "install the same version of daemon and package")

    def start(self, kind: int, body: bytes = b"", object_id: int = 0,
              fds: Sequence[int] = ()) -> int:
        """Sends a question and returns its number, for answer()."""
        with self._state:
            self._last_request += 1
            request = self._last_request
            self._answers[request] = None
        self.send(kind, body, request, object_id, fds)
        return request

    def answer(self, request: int, want: int, deadline: float) -> Any:
        """The body of the answer. Raises the daemon's Error, or Timeout."""
        try:
            if not self.wait(lambda: self._answers[request], deadline):
                raise errors.Timeout("no answer from the daemon in time")
            kind, message = self._answers[request]
        finally:
            self._answers.pop(request, None)
        if kind == _proto.ERROR:
            raise errors.of_code(message.code, message.message, message.hint)
        if kind != want:
            raise self._die(errors.ProtocolError(f"the daemon answered with a message {kind}"))
        return message

    def new_object(self) -> int:
        with self._state:
            self._last_object += 1
            return self._last_object

    # ---- the end ----

    def close(self) -> None:
        """Ends the connection with all its streams, and a private daemon: at most 2 s."""
        self._die(errors.Gone("the connection is closed"))
        self.sock.close()
        fds, self._fds = self._fds, []
        for fd in fds:
            os.close(fd)
        if self.child and self.pid == os.getpid():
            try:
                self.child.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()

    def forget(self) -> None:
        """In the child of a fork: the connection is the parent's. Its streams say so."""
        self.dead = errors.Gone("the stream was opened before a fork, and is the parent's",
                                "open it in the process that reads it")
        self.sock.close()
        self._state, self._sending = threading.Lock(), threading.Lock()
        self._sleeping = {}
        self._posted.clear()
        if self.child:
            self.child.returncode = 0  # it is no child of ours

    def keep_alive(self) -> None:
        """Tells the daemon that this reader lives, though it asks for nothing."""
        now = time.monotonic()
        if self.dead or self._reading or now - self._sent < PING_S:
            return
        try:
            self.send(_proto.PING)
            self.wait(lambda: False, 0)
        except errors.Error:
            pass  # the reader is told when it asks


_alive: "weakref.WeakSet[Connection]" = weakref.WeakSet()
_keeper: Optional[threading.Thread] = None


def _keep_all() -> None:
    while True:
        time.sleep(1)
        for connection in list(_alive):
            if connection.child is None and len(connection.streams):
                connection.keep_alive()


def start_keeper() -> None:
    """A daemon cuts off readers that are silent for 15 s. This thread speaks for those that work
    on a frame for longer."""
    global _keeper
    if _keeper is None:
        _keeper = threading.Thread(target=_keep_all, name="pelton-keeper", daemon=True)
        _keeper.start()


def _after_fork() -> None:
    global _keeper
    _keeper = None
    for connection in list(_alive):
        connection.forget()
    _alive.clear()


os.register_at_fork(after_in_child=_after_fork)
