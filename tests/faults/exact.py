# SPDX-License-Identifier: BSD-2-Clause
"""Readers that want each frame of a clip exactly once and in order, and the checks around them.

The clip is carried with the hashes of its frames, which are FFmpeg's: no other program is needed.
It has 400 frames of 64x64 samples and an IDR picture at each 20th.
"""
import os, pathlib, shutil, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import peltontest as t
from peltontest import check

CLIP = str(HERE / "clip.mp4")
TRUTH = str(HERE / "clip.framemd5")


def frame_lines(text):
    return [line for line in text.splitlines(True) if line[0] != "#"]


def clip_truth(args):
    """The lines of framemd5. Where there is an FFmpeg, it says the same."""
    truth = frame_lines(pathlib.Path(TRUTH).read_text())
    if shutil.which(args.ffmpeg):
        check(frame_lines(t.ffmpeg_framemd5(args, CLIP)) == truth, "FFmpeg has the same hashes")
    return truth


class Reader:
    """A lossless reader of the clip, again and again until it is stopped. truth: the lines of its
    frames, each compared as it comes."""

    def __init__(self, args, daemon, truth):
        self.args, self.daemon, self.truth = args, daemon, truth
        self.frames, self.wrong, self.pause = 0, None, 0
        self.start()

    def start(self):
        self.run = subprocess.Popen(
            [self.args.bin + "/pelton", "decode", "--socket", self.daemon.socket, "-loglevel",
             "error", "-i", CLIP, "-frames:v", str(len(self.truth)), "-f", "framemd5", "-"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            pipesize=4096) # few lines wait unread
        self.at = 0

    def end(self):
        """Of this run, which has said all. Not communicate: lines may be buffered."""
        said = self.run.stderr.read().strip()
        if self.run.wait(self.args.timeout) or self.at != len(self.truth):
            self.wrong = self.wrong or "exit %d after %d frames: %s" % (self.run.returncode,
                                                                        self.at, said)

    def frame(self):
        """The next one of this run. False: there is none."""
        line = self.run.stdout.readline()
        if not line:
            return False
        if line[0] != "#":
            want = self.truth[self.at] if self.at < len(self.truth) else None
            if line != want:
                self.wrong = self.wrong or "frame %d is %r, not %r" % (self.at, line, want)
            self.at += 1
            self.frames += 1
        return True

    def read(self, count):
        """So many frames more, by as many runs as that takes. False: something is wrong."""
        until = self.frames + count
        while self.frames < until and not self.wrong:
            begun = time.monotonic()
            if self.frame():
                self.pause = max(self.pause, time.monotonic() - begun)
            else:
                self.end()
                self.start()
        return not self.wrong

    def rest(self):
        """What is wrong with this run, or None."""
        while self.frame():
            pass
        self.end()
        return self.wrong

    def stop(self):
        self.run.kill()
        self.run.communicate()


def readers(args, daemon, *more, clip=CLIP):
    """Many readers in one process, of the newest frame (readers.c)."""
    return subprocess.Popen([args.bin + "/readers", "-s", daemon.socket, "-c", clip, "-t", TRUTH,
                             *map(str, more)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def resources(daemon):
    """Descriptors, and resident KiB."""
    pid = daemon.process.pid
    pages = int(open("/proc/%d/statm" % pid).read().split()[1])
    return len(os.listdir("/proc/%d/fd" % pid)), pages * 4
