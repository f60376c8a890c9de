#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Threads of one connection: one reads, the others sleep until something of theirs has come, until
it is their turn to read, or until the connection is dead.
"""
import socket, threading, time

from pythontest import check, equal, finish, raises, t
from pelton import _proto, errors
from pelton._connection import FOREVER, Connection, HEADER

READERS = 8
args = t.parser(__doc__).parse_args()


class Asker(threading.Thread):
    """Asks a question and waits for its answer."""

    def __init__(self, connection):
        super().__init__(daemon=True)
        self.connection, self.deadline, self.result = connection, FOREVER, None
        self.request = connection.start(_proto.STATS)

    def run(self):
        try:
            self.result = self.connection.wait(lambda: self.connection._answers[self.request],
                                               self.deadline)
        except errors.Error as e:
            self.result = e


def asleep(connection):
    with connection._state:
        return connection._reading, len(connection._sleeping)


def settled(connection, sleepers):
    return t.wait_until(lambda: asleep(connection) == (True, sleepers), 20)


def answer(end, request):
    end.sendall(HEADER.pack(0, _proto.STATS_REPLY, 0, 0, request, 0))


def world():
    """A connection, the daemon's end, and askers of which the first one reads."""
    ours, theirs = socket.socketpair()
    connection, askers = Connection(ours), []
    for n in range(READERS):
        askers.append(Asker(connection))
        askers[-1].start()
        check(settled(connection, n), f"thread {n} {'sleeps' if n else 'reads'}")
    return connection, theirs, askers


connection, theirs, askers = world()
answer(theirs, askers[5].request)
askers[5].join(t.LIMIT_S)
equal(askers[5].result, True, "an answer wakes the thread that waits for it")
check(settled(connection, READERS - 2), "the others go on as they were")
answer(theirs, askers[0].request)
askers[0].join(t.LIMIT_S)
equal(askers[0].result, True, "the one that reads has its answer")
check(settled(connection, READERS - 3), "another one reads now")
for n in (7, 1, 2, 6, 3, 4):
    answer(theirs, askers[n].request)
for a in askers:
    a.join(t.LIMIT_S)
equal([a.result for a in askers], [True] * READERS, "all have their answers")
equal(asleep(connection), (False, 0), "nobody is left")
raises(errors.Timeout, lambda: connection.answer(connection.start(_proto.STATS),
                                                 _proto.STATS_REPLY, time.monotonic() + 0.05),
       "no answer")

connection, theirs, askers = world()
theirs.close()
for a in askers:
    a.join(t.LIMIT_S)
check(all(isinstance(a.result, errors.Gone) for a in askers), "all learn of the end")
finish()
