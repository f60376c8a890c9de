#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clips for the workers of a data loader, for as long as wanted: do descriptors or memory grow?

  loader.py --clip CLIP [--clip CLIP...] [--workers 10] [--minutes 60] [--method fork|spawn]
            [--socket PATH]

With PyTorch its DataLoader runs the workers, else multiprocessing's Pool does. Each item says how
many descriptors and how much memory its worker has. The last tenth of the run is compared with the
tenth after the first one. Exit code 1: a worker has more descriptors, or 5 % and 8 MiB more memory.
Without --socket each worker has a daemon of its own.
"""
import argparse, collections, multiprocessing, os, random, time

from pythontest import check, finish
import numpy as np
import pelton


class Items:
    """As a map-style data set: item i is a random clip, as far as the seed i says."""

    def __init__(self, clips, until, count):
        self.files = {c: pelton.open(c).frames or 0 for c in clips}
        self.clips = pelton.Clips(list(clips), 0, 16, 2)
        self.until, self.count = until, count

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        if time.time() > self.until:
            return np.zeros(5, np.int64)
        rng = random.Random(i)
        path = rng.choice(list(self.files))
        span = 1 + (self.clips.frames - 1) * self.clips.stride
        clip = self.clips.read(path, rng.randrange(max(1, self.files[path] - span)))
        resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        return np.array([os.getpid(), len(os.listdir("/proc/self/fd")), resident, len(clip),
                         time.monotonic_ns()], np.int64)


def rows(args, items):
    """The items, by whichever loader is there."""
    try:
        import torch.utils.data as data
    except ImportError:
        print("no PyTorch: multiprocessing's Pool")
        with multiprocessing.get_context(args.method).Pool(args.workers) as pool:
            yield from pool.imap_unordered(items.__getitem__, range(len(items)))
        return
    loader = data.DataLoader(items, batch_size=None, num_workers=args.workers,
                             multiprocessing_context=args.method)
    for row in loader:
        yield np.asarray(row)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--clip", action="append", required=True)
    p.add_argument("--workers", type=int, default=10)
    p.add_argument("--minutes", type=float, default=60)
    p.add_argument("--method", choices=("fork", "spawn"), default="fork")
    p.add_argument("--socket", help="of a daemon that runs")
    p.add_argument("--most-items", type=int, default=10**7)
    args = p.parse_args()
    if args.socket:
        os.environ["PELTON_SOCKET"] = args.socket
    items = Items(args.clip, time.time() + 60 * args.minutes, args.most_items)
    begin, frames, seen = time.monotonic(), 0, collections.defaultdict(list)
    for row in rows(args, items):
        pid, fds, resident, n, now = map(int, row)
        if not pid:
            break
        frames += n
        seen[pid].append((fds, resident))
    wall = time.monotonic() - begin
    print(f"{sum(map(len, seen.values()))} clips, {frames} frames by {len(seen)} workers in "
          f"{wall:.0f} s: {frames / wall:.0f} frames a second")
    for pid, rows_of in seen.items():
        tenth = max(1, len(rows_of) // 10)
        early, late = rows_of[tenth:2 * tenth] or rows_of[:1], rows_of[-tenth:]
        fds, late_fds = max(r[0] for r in early), max(r[0] for r in late)
        memory, late_memory = (max(r[1] for r in part) for part in (early, late))
        check(late_fds <= fds and late_memory < memory * 1.05 + (8 << 20),
              f"worker {pid}: {len(rows_of)} clips, descriptors {fds} and {late_fds}, memory "
              f"{memory >> 20} and {late_memory >> 20} MiB")
    check(len(seen) == args.workers, "every worker worked")
    finish()


if __name__ == "__main__":
    main()
