# SPDX-License-Identifier: BSD-2-Clause
"""Frames in memory of the GPU, by ctypes on CUDA's driver (libcuda) alone.

A pool is imported with its first frame, in the primary context of the daemon's device, which
PyTorch and CuPy use too. Its planes go to them by DLPack or `__cuda_array_interface__`, without a
copy. A slot goes back when the last tensor of it is gone, and the GPU work that was queued until
then on the tensors' streams is done.
"""
from __future__ import annotations

import collections
import ctypes
import os
import threading
import weakref
from ctypes import c_char_p, c_int, c_int32, c_int64, c_uint, c_uint64, c_uint8, c_uint16, c_void_p
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Optional, Tuple

from . import errors
from ._batch import Batch, BatchLease, stacked
from ._frame import Frame, Lease, Pool

if TYPE_CHECKING:
    from ._stream import Stream

OPAQUE_FD, DEDICATED, NO_TIMING = 1, 1, 2  # CU_EXTERNAL_MEMORY_..., CU_EVENT_DISABLE_TIMING
NOT_READY = 600                            # CUDA_ERROR_NOT_READY
LEGACY = 1                                 # CU_STREAM_LEGACY: all blocking streams
KDL_CUDA, KDL_UINT, KDL_FLOAT = 2, 1, 2  # DLDeviceType; DLDataTypeCode
HINT = "leave device out, and upload frame.planes: torch.from_numpy(numpy.array(frame)).cuda()"


