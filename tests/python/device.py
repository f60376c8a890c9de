#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Frames in device memory by the Python package: import, planes, DLPack, slots, a killed worker.
CUDA's driver is fake_cuda.c, on lavapipe. Without any the error says so.
"""
import ctypes, gc, hashlib, itertools, os, signal, subprocess, sys, tempfile

from pythontest import ROOT, arguments, check, clip, equal, finish, framemd5, raises, t
import pelton


class Managed(ctypes.Structure):
    """DLManagedTensor, as a consumer of DLPack sees it."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("dtype", ctypes.c_uint8 * 4), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
                ("context", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


python = ctypes.PyDLL(None)
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Tensor:
    """A consumer's tensor of a plane: its bytes, until delete()."""

    def __init__(self, plane, stream=1):
        capsule = plane.__dlpack__(stream=stream)
        self.address = python.PyCapsule_GetPointer(capsule, b"dltensor")
        python.PyCapsule_SetName(capsule, b"used_dltensor")
        self.managed = Managed.from_address(self.address)

    def rows(self):
        m = self.managed
        shape, strides = m.shape[:m.ndim], m.strides[:m.ndim]
        size = m.dtype[1] // 8
        width = size * shape[1] * (shape[2] if m.ndim > 2 else 1)
        return [ctypes.string_at(m.data + m.offset + y * strides[0] * size, width)
                for y in range(shape[0])]

    def delete(self):
        self.managed.deleter(self.address)


def md5(frame):
    h = hashlib.md5()
    for plane in frame.planes:
        tensor = Tensor(plane)
        for row in tensor.rows():
            h.update(row)
        tensor.delete()
    return h.hexdigest()


def fake(name):
    return ctypes.c_int.in_dll(pelton._cuda.Driver.get().library, name).value


def contents(args, daemon, folder):
    for pix_fmt, wish in (("yuv420p", ""), ("yuv420p", "nv12"), ("yuv420p10le", ""),
                          ("gray", "yuv420p")):
        path = clip(folder, f"{pix_fmt}{wish}.mp4", frames=20, size="98x66", pix_fmt=pix_fmt)
        want = framemd5(args, daemon, path, *(("--pix-fmt", wish) if wish else ()))
        with pelton.open(path, "cuda", pix_fmt=wish) as s:
            equal([md5(f) for f in s], want, f"{pix_fmt} {wish}: frames are those of the host")
            stats = s.stats()
            pool = s.slots * s._pools[s._newest].slot_size
            check(stats.bytes_delivered == 0 and stats.memory_gpu >= pool > 0,
                  f"no byte is read back, and the pool is the device's: {stats.memory_gpu}")
    return path


def interface(path):
    with pelton.open(path, "cuda") as s:
        frame = s.read()
        plane = frame.planes[0]
        of_plane, tensor = plane.__cuda_array_interface__, Tensor(frame)
        equal((of_plane["shape"], of_plane["typestr"], plane.strides[1]), ((66, 98), "|u1", 1),
              "the array interface's shape")
        equal(of_plane["data"][0], tensor.managed.data, "its address is DLPack's")
        equal((frame.__dlpack_device__(), list(tensor.managed.device)), ((2, 0), [2, 0]),
              "a CUDA device")
        tensor.delete()
        equal(len(pelton._cuda._alive), 0, "a deleted tensor is gone")
        capsule = plane.__dlpack__()
        equal(len(pelton._cuda._alive), 1, "a capsule holds a tensor")
        del capsule
        equal(len(pelton._cuda._alive), 0, "a capsule that nobody takes is gone, too")
        for what in (frame.to_rgb, frame.to_bgr, frame.__array__):
            raises(TypeError, what, "in memory of the GPU")
        frame.close()
        raises(ValueError, lambda: frame.planes, "closed")


def busy(yes):
    """Whether no event is ready until it is waited for."""
    ctypes.c_int.in_dll(pelton._cuda.Driver.get().library, "fake_busy").value = yes


def pending(s):
    """Slots that were given up, each frame or batch by itself: without an event, and with one."""
    return len(s._slots.given), len(s._slots.waiting)


def slots(path):
    """A slot goes back when the frame and its tensors are gone, and the GPU is done."""
    with pelton.open(path, "cuda", slots=4, loop=True) as s:
        frame = s.read()
        tensor = Tensor(frame)
        before = tensor.rows()
        del frame
        gc.collect()
        equal(s.held, 1, "a tensor holds its slot")
        for _ in range(10):
            s.read().close()
        equal(tensor.rows(), before, "and nobody writes it")
        busy(1)
        tensor.delete()
        equal((s.held, pending(s)), (1, (1, 0)), "the GPU may still read it")
        s.read().close()
        equal((s.held, pending(s)), (1, (1, 0)), "nothing hurries while most slots are free")
        other = s.read()
        Tensor(other).delete()
        del other
        s.read().close()
        equal((s.held, pending(s)), (2, (0, 1)), "then one event is behind all")
        busy(0)
        for _ in range(10):
            s.read().close()
        equal((s.held, pending(s)), (0, (0, 0)), "and they go back")
        collected = []
        gc.callbacks.append(lambda phase, _: collected.append(phase))
        gc.disable()
        for f in itertools.islice(s, 8): # each waits as the next ones are read
            Tensor(f).delete()
        del f
        gc.enable()
        gc.callbacks.pop()
        check(len(s._slots.waiting) <= 4, "a full pool waits for the GPU")
        equal(collected, [], "and not for the garbage collector")
        while s._slots.settle(True, True):
            pass
        own = s.read()
        Tensor(own, 7).delete()
        del own
        equal((s.held, pending(s)), (1, (0, 1)), "a stream of the program's own is marked at once")
        held = [Tensor(s.read()) for _ in range(4)]
        raises(pelton.SlotsExhausted, s.read, "holds all 4 slots")
        for tensor in held:
            tensor.delete()
        check(s.read() is not None, "it goes on")


def shared(path):
    """One event is behind the slots of all streams."""
    before = fake("fake_recorded")
    busy(1)
    with pelton.open(path, "cuda", slots=4, loop=True) as one, \
            pelton.open(path, "cuda", slots=4, loop=True) as other:
        for s in (one, one, other):
            frame = s.read()
            Tensor(frame).delete()
            del frame
        one.read().close()
        equal((pending(one), pending(other)), ((0, 1), (0, 1)), "both wait for the GPU")
        check(one._slots.waiting[0][0][0] is other._slots.waiting[0][0][0]
              and fake("fake_recorded") == before + 1, "for the same event")
        busy(0)
        for _ in range(8):
            one.read().close()
        equal((one.held, other.held), (0, 0), "a read of either gives the slots of both back")


def abandoned(path):
    """A stream that the program forgets with slots of it under way."""
    s = pelton.open(path, "cuda", slots=4)
    frame = s.read()
    Tensor(frame).delete()
    del frame, s
    gc.collect()
    equal(fake("fake_imports"), 0, "a forgotten stream leaves nothing")


def batches(args, daemon, path):
    """One tensor of several frames, whose slots go back together."""
    want = framemd5(args, daemon, path)
    with pelton.open(path, "cuda", batch=8, slots=16) as s:
        batch = s.read()
        plane, first = batch.planes[0], batch[0].planes[0]
        pitch = batch[1].planes[0].address - first.address
        equal((plane.shape, plane.strides, plane.dtype), ((8, 66, 98), (pitch,) + first.strides,
                                                          first.dtype), "a plane of all frames")
        tensor = Tensor(batch)
        equal(tensor.managed.data, first.address, "DLPack gives it, from its first frame on")
        equal(tensor.managed.shape[:tensor.managed.ndim], [8, 66, 98], "with three dimensions")
        got = [md5(f) for f in batch]
        raises(TypeError, lambda: batch.__array__(), "in memory of the GPU")
        del batch, plane, first
        gc.collect()
        equal(s.held, 8, "a tensor holds the slots of its batch")
        tensor.delete()
        equal((s.held, pending(s)), (8, (1, 0)), "the GPU may still read them")
        for batch in s:
            got += [md5(f) for f in batch]
        equal(got, want, "frames of batches")
        del batch
        gc.collect()
        while s._slots.settle(True, True):
            pass
        equal((s.held, pending(s)), (0, (0, 0)), "then all go back")


def life(path):
    """Memory stays with its tensors, after stream and daemon's pool, and not longer."""
    gc.collect()
    equal((fake("fake_imports"), fake("fake_contexts"), fake("fake_events")), (0, 0, 0),
          "closed streams leave nothing")
    s = pelton.open(path, "cuda")
    tensor = Tensor(s.read())
    before = tensor.rows()
    s.close()
    del s
    gc.collect()
    equal((tensor.rows(), fake("fake_imports")), (before, 1), "a tensor outlives its stream")
    tensor.delete()
    gc.collect()
    equal((fake("fake_imports"), len(os.listdir("/proc/self/fd"))), (0, life.descriptors),
          "then import and descriptors are gone")


def killed_worker(args, daemon, folder):
    path = clip(folder, "long.mp4", "-x264-params", "keyint=10", frames=120)
    want = framemd5(args, daemon, path)
    with pelton.open(path, "cuda", slots=4) as s:
        got = [(f.sequence, md5(f), f.epoch) for f in itertools.islice(s, 9)]
        held = s.read()
        before = md5(held)
        for pid in t.workers(daemon.process.pid):
            os.kill(pid, signal.SIGKILL)
        got += [(f.sequence, md5(f), f.epoch) for f in s]
        equal(md5(held), before, "a frame of before is as it was")
        equal([g[0] for g in got], [n for n in range(120) if n != held.sequence], "none is missing")
        check(all(g[1] == want[g[0]] for g in got), "no frame is wrong")
        check(len({g[2] for g in got}) == 2, "a new epoch began")


def without_cuda(path):
    """In a process of its own: the fake is not there, or is another GPU."""
    program = ("import pelton\n"
               "try:\n    pelton.open(%r, 'cuda').read()\n"
               "except pelton.NoDevice as e:\n    print(e.cause, '|', e.hint)" % path)
    run = lambda **env: subprocess.run([sys.executable, "-c", program], capture_output=True,
                                       text=True, timeout=t.LIMIT_S, env={
                                           **os.environ, "PYTHONPATH": str(ROOT / "python"), **env})
    out = run(LD_LIBRARY_PATH="")
    check("libcuda.so.1" in out.stdout or "CUDA" in out.stdout, f"no CUDA: {out.stdout!r}")
    check("| leave device out" in out.stdout, f"with a hint: {out.stderr!r}")
    out = run(FAKE_OTHER_GPU="1")
    check("none of the 1 CUDA devices here is the daemon's |" in out.stdout,
          f"another GPU: {out.stdout!r} {out.stderr!r}")


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as daemon:
        os.environ["PELTON_SOCKET"] = daemon.socket
        path = contents(args, daemon, folder)
        life.descriptors = len(os.listdir("/proc/self/fd"))
        interface(path)
        slots(path)
        shared(path)
        batches(args, daemon, path)
        abandoned(path)
        life(path)
        killed_worker(args, daemon, folder)
        without_cuda(path)
        pelton.close()
    finish()


main()
