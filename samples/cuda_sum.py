#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sums the samples of each frame on the GPU that decoded it, with PyTorch. All files are read side
by side. Nothing is copied: a tensor is the decoder's own memory.

  cuda_sum.py FILE...             prints file, frame and sum, then frames a second to stderr
  cuda_sum.py --host FILE...      the same of frames in host memory, by numpy
  cuda_sum.py --expect SUMS FILE...   compares with sums that were printed before
  cuda_sum.py --quiet FILE...     prints no sums

With --batch N a tensor has so many frames. With --processes N that many processes share the files.
They need a running daemon.
"""
import argparse, multiprocessing, os, sys, time

import pelton


def open_file(path, args):
    """With --frames a short file is read again and again."""
    return pelton.open(path, None if args.host else "cuda", frames=args.frames,
                       loop=args.frames > 0, batch=args.batch)


def frames_of(read):
    """Of a frame or a batch."""
    return list(read) if isinstance(read, pelton.Batch) else [read]


class HostSums:
    def __init__(self, path, args):
        self.stream, self.path, self.sums = open_file(path, args), path, []

    def add(self, frame):
        self.sums += [sum(int(plane.sum()) for plane in f.planes) for f in frames_of(frame)]

    def totals(self):
        return self.sums


class CudaSums:
    """Sums stay on the GPU until the end, so that the CPU waits for none of them."""
    ROOM = 4096

    def __init__(self, path, args):
        self.stream, self.path, self.count = open_file(path, args), path, 0
        self.blocks, self.parts, self.used = [], [], 0  # tensors of sums, and how many each has

    def add(self, frame):
        import torch
        n = len(frames_of(frame))
        if not self.blocks or self.used + n > self.ROOM:
            self.blocks.append(torch.zeros(self.ROOM, 4, dtype=torch.int64, device="cuda"))
            self.parts.append(0)
            self.used = 0
        for p, plane in enumerate(frame.planes):
            tensor = torch.from_dlpack(plane).reshape(n, *plane.shape[-2:])
            torch.sum(tensor, (1, 2), dtype=torch.int64,
                      out=self.blocks[-1][self.used:self.used + n, p])
        self.used += n
        self.parts[-1] = self.used
        self.count += n

    def totals(self):
        import torch
        if not self.blocks:
            return []
        sums = [block[:n].sum(1) for block, n in zip(self.blocks, self.parts)]
        return torch.cat(sums).cpu().tolist()


class NoSums(CudaSums):
    """Frames are announced and given back."""

    def add(self, frame):
        self.count += len(frames_of(frame))

    def totals(self):
        return [0] * self.count


def read(paths, args):
    """The sums of each file, the seconds from the first frame to the last sum, and the bytes that
    crossed the bus."""
    kind = HostSums if args.host else NoSums if args.no_sums else CudaSums
    readers = [kind(path, args) for path in paths]
    going, began = list(readers), None
    while going:
        # One frame or batch of each file, then all their sums: two processes take turns on a GPU,
        # and each turn costs the decoder milliseconds, so few turns are better than many.
        round_ = [(reader, reader.stream.read()) for reader in going]
        began = began or time.monotonic()
        for reader, frame in round_:
            if frame is None:
                going.remove(reader)
                continue
            with frame:
                reader.add(frame)
    sums = [(r.path, r.totals()) for r in readers]
    seconds = time.monotonic() - (began or time.monotonic())
    bus = 0
    for reader in readers:
        stats = reader.stream.stats()
        bus += stats.bytes_uploaded + stats.bytes_delivered
        reader.stream.close()
    return sums, seconds, bus


def read_all(args):
    """By several processes, whose times run side by side: the slowest counts."""
    if args.processes < 2:
        return read(args.files, args)
    shares = [(args.files[n::args.processes], args) for n in range(args.processes)]
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        parts = pool.starmap(read, [share for share in shares if share[0]])
    return (sum((part[0] for part in parts), []), max(part[1] for part in parts),
            sum(part[2] for part in parts))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("files", nargs="+")
    p.add_argument("--host", action="store_true")
    p.add_argument("--expect", help="lines of FILE FRAME SUM; the file is found by its last name")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--no-sums", action="store_true", help="frames are only read")
    p.add_argument("--frames", type=int, default=0, help="of each file, which is read in a loop")
    p.add_argument("--processes", type=int, default=1)
    p.add_argument("--batch", type=int, default=1, help="frames that are one tensor")
    args = p.parse_args()
    try:
        sums, seconds, bus = read_all(args)
    except pelton.Error as e:
        sys.exit(f"cuda_sum: {e.cause}\nhint: {e.hint}")
    lines = [f"{os.path.basename(path)} {n} {total}" for path, totals in sums
             for n, total in enumerate(totals)]
    if not args.quiet:
        print("\n".join(lines))
    frames = len(lines)
    print(f"{frames} frames of {len(sums)} files in {seconds:.2f} s: {frames / seconds:.0f} fps, "
          f"{bus / max(frames, 1) / 1e6:.3f} MB over the bus a frame", file=sys.stderr)
    if args.expect:
        with open(args.expect) as f:
            want = set(f.read().split("\n"))
        wrong = sum(line not in want for line in lines)
        print(f"{frames - wrong} sums are as expected, {wrong} are not", file=sys.stderr)
        sys.exit(bool(wrong) or not lines)


if __name__ == "__main__":
    main()
