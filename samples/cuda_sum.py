#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sums the samples of each frame on the GPU that decoded it, with PyTorch or a kernel of CUDA. All
files are read side by side. Nothing is copied: a tensor is the decoder's own memory.

  cuda_sum.py FILE...             prints file, frame and sum, then frames a second to stderr
  cuda_sum.py --with cupy FILE... the same by a kernel, through CuPy
  cuda_sum.py --host FILE...      the same of frames in host memory, by numpy
  cuda_sum.py --expect SUMS FILE...   compares with sums that were printed before
  cuda_sum.py --quiet FILE...     prints no sums

With --batch N a tensor has so many frames. Two processes take turns on a GPU, and each turn costs
the decoder time, so few turns with many frames are the fastest. With --processes N that many
processes share the files; start one peltond for them before.
"""
import argparse, multiprocessing, os, sys, time

import pelton


def open_file(path, args):
    """With --frames a short file is read again and again."""
    return pelton.open(path, None if args.host else "cuda", frames=args.frames,
                       loop=args.frames > 0, batch=args.batch, slots=args.slots)


def frames_of(read):
    """Of a frame or a batch."""
    return list(read) if isinstance(read, pelton.Batch) else [read]


class NoSums:
    """Frames are announced and given back."""

    @staticmethod
    def prepare():
        pass

    def __init__(self, path, args):
        self.stream, self.path, self.count = open_file(path, args), path, 0

    @staticmethod
    def add(turn):
        for reader, read in turn:
            reader.count += len(frames_of(read))

    def totals(self):
        return [0] * self.count


class HostSums(NoSums):
    def __init__(self, path, args):
        super().__init__(path, args)
        self.sums = []

    @staticmethod
    def add(turn):
        for reader, read in turn:
            reader.sums += [sum(int(plane.sum()) for plane in f.planes) for f in frames_of(read)]

    def totals(self):
        return self.sums


class TorchSums(NoSums):
    """Sums stay on the GPU until the end, so that the CPU waits for none of them."""
    ROOM = 4096

    def __init__(self, path, args):
        super().__init__(path, args)
        self.blocks, self.used = [], []  # arrays of sums, (frames, planes), and how many each has

    @staticmethod
    def zeros(shape):
        import torch
        return torch.zeros(shape, dtype=torch.int64, device="cuda")

    @classmethod
    def prepare(cls):
        """The library and its kernels are loaded before the clock runs."""
        import torch
        for shape in ((1, 1080, 1920), (2, 16, 16)):
            planes = torch.zeros(shape, dtype=torch.uint8, device="cuda")
            torch.sum(planes, (1, 2), dtype=torch.int64, out=cls.zeros((len(planes), 4))[:, 0])
        torch.cuda.synchronize()

    def room(self, frames):
        """Of the next frames."""
        if not self.blocks or self.used[-1] + frames > self.ROOM:
            self.blocks.append(self.zeros((self.ROOM, 4)))
            self.used.append(0)
        first = self.used[-1]
        self.used[-1] += frames
        return self.blocks[-1][first:first + frames]

    @classmethod
    def add(cls, turn):
        import torch
        for reader, read in turn:
            n = len(frames_of(read))
            out = reader.room(n)
            for p, plane in enumerate(read.planes):
                tensor = torch.from_dlpack(plane).reshape(n, *plane.shape[-2:])
                torch.sum(tensor, (1, 2), dtype=torch.int64, out=out[:, p])

    def totals(self):
        return sum((block[:n].sum(1).tolist() for block, n in zip(self.blocks, self.used)), [])


KERNEL = r"""
struct plane { long long at, frames, pitch, height, stride, width, out; };
struct planes { plane of[64]; };

