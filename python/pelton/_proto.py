# SPDX-License-Identifier: BSD-2-Clause
"""The messages of pelton.proto as protobuf classes, made when the package is imported.

The file is read as it stands, so there is no generated code and no protoc. Any protobuf from 3.20
on will do. The numbers of the types are those of proto/wire.h.
"""
from __future__ import annotations

import pathlib
import re
from typing import Any, Dict, List

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

HELLO, WELCOME, ERROR, PING, PONG, GOODBYE = 1, 2, 3, 4, 5, 6
OPEN, OPEN_REPLY, PROBE, PROBE_REPLY, CLOSE, RELEASE, CREDIT = 16, 17, 18, 19, 20, 21, 22
STATS, STATS_REPLY, DEVICES, DEVICES_REPLY = 23, 24, 25, 26
SOURCES, SOURCES_REPLY = 29, 30
FORMAT_CHANGED, FRAME_READY, SOURCE_STATE, EOS = 32, 33, 34, 35

Field = descriptor_pb2.FieldDescriptorProto
SCALARS = {name: getattr(Field, "TYPE_" + name.upper()) for name in
           "double float int32 int64 uint32 uint64 sint32 sint64 fixed32 bool string bytes".split()}


def _words(text: str) -> List[str]:
    text = re.sub(r"//[^\n]*", "", text)
    return re.findall(r'"[^"]*"|[\w.]+|[{}=;,]', text)


class _Reader:
    """Reads the statements that pelton.proto uses: messages, enumerations, fields, `reserved`."""

    def __init__(self, text: str) -> None:
        self.words = _words(text)
        self.at = 0

    def take(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def until(self, end: str) -> List[str]:
        begin = self.at
        self.at = self.words.index(end, begin) + 1
        return self.words[begin:self.at - 1]

    def file(self) -> descriptor_pb2.FileDescriptorProto:
        out = descriptor_pb2.FileDescriptorProto(name="pelton.proto", syntax="proto3")
        while self.at < len(self.words):
            word = self.take()
            if word == "message":
                self.message(out.message_type.add())
            elif word == "package":
                out.package = self.until(";")[0]
            else:
                self.until(";")
        return out

    def message(self, out: descriptor_pb2.DescriptorProto) -> None:
        out.name = self.take()
        self.take()
        while (word := self.take()) != "}":
            if word == "enum":
                self.enumeration(out.enum_type.add())
            elif word == "reserved":
                self.until(";")
            else:
                self.field(out.field.add(), [word] + self.until(";"))

    def enumeration(self, out: descriptor_pb2.EnumDescriptorProto) -> None:
        out.name = self.take()
        self.take()
        while (word := self.take()) != "}":
            _, number = self.until(";")
            out.value.add(name=word, number=int(number))

    @staticmethod
    def field(out: Any, words: List[str]) -> None:
        repeated = words[0] == "repeated"
        kind, name, _, number = words[repeated:]
        out.name, out.number = name, int(number)
        out.label = Field.LABEL_REPEATED if repeated else Field.LABEL_OPTIONAL
        if kind in SCALARS:
            out.type = SCALARS[kind]
        else:
            out.type_name = kind


def _resolve(file: descriptor_pb2.FileDescriptorProto) -> None:
    """Tells messages from enumerations, all of which stand inside of messages."""
    enums = {e.name for m in file.message_type for e in m.enum_type}
    for field in (f for m in file.message_type for f in m.field if f.type_name):
        word = field.type_name.rpartition(".")[2]
        field.type = Field.TYPE_ENUM if word in enums else Field.TYPE_MESSAGE


def _classes() -> Dict[str, Any]:
    text = (pathlib.Path(__file__).parent / "pelton.proto").read_text(encoding="utf-8")
    file = _Reader(text).file()
    _resolve(file)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    make = getattr(message_factory, "GetMessageClass", None)  # protobuf 4.22 and later
    make = make or message_factory.MessageFactory(pool).GetPrototype
    return {m.name: make(pool.FindMessageTypeByName(f"{file.package}.{m.name}"))
            for m in file.message_type}


_made = _classes()
Hello, Welcome, ErrorMessage = _made["Hello"], _made["Welcome"], _made["Error"]
Goodbye, Open, OpenReply, Probe = (_made[n] for n in ("Goodbye", "Open", "OpenReply", "Probe"))
ProbeReply, Release, Credit = _made["ProbeReply"], _made["Release"], _made["Credit"]
StatsReply, SourcesReply = _made["StatsReply"], _made["SourcesReply"]
Devices, DevicesReply = _made["Devices"], _made["DevicesReply"]
FormatChanged, FrameReady = _made["FormatChanged"], _made["FrameReady"]
SourceState, Eos, SideData = _made["SourceState"], _made["Eos"], _made["SideData"]
BODIES = {
    WELCOME: Welcome, ERROR: ErrorMessage, GOODBYE: Goodbye, OPEN_REPLY: OpenReply,
    PROBE_REPLY: ProbeReply, STATS_REPLY: StatsReply, DEVICES_REPLY: DevicesReply,
    SOURCES_REPLY: SourcesReply, FORMAT_CHANGED: FormatChanged, FRAME_READY: FrameReady,
    SOURCE_STATE: SourceState, EOS: Eos,
}
