#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random clips of many files: clips and frames a second, and pictures decoded for each frame.

  clips_speed.py [--clips N] [--files N] [--frames N] [--stride N] [--processes N] [--readers N]
                 [--slots N] [--checked N] [--batch | --steps] [--socket PATH] CLIP...

Copies of the clips stand for many files. Readers are threads, so many in each process; each has one
clip at a time. A first round makes the indexes. The second one is timed, and counts frames alone.
The third one reads the same clips again, or N of them with --checked, and compares each frame with
a decode of the whole file, by hashes. With --batch a clip is one array of frames. --steps tells how
long each step towards a frame takes, and what the reader does with it. Without --socket each
process has a daemon of its own. A daemon needs as many streams as there are readers. Exit code 1: a
frame differs.
"""
import argparse, multiprocessing, os, random, shutil, statistics, sys, tempfile, threading, time

from pythontest import md5
import pelton


def hashes(stream):
    with stream:
        out = []
        for frame in stream:
            out.append((frame.number, md5(frame)))
            frame.close()
        return out


def take(job, args, steps=None):
    """Frames, pictures, seconds until the answer, the first and the last frame. steps gets the
    times of each frame."""
    path, numbers = job
    begin, n, first = time.monotonic(), 0, 0.0
    batch = len(numbers) if args.batch else 1
    with pelton.open(path, at=numbers, batch=batch, slots=args.slots) as stream:
        opened = time.monotonic()
        for got in stream:
            n += len(got) if isinstance(got, pelton.Batch) else 1
            first = first or time.monotonic()
            if steps is not None:
                steps.append({"received": got.received_ns, **got.steps, "decoded": got.decoded_ns,
                              "taken": time.monotonic_ns()})
            got.close()
        end = time.monotonic()
        return n, stream.stats().pictures, opened - begin, first - begin, end - begin


def each(jobs, readers, what):
    """Results in the order of the jobs, by threads."""
    out, left, lock = [None] * len(jobs), list(range(len(jobs))), threading.Lock()

    def run():
        while True:
            with lock:
                if not left:
                    return
                i = left.pop()
            out[i] = what(jobs[i])

    threads = [threading.Thread(target=run) for _ in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def use(socket):
    if socket:
        os.environ["PELTON_SOCKET"] = socket


def process_main(jobs, args, gate, out):
    use(args.socket)
    each(jobs[:1], 1, lambda job: take(job, args)) # the connection
    gate.wait()
    begin, steps = time.monotonic(), [] if args.steps else None
    rows = each(jobs, args.readers, lambda job: take(job, args, steps))
    out.put((begin, time.monotonic(), rows, steps or []))
    gate.wait()
    checked = jobs[:args.checked // args.processes] if args.checked else jobs
    out.put(each(checked, args.readers, lambda job: hashes(pelton.open(job[0], at=job[1]))))


def rounds(jobs, args):
    """Seconds of the timed round, its rows, and the hashes of each job that is checked."""
    context = multiprocessing.get_context("spawn")
    shares = [jobs[n::args.processes] for n in range(args.processes)]
    gate, outs = context.Barrier(args.processes), [context.Queue() for _ in shares]
    started = [context.Process(target=process_main, args=(share, args, gate, out))
               for share, out in zip(shares, outs)]
    for process in started:
        process.start()
    timed = [out.get() for out in outs]
    seconds = max(t[1] for t in timed) - min(t[0] for t in timed)
    got = [None] * len(jobs)
    for n, out in enumerate(outs):
        for i, frames in enumerate(out.get()):
            got[n + i * args.processes] = frames
    for process in started:
        process.join()
    return seconds, [row for t in timed for row in t[2]], got, [s for t in timed for s in t[3]]


def print_steps(frames):
    """From one point in time to the next, of all frames that have both."""
    spans = {}
    for times in frames:
        times.pop("gpu", None)
        points = sorted(times.items(), key=lambda point: point[1])
        for (_, before), (name, at) in zip(points, points[1:]):
            spans.setdefault(name, []).append((at - before) / 1e6)
    for name, ms in spans.items():
        ms.sort()
        print(f"  until {name:14} {statistics.mean(ms):8.3f} ms, p50 {ms[len(ms) // 2]:8.3f}, "
              f"p90 {ms[len(ms) * 9 // 10]:8.3f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, value in (("clips", 1000), ("files", 200), ("frames", 16), ("stride", 2),
                        ("processes", 1), ("readers", 16), ("slots", 0),
                        ("checked", 0)):
        p.add_argument("--" + name, type=int, default=value)
    what = p.add_mutually_exclusive_group()
    what.add_argument("--batch", action="store_true")
    what.add_argument("--steps", action="store_true")
    p.add_argument("--socket", help="of a daemon that runs")
    p.add_argument("clip", nargs="+")
    a = p.parse_args()
    use(a.socket)
    rng = random.Random(1)
    whole = {clip: hashes(pelton.open(clip)) for clip in a.clip}
    with tempfile.TemporaryDirectory() as folder:
        files, jobs, clip_of = [], [], []
        for i in range(a.files):
            files.append((f"{folder}/{i}.mp4", a.clip[i % len(a.clip)]))
            shutil.copy(files[-1][1], files[-1][0])
        begin = time.monotonic()
        each([(f, [0]) for f, _ in files], a.readers, lambda job: take(job, a))
        print(f"indexes of {a.files} files: {time.monotonic() - begin:.2f} s", flush=True)
        for _ in range(a.clips):
            file, clip = rng.choice(files)
            first = rng.randrange(len(whole[clip]) - (a.frames - 1) * a.stride)
            jobs.append((file, range(first, first + a.frames * a.stride, a.stride)))
            clip_of.append(clip)
        seconds, rows, got, steps = rounds(jobs, a)
    bad = sum(g != [whole[clip][n] for n in job[1]] for g, job, clip in zip(got, jobs, clip_of)
              if g is not None)
    checked = sum(g is not None for g in got)
    frames, pictures = (sum(row[i] for row in rows) for i in (0, 1))
    answer, first, last = (1000 * statistics.median(row[i] for row in rows) for i in (2, 3, 4))
    size = sum(os.path.getsize(c) / len(whole[c]) for c in a.clip) / len(a.clip)
    print(f"{a.clips} clips of {a.frames} frames, {size / 1000:.0f} kB a picture of the files: "
          f"{a.clips / seconds:.1f} clips/s, {frames / seconds:.0f} frames/s, "
          f"{pictures / frames:.2f} pictures a frame; median of answer, first, last frame: "
          f"{answer:.1f}, {first:.1f}, {last:.1f} ms; {bad} of {checked} differ")
    print_steps(steps)
    sys.exit(bool(bad) or frames != a.clips * a.frames)


if __name__ == "__main__":
    main()