/* A block sums some rows of a plane of a frame; four samples are one word. */
extern "C" __global__ void sum_planes(planes all)
{
    plane p = all.of[blockIdx.z];
    long long frame = p.at + blockIdx.y * p.pitch;
    if (blockIdx.y >= p.frames)
        return;
    unsigned sum = 0;
    for (long long y = blockIdx.x; y < p.height; y += gridDim.x) {
        const unsigned char *row = (const unsigned char *)(frame + y * p.stride);
        for (int x = threadIdx.x; x < p.width / 4; x += blockDim.x)
            sum = __dp4a(((const unsigned *)row)[x], 0x01010101u, sum);
        if (threadIdx.x < p.width % 4)
            sum += row[p.width - 1 - threadIdx.x];
    }
    for (int n = 16; n; n /= 2)
        sum += __shfl_down_sync(~0u, sum, n);
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)p.out + 4 * blockIdx.y, (unsigned long long)sum);
}
"""


class CupySums(TorchSums):
    """One kernel sums the planes of all files, so that a turn is as short as it can be."""
    MOST = 64  # planes

    @staticmethod
    def zeros(shape):
        import cupy
        return cupy.zeros(shape, cupy.int64)

    @classmethod
    def prepare(cls):
        import cupy, numpy
        cls.kernel = cupy.RawKernel(KERNEL, "sum_planes")
        cls.table = numpy.dtype([("of", "<i8", (cls.MOST, 7))])
        block = cls.zeros((cls.ROOM, 4))
        cls.launch([(block.data.ptr, 1, 0, 16, 32, 32, block.data.ptr)])
        cupy.cuda.Device().synchronize()

    @classmethod
    def launch(cls, planes):
        import numpy
        table = numpy.zeros((), cls.table)
        table["of"][:len(planes)] = planes
        cls.kernel((16, max(p[1] for p in planes), len(planes)), (256,), (table,))

    @classmethod
    def add(cls, turn):
        planes = []
        for reader, read in turn:
            n = len(frames_of(read))
            out = reader.room(n)
            for p, plane in enumerate(read.planes):
                address = plane.__cuda_array_interface__["data"][0]
                pitch = plane.strides[0] if len(plane.shape) > 2 else 0
                planes.append((address, n, pitch, plane.shape[-2], plane.strides[-2],
                               plane.shape[-1], out.data.ptr + 8 * p))
        for first in range(0, len(planes), cls.MOST):
            cls.launch(planes[first:first + cls.MOST])


KINDS = {"torch": TorchSums, "cupy": CupySums, "none": NoSums}


def read(paths, args):
    """The sums of each file; seconds from the first request to the last sum, and to the first turn,
    for which memory is made; the frames of that turn; the bytes that crossed the bus."""
    kind = HostSums if args.host else KINDS[args.sums]
    kind.prepare()
    began = time.monotonic()
    readers = [kind(path, args) for path in paths]
    going, first, begun = list(readers), 0.0, 0
    while going:
        # One frame or batch of each file, then all their sums.
        turn = [(reader, reader.stream.read()) for reader in going]
        going = [reader for reader, got in turn if got is not None]
        turn = [(reader, got) for reader, got in turn if got is not None]
        if not first:
            first = time.monotonic() - began
            begun = sum(len(frames_of(got)) for _, got in turn)
        kind.add(turn)
        for _, got in turn:
            got.close()
    sums = [(r.path, r.totals()) for r in readers]
    seconds = time.monotonic() - began
    bus = 0
    for reader in readers:
        stats = reader.stream.stats()
        bus += stats.bytes_over_bus
        reader.stream.close()
    return sums, seconds, first, begun, bus


def read_all(args):
    """By several processes, whose times run side by side: the slowest counts."""
    if args.processes < 2:
        return read(args.files, args)
    shares = [(args.files[n::args.processes], args) for n in range(args.processes)]
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        parts = pool.starmap(read, [share for share in shares if share[0]])
    sums, seconds, first, begun, bus = zip(*parts)
    return sum(sums, []), max(seconds), max(first), sum(begun), sum(bus)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("files", nargs="+")
    p.add_argument("--host", action="store_true")
    p.add_argument("--expect", help="lines of FILE FRAME SUM; the file is found by its last name")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--with", dest="sums", choices=KINDS, default="torch",
                   help="none: frames are only read")
    p.add_argument("--frames", type=int, default=0, help="of each file, which is read in a loop")
    p.add_argument("--processes", type=int, default=1)
    p.add_argument("--batch", type=int, default=1, help="frames that are one tensor")
    p.add_argument("--slots", type=int, default=0, help="of each file; 0: the daemon's choice")
    args = p.parse_args()
    try:
        sums, seconds, first, begun, bus = read_all(args)
    except pelton.Error as e:
        sys.exit(f"cuda_sum: {e.cause}\nhint: {e.hint}")
    except ImportError as e:
        sys.exit(f"cuda_sum: {e}\nhint: pip install it, or see --with")
    lines = [f"{os.path.basename(path)} {n} {total}" for path, totals in sums
             for n, total in enumerate(totals)]
    if not args.quiet:
        print("\n".join(lines))
    frames = len(lines)
    print(f"{frames} frames of {len(sums)} files in {seconds:.2f} s: {frames / seconds:.0f} fps, "
          f"{bus / max(frames, 1) / 1e6:.3f} MB over the bus a frame", file=sys.stderr)
    if begun < frames:
        print(f"after the first turn, which came at {first:.2f} s: "
              f"{(frames - begun) / (seconds - first):.0f} fps", file=sys.stderr)
    if args.expect:
        with open(args.expect) as f:
            want = set(f.read().split("\n"))
        wrong = sum(line not in want for line in lines)
        print(f"{frames - wrong} sums are as expected, {wrong} are not", file=sys.stderr)
        sys.exit(bool(wrong) or not lines)


if __name__ == "__main__":
    main()