class _HandleDesc(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_HANDLE_DESC"""
    _fields_ = [("type", c_uint), ("fd", c_uint64), ("name", c_void_p), ("size", c_uint64),
                ("flags", c_uint), ("reserved", c_uint * 16)]


class _BufferDesc(ctypes.Structure):
    """CUDA_EXTERNAL_MEMORY_BUFFER_DESC"""
    _fields_ = [("offset", c_uint64), ("size", c_uint64), ("flags", c_uint),
                ("reserved", c_uint * 16)]


class _Tensor(ctypes.Structure):
    """DLManagedTensor"""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)),
                ("byte_offset", c_uint64), ("context", c_void_p), ("deleter", c_void_p)]


class Driver:
    """libcuda, one object a process."""
    made: Optional["Driver"] = None

    @classmethod
    def get(cls) -> "Driver":
        if cls.made is None or cls.made.pid != os.getpid():
            cls.made = cls()
        return cls.made

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.contexts: Dict[int, c_void_p] = {}
        self.marks: Dict[int, Marks] = {}
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise errors.NoDevice("device \"cuda\": this machine has no CUDA driver (libcuda.so.1)",
                                  HINT) from None
        self.call("cuInit", c_uint(0))

    def call(self, name: str, *arguments: Any) -> None:
        rc = getattr(self.library, name)(*arguments)
        if rc:
            text = c_char_p()
            self.library.cuGetErrorString(rc, ctypes.byref(text))
            why = (text.value or b"unknown").decode(errors="replace")
            raise errors.NoDevice(f"CUDA: {name}: {why} ({rc})", HINT)

    def ordinal(self, uuid: bytes) -> int:
        """The number of the device that Vulkan and CUDA call by this UUID."""
        count, device, found = c_int(), c_int(), (ctypes.c_char * 16)()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        for i in range(count.value):
            self.call("cuDeviceGet", ctypes.byref(device), i)
            self.call("cuDeviceGetUuid", found, device)
            if found.raw == uuid:
                return i
        raise errors.NoDevice(f"none of the {count.value} CUDA devices here is the daemon's",
                              "give its device to peltond (--device), see CUDA_VISIBLE_DEVICES, or "
                              + HINT)

    def enter(self, ordinal: int) -> None:
        """Makes the primary context current; leave() follows."""
        context = self.contexts.get(ordinal)
        if context is None:
            context, device = c_void_p(), c_int()
            self.call("cuDeviceGet", ctypes.byref(device), ordinal)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.contexts[ordinal] = context
        self.call("cuCtxPushCurrent_v2", context)

    def leave(self) -> None:
        self.call("cuCtxPopCurrent_v2", ctypes.byref(c_void_p()))


class Import:
    """The memory of a pool, mapped for CUDA. Tensors keep it, and so it outlives the stream."""

    def __init__(self, m: Any, fd: int) -> None:
        self.driver = driver = Driver.get()
        self.ordinal = driver.ordinal(m.device.device_uuid)
        self.marks = driver.marks.setdefault(self.ordinal, Marks(driver, self.ordinal))
        self.memory, self.address = c_void_p(), c_uint64()
        driver.enter(self.ordinal)
        try:
            self.map(driver, m, fd)
        finally:
            driver.leave()

    def map(self, driver: Driver, m: Any, fd: int) -> None:
        """CUDA takes the descriptor over where the import succeeds."""
        handle = _HandleDesc(type=OPAQUE_FD, fd=fd, size=m.device.allocation_size,
                             flags=DEDICATED if m.device.dedicated else 0)
        try:
            driver.call("cuImportExternalMemory", ctypes.byref(self.memory), ctypes.byref(handle))
        except errors.NoDevice:
            os.close(fd)
            raise
        driver.call("cuExternalMemoryGetMappedBuffer", ctypes.byref(self.address), self.memory,
                    ctypes.byref(_BufferDesc(size=m.memfd_size)))

    def __del__(self) -> None:
        if not getattr(self, "memory", None) or os.getpid() != self.driver.pid:
            return  # a child of a fork has no CUDA of its parent's
        library = self.driver.library
        self.driver.enter(self.ordinal)
        library.cuCtxSynchronize()  # tensors that are gone may still be read
        if self.address:
            library.cuMemFree_v2(self.address)
        library.cuDestroyExternalMemory(self.memory)
        self.driver.leave()


class Event:
    """Behind the work that is queued on a CUDA stream now."""

    def __init__(self, driver: Driver, ordinal: int, stream: int) -> None:
        self.driver, self.number, self.done = driver, c_void_p(), False
        driver.enter(ordinal)
        try:
            driver.call("cuEventCreate", ctypes.byref(self.number), NO_TIMING)
            driver.call("cuEventRecord", self.number, c_void_p(stream))
        finally:
            driver.leave()

    def wait(self) -> None:
        self.driver.call("cuEventSynchronize", self.number)

    def passed(self) -> bool:
        """Whether all of that work is done."""
        self.done = self.done or self.driver.library.cuEventQuery(self.number) != NOT_READY
        return self.done

    def __del__(self) -> None:
        if self.number.value and os.getpid() == self.driver.pid:
            self.driver.library.cuEventDestroy_v2(self.number)


class Slots:
    """Slots of one stream that the program gave up while the GPU may still read them."""

    def __init__(self) -> None:
        self.given: Deque[List[Lease]] = collections.deque()  # no event is behind their work yet
        self.waiting: Deque[Tuple[List[Event], List[Lease]]] = collections.deque()
        self.marks: Optional[Marks] = None  # known with the first frame

    def add(self, marks: "Marks", streams: List[int], leases: List[Lease]) -> None:
        """Comes from the garbage collector, at any time and in any thread. A CUDA stream of the
        program's own may be gone soon, so an event is made at once."""
        if streams == [LEGACY]:
            self.given.append(leases)
            return
        try:
            events = [Event(marks.driver, marks.ordinal, stream) for stream in streams]
        except errors.NoDevice:  # the context is lost, and with it all of its work
            return
        self.waiting.append((events, leases))

    def take(self) -> List[Lease]:
        out: List[Lease] = []
        while self.given:
            out += self.given.popleft()
        return out

    def take_passed(self) -> List[Lease]:
        """Slots that the GPU is done with."""
        out: List[Lease] = []
        while self.waiting and all(event.passed() for event in self.waiting[0][0]):
            out += self.waiting.popleft()[1]
        return out

    def settle(self, hurry: bool, wait: bool = False) -> bool:
        """Gives back slots that the GPU is done with, of all streams; with wait some of this one at
        least. hurry: slots are scarce, so those without an event get one. False: this stream has
        none under way."""
        return self.marks is not None and self.marks.settle(self, hurry, wait)

    def clear(self) -> None:
        """The stream is closed, and all slots are the daemon's."""
        if self.marks is not None and os.getpid() == self.marks.driver.pid:
            with self.marks.lock:
                self.given.clear()
                self.waiting.clear()


class Marks:
    """Events behind slots that were given up, for all streams of a device.

    An event is work of its own for the GPU, and the decoder stands still while the GPU turns to
    this process for it. So one event is behind all slots that were given up since the last one.
    """

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver, self.ordinal = driver, ordinal
        self.slots: "weakref.WeakSet[Slots]" = weakref.WeakSet()
        self.lock = threading.RLock()  # a collection meanwhile may close a stream

    def make(self) -> None:
        """With the lock."""
        taken = [(slots, slots.take()) for slots in list(self.slots) if slots.given]
        if not taken:
            return
        try:
            event = Event(self.driver, self.ordinal, LEGACY)
        except errors.NoDevice:  # as in Slots.add
            return
        for slots, leases in taken:
            slots.waiting.append(([event], leases))

    def settle(self, first: Slots, hurry: bool, wait: bool) -> bool:
        """As Slots.settle, of that stream. Another one may stand still as its reader waits here."""
        with self.lock:
            if hurry:
                self.make()
            events = first.waiting[0][0] if wait and first.waiting else []
        for event in events:
            event.wait()
        with self.lock:
            back = first.take_passed()
            others = [slots.take_passed() for slots in list(self.slots) if slots.waiting]
        any_back = bool(back)
        del back, others  # they go back, outside of the lock
        return any_back


class DevicePool(Pool):
    """The memory of one epoch, which is the GPU's. It is imported with its first frame."""
    device = True

    def __init__(self, m: Any, fds: list, epoch_base: int = 0) -> None:
        self.fd = -1
        super().__init__(m, fds, epoch_base)
        self.fd = os.dup(fds[0]) if fds else -1
        self.imported: Optional[Import] = None
        self.tensors: List[Any] = []
        self.batches: Dict[int, List[Any]] = {} # tensors of so many frames

    @staticmethod
    def check_memory(m: Any, fds: list) -> bool:
        d = m.device
        return (d.handle_type == OPAQUE_FD and len(d.device_uuid) == 16
                and d.allocation_size >= m.memfd_size)

    def memory_of(self) -> Import:
        if self.imported is None:
            if self.fd < 0:
                raise errors.NoDevice("the frames' memory could not be imported before", HINT)
            fd, self.fd = self.fd, -1
            self.imported = Import(self.format, fd)
            self.tensors = [self.tensor(layout) for _, layout in self.layout]
        return self.imported

    def tensor(self, layout: Dict[str, Any]) -> _Tensor:
        """Of a plane, without its address."""
        kind, size = layout["typestr"][-2], int(layout["typestr"][-1])
        shape = layout["shape"]
        numbers = c_int64 * len(shape)
        return _Tensor(device_type=KDL_CUDA, device_id=self.imported.ordinal, ndim=len(shape),
                       code=KDL_FLOAT if kind == "f" else KDL_UINT, bits=8 * size, lanes=1,
                       shape=numbers(*shape),
                       strides=numbers(*(s // size for s in layout["strides"])),
                       deleter=ctypes.cast(_delete, c_void_p).value)

    def use(self, stream: "Stream") -> None:
        slots, marks = stream._slots, self.memory_of().marks
        if slots.marks is not marks:
            slots.marks = marks
            marks.slots.add(slots)

    def frame(self, stream: "Stream", m: Any) -> "DeviceFrame":
        self.use(stream)
        return DeviceFrame(DeviceLease(stream, self, [m]), m)

    def frames(self, stream: "Stream", messages: List[Any]) -> "DeviceBatch":
        self.use(stream)
        count = len(messages)
        if count not in self.batches:
            self.batches[count] = [self.tensor(stacked(layout, count, self.slot_size))
                                   for _, layout in self.layout]
        return DeviceBatch(DeviceLease(stream, self, messages), messages)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)


class DeviceLease(BatchLease):
    """The slots of a frame or a batch. They go back once the GPU work of its tensors is done."""
    __slots__ = ("stream", "streams")

    def __init__(self, stream: "Stream", pool: Pool, messages: List[Any]) -> None:
        super().__init__(stream, pool, messages)
        self.stream = stream
        self.streams: List[int] = []  # on which tensors of it are used

    def use(self, stream: Optional[int]) -> None:
        """stream as DLPack has it: None and 1 mean the legacy default stream, -1 that the
        consumer waits by itself."""
        number = LEGACY if stream is None or stream == -1 else stream
        if number not in self.streams:
            self.streams.append(number)

    def __del__(self) -> None:
        memory: Any = self.pool.imported  # type: ignore[attr-defined]
        if not self.streams or self.stream._closed or os.getpid() != memory.driver.pid:
            return  # the leases go with it
        self.stream._slots.add(memory.marks, self.streams, self.leases)


# ---- DLPack ----

_alive: Dict[int, Tuple[_Tensor, Any]] = {}  # tensors that a consumer has, with their lease
_python = ctypes.PyDLL(None)
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
# as numbers: a capsule that is being destroyed must not be referenced
_python.PyCapsule_IsValid.argtypes = [c_void_p, c_char_p]
_python.PyCapsule_GetPointer.restype = c_void_p
_python.PyCapsule_GetPointer.argtypes = [c_void_p, c_char_p]


@ctypes.CFUNCTYPE(None, c_void_p)
def _delete(tensor: int) -> None:
    _alive.pop(tensor, None)


@ctypes.CFUNCTYPE(None, c_void_p)
def _drop(capsule: int) -> None:
    """A capsule that nobody has consumed."""
    if _python.PyCapsule_IsValid(capsule, b"dltensor"):
        _delete(_python.PyCapsule_GetPointer(capsule, b"dltensor"))


_DROP = ctypes.cast(_drop, c_void_p)


def _capsule(template: _Tensor, address: int, lease: DeviceLease) -> Any:
    tensor = _Tensor.from_buffer_copy(template)
    tensor.data = address
    key = ctypes.addressof(tensor)
    _alive[key] = (tensor, lease)
    return _python.PyCapsule_New(key, b"dltensor", _DROP)


class DevicePlane:
    """A plane in memory of the GPU, for torch.from_dlpack, cupy.from_dlpack or cupy.asarray. shape
    is (rows, columns), or (rows, columns, samples); strides are in bytes."""
    __slots__ = ("_lease", "_template", "address", "shape", "strides", "dtype")

    def __init__(self, lease: DeviceLease, template: _Tensor, address: int) -> None:
        self._lease, self._template, self.address = lease, template, address
        size, kind = template.bits // 8, "f" if template.code == KDL_FLOAT else "u"
        self.shape = tuple(template.shape[:template.ndim])
        self.strides = tuple(s * size for s in template.strides[:template.ndim])
        self.dtype = f"{'|' if size == 1 else '<'}{kind}{size}"

    def __dlpack__(self, stream: Optional[int] = None, **_: Any) -> Any:
        """The GPU has finished the frame, so nothing has to wait. The slot goes back after the work
        that is on this stream when the last tensor of the frame is gone."""
        self._lease.use(stream)
        return _capsule(self._template, self.address, self._lease)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return KDL_CUDA, self._template.device_id

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        """Used on the default stream; on another one synchronize before the array is given up."""
        self._lease.use(None)
        return {"shape": self.shape, "strides": self.strides, "typestr": self.dtype, "version": 3,
                "data": (self.address, False), "stream": None}

    def __repr__(self) -> str:
        return f"<DevicePlane {self.shape} {self.dtype} cuda:{self._template.device_id}>"


def planes_of(lease: DeviceLease, tensors: List[_Tensor], slot: int) -> Tuple[DevicePlane, ...]:
    """Planes that begin in that slot, one a tensor."""
    pool: Any = lease.pool
    base = pool.imported.address.value + slot * pool.slot_size
    return tuple(DevicePlane(lease, tensor, base + offset)
                 for tensor, (offset, _) in zip(tensors, pool.layout))


class _FirstPlane:
    """DLPack and `__cuda_array_interface__` of what has planes: those of the first one."""
    __slots__ = ()
    planes: Any

    def __dlpack__(self, **options: Any) -> Any:
        return self.planes[0].__dlpack__(**options)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.planes[0].__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        return self.planes[0].__cuda_array_interface__


class DeviceFrame(_FirstPlane, Frame):
    """One decoded picture in memory of the GPU. `planes` are DevicePlanes. DLPack and
    `__cuda_array_interface__` of the frame itself are those of its first plane: luma, or grey. The
    memory can be written, but belongs to the daemon: a program that writes spoils its own frames.
    """
    __slots__ = ()

    @property
    def planes(self) -> Tuple[Any, ...]:
        """One a plane: y, cb, cr of yuv420p."""
        if self._planes is None:
            if self._lease is None:
                raise ValueError("the frame is closed")
            self._planes = planes_of(self._lease, self.pool.tensors,  # type: ignore
                                     self._m.slot)
        return self._planes

    @property
    def y(self) -> Any:
        """The first plane, luma of YUV formats."""
        return self.planes[0]

    def to_rgb(self, dtype: Any = None) -> Any:
        raise TypeError("the frame is in memory of the GPU: use torch.from_dlpack(plane) for plane "
                        "in frame.planes, or open the stream without device")

    def to_bgr(self, dtype: Any = None) -> Any:
        self.to_rgb()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        self.to_rgb()


class DeviceBatch(_FirstPlane, Batch):
    """Frames that lie one after another in memory of the GPU. `planes` are DevicePlanes of all of
    them; DLPack and `__cuda_array_interface__` are those of the first plane, or of the tensor."""
    __slots__ = ()
    kind = DeviceFrame

    @property
    def planes(self) -> Tuple[Any, ...]:
        """One a plane, of all frames."""
        if self._planes is None:
            tensors = self.pool.batches[len(self)]  # type: ignore[attr-defined]
            self._planes = planes_of(self._alive(), tensors, self._messages[0].slot)
        return self._planes

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        raise TypeError("the frames are in memory of the GPU: use torch.from_dlpack(batch)")
