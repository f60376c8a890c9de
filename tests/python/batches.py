#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Batches of frames as one array: the same values, numbers and flags as frame by frame; the rest at
the end; slots; the loss of a worker. The sample subscribe takes them by the C library.
"""
import gc, itertools, os, re, signal, subprocess, tempfile

from pythontest import arguments, check, clip, equal, finish, framemd5, md5, raises, t
import numpy as np
import pelton


def same(daemon, path):
    """Of planes and of tensors whose size is no multiple of a page."""
    for wish in ({}, {"pix_fmt": "gray"}, {"size": (50, 34), "dtype": "float16"},
                 {"size": (51, 33), "dtype": "uint8", "layout": "NHWC"},
                 {"format": "gray", "dtype": "float32"}):
        with pelton.open(path, socket=daemon.socket, **wish) as s:
            want = [[p.copy() for p in f.planes] for f in s]
        with pelton.open(path, socket=daemon.socket, batch=8, **wish) as s:
            batches = list(itertools.islice(s, 2))
            equal([len(b) for b in batches], [8, 8], f"{wish}: whole batches")
            got = [[p[i].copy() for p in b.planes] for b in batches for i in range(len(b))]
            each = [[p.copy() for p in f.planes] for b in batches for f in b]
            del batches
            rest = s.read()
            got += [[p[i].copy() for p in rest.planes] for i in range(len(rest))]
            each += [[p.copy() for p in f.planes] for f in rest]
            equal((len(rest), s.slots % 8, s.read()), (4, 0, None), "the rest, and the end")
        alike = lambda a, b: all(np.array_equal(x, y) for x, y in zip(a, b))
        check(len(got) == len(want) and all(map(alike, got, want)), "arrays of batches")
        check(len(each) == len(want) and all(map(alike, each, want)), "frames of batches")


def interface(daemon, path):
    with pelton.open(path, socket=daemon.socket, batch=8, size=(50, 34), dtype="float32",
                     slots=3) as s:
        batch = s.read()
        tensor = np.asarray(batch)
        equal((tensor.shape, s.slots), ((8, 3, 34, 50), 16), "a tensor; two batches at least")
        check(batch.tensor.flags.c_contiguous and not tensor.flags.writeable, "without a gap")
        check(np.array_equal(np.from_dlpack(batch), tensor), "DLPack gives it")
        equal(batch.numbers.tolist(), list(range(8)), "numbers of the frames")
        before, frame = tensor.copy(), batch[5]
        batch.close()
        raises(ValueError, lambda: batch[0], "closed")
        later = s.read()
        raises(pelton.SlotsExhausted, s.read, "all 16 slots")
        check(np.array_equal(tensor, before), "nobody writes what the program holds")
        check(np.array_equal(frame.tensor, before[5]), "nor a frame of it")
        del tensor, batch, frame
        later.close()
        del later
        gc.collect()
        rest = s.read()
        equal((len(rest), s.held), (4, 4), "the rest comes once slots are free")
    with pelton.open(path, socket=daemon.socket, batch=4, at=[19, 3, 3, 5, 0, 7]) as s:
        equal([b.numbers.tolist() for b in s], [[19, 3, 3, 5], [0, 7]], "frames by numbers")
    open_ = lambda **wish: pelton.open(path, socket=daemon.socket, **wish)
    for at, slots in (([19, 3, 3], 3), ([19, 3, 3, 5], 6)): # kept pools may be larger
        with pelton.open(path, socket=daemon.socket, batch=3, at=at) as s:
            got = [n for b in s for n in b.numbers.tolist()]
            equal((got, s.slots), (at, slots), "no more batches than a clip has")
    raises(pelton.UsageError, lambda: open_(batch=257), "257")
    raises(pelton.UsageError, lambda: open_(batch=2, policy="latest"), "batch is 2")
    raises(pelton.UsageError, lambda: open_(batch=2, encoded=True), "batch is 2")
    with open_(batch=2) as s:
        raises(TypeError, lambda: s.read().tensor, "dtype=")
        raises(TypeError, lambda: np.asarray(s.read()), "batch.planes")


def damaged(daemon, folder, path):
    """Each frame keeps its own flag."""
    data = bytearray(open(path, "rb").read())
    place = data.index(b"mdat") + (len(data) - data.index(b"mdat")) // 2
    data[place:place + 40] = bytes(40)
    broken = folder + "/broken.mp4"
    open(broken, "wb").write(data)
    with pelton.open(broken, socket=daemon.socket) as s:
        want = [(f.number, f.damaged) for f in s]
    with pelton.open(broken, socket=daemon.socket, batch=8) as s:
        got = [(int(n), bool(d)) for b in s for n, d in zip(b.numbers, b.damaged)]
    check(any(d for _, d in want) and not all(d for _, d in want), "some frames are damaged")
    equal(got, want, "damaged frames are marked one by one")


def killed_worker(args, daemon, folder):
    path = clip(folder, "long.mp4", "-x264-params", "keyint=10", frames=120)
    want = framemd5(args, daemon, path)
    with pelton.open(path, socket=daemon.socket, batch=8, slots=16) as s:
        facts = lambda b: [(f.sequence, md5(f), f.epoch) for f in b]
        got = facts(s.read())
        for pid in t.workers(daemon.process.pid):
            os.kill(pid, signal.SIGKILL)
        sizes = []
        for batch in s:
            equal(len({f.epoch for f in batch}), 1, f"{batch} is of one epoch")
            got += facts(batch)
            sizes.append(len(batch))
            del batch
        equal([g[0] for g in got], list(range(120)), "no frame is missing")
        check([g[1] for g in got] == want, "and none is wrong")
        check(len({g[2] for g in got}) == 2 and max(sizes) == 8, f"a new epoch: {sizes}")


def by_the_library(args, daemon, path):
    """The sample's lines are the same with batches and without."""
    lines = {}
    for batch in ([], ["8"]):
        run = subprocess.run([args.bin + "/subscribe", path, *batch], capture_output=True,
                             text=True, timeout=t.LIMIT_S,
                             env={**os.environ, "PELTON_SOCKET": daemon.socket})
        check(run.returncode == 0, f"subscribe {batch}: {run.stderr}")
        lines[len(batch)] = run.stdout.splitlines()
    sizes = [int(line.split()[-1]) for line in lines[1] if line.startswith("batch of")]
    equal(sizes, [8, 8, 4], "batches of pelton_next_batch")
    equal([line for line in lines[1] if not line.startswith("batch of")], lines[0], "their frames")
    run = subprocess.run([args.bin + "/subscribe", path, "257"], capture_output=True, text=True,
                         timeout=t.LIMIT_S, env={**os.environ, "PELTON_SOCKET": daemon.socket})
    check(run.returncode == 1 and re.search("out of range", run.stderr), run.stderr)


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as daemon:
        path = clip(folder, "clip.mp4", frames=20)
        same(daemon, path)
        interface(daemon, path)
        damaged(daemon, folder, path)
        killed_worker(args, daemon, folder)
        by_the_library(args, daemon, path)
        equal(daemon.validation_messages(), [], "no validation messages")
    finish()


main()
