#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clips are the frames of a whole decode, in files of constant and of variable rate, without an
index, and with sound that begins earlier. VideoCapture beside OpenCV's own: the same number of
pictures, within some levels, and the same places. OpenCV's sample programs run with it. PNG and
contact sheets are read back.
"""
import os, pathlib, pickle, runpy, struct, subprocess, sys, tempfile

from pythontest import arguments, check, clip, equal, finish, raises, t
import numpy as np
import pelton

SAMPLES = pathlib.Path("/usr/share/doc/opencv-doc/examples/python")


def files(folder):
    """Name and path: one second of 25 frames in several shapes."""
    gop = ("-x264-params", "keyint=10:bframes=2", "-video_track_timescale", "12800")
    yield "mp4", clip(folder, "even.mp4", *gop, frames=25)
    yield "ntsc", clip(folder, "ntsc.mp4", *gop[:2], frames=25, rate="30000/1001")
    yield "mkv", clip(folder, "even.mkv", *gop[:2], frames=25)
    yield "raw", clip(folder, "raw.264", *gop[:2], frames=25)
    yield "variable", clip(folder, "variable.mp4", *gop, "-vf",
                           "setpts='(N+gt(N,9)*7+gt(N,15)*3)/25/TB'", "-fps_mode", "passthrough",
                           frames=25)
    yield "late", clip(folder, "late.mp4", *gop, "-output_ts_offset", "1.5", frames=25)


def clips(folder):
    paths = []
    for name, path in files(folder):
        paths.append(path)
        with pelton.open(path) as s:
            whole = np.stack([f.to_rgb() for f in s])
        equal(len(whole), 25, f"{name}: frames")
        for start, frames, stride in ((0, 4, 1), (7, 5, 2), (11, 3, 4), (24, 1, 1), (10, 15, 1)):
            got = pelton.Clips(path, start, frames, stride)[0]
            want = whole[start:start + frames * stride:stride]
            check(np.array_equal(got, want), f"{name}: {frames} frames from {start}, by {stride}")
        even = pelton._clips.timing_of(path).rate is not None
        if name in ("mp4", "ntsc", "variable", "raw"):
            equal(even, name in ("mp4", "ntsc"), f"{name}: evenly spaced")
        raises(pelton.InputError, lambda: pelton.Clips(path, 20, 6)[0], "ends before frame 25")
    several = pelton.Clips(paths[:2], [0, 5, 9], 2, convert=pelton.Frame.to_bgr, ahead=3)
    again = pickle.loads(pickle.dumps(several))
    equal(len(several), 6, "clips of two files")
    same = [np.array_equal(a, several[i]) for i, a in enumerate(again)]
    equal(same, [True] * 6, "iteration gives them in order, after pickling too")
    raises(IndexError, lambda: several[6], "clip 6 of 6")
    raises(pelton.UsageError, lambda: pelton.Clips(paths, 0, 0), "frames is 0")
    return paths[0], whole


def capture(cv2, path):
    ours, theirs = pelton.VideoCapture(path), cv2.VideoCapture(path)
    check(ours.isOpened() and theirs.isOpened(), "both are open")
    names = ("FRAME_WIDTH", "FRAME_HEIGHT", "FPS", "FRAME_COUNT", "POS_FRAMES")
    value = lambda cap, name: round(cap.get(getattr(cv2, "CAP_PROP_" + name)), 4)
    for name in names:
        equal(getattr(pelton, "CAP_PROP_" + name), getattr(cv2, "CAP_PROP_" + name), name)
    equal([value(ours, n) for n in names], [value(theirs, n) for n in names], "their values")
    worst, n, same = 0, 0, True
    while True:
        (a, p), (b, q) = ours.read(), theirs.read()
        if a != b or not a:
            break
        n += 1
        same = same and p.shape == q.shape and p.dtype == q.dtype
        worst = max(worst, int(np.abs(p.astype(int) - q).max()))
        same = same and value(ours, "POS_FRAMES") == value(theirs, "POS_FRAMES")
    equal((a, b, n), (False, False, 25), "both end together")
    check(same, "shapes, types and numbers are the same")
    check(worst <= 4, f"pictures differ by {worst} levels at most")
    for number in (12, 3, 24):
        equal(ours.set(cv2.CAP_PROP_POS_FRAMES, number), True, f"goes to frame {number}")
        theirs.set(cv2.CAP_PROP_POS_FRAMES, number)
        (a, p), (b, q) = ours.read(), theirs.read()
        check(a and b and int(np.abs(p.astype(int) - q).max()) <= 4, "the same picture there")
        equal(value(ours, "POS_FRAMES"), number + 1, "and the number after it")
    equal(ours.set(cv2.CAP_PROP_BRIGHTNESS, 1), False, "an unknown property is refused")
    check(ours.grab() is False and ours.retrieve() == (False, None), "nothing after the last")
    ours.release()
    check(not ours.isOpened() and ours.read() == (False, None), "released")
    none = pelton.VideoCapture(path + "x")
    check(not none.isOpened() and "No such file" in str(none.error), "an absent file is not open")
    none.setExceptionMode(True)
    raises(pelton.InputError, lambda: none.open(path + "x"), "No such file")


MATRICES = (((-1, 0, 0, 1), 0), ((0, 1, -1, 0), 90), ((-1, 0, 0, -1), 180), ((0, -1, 1, 0), 270),
            ((0, 1, 1, 0), 0)) # of a track's header, and the degrees that OpenCV names


def turned(path, folder):
    """Of a file that turns its pictures they are ffmpeg's."""
    data = pathlib.Path(path).read_bytes()
    told = lambda a, b, c, d: struct.pack(">9i", a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0,
                                          1 << 30)
    at = data.index(told(1, 0, 0, 1), data.index(b"tkhd"))
    for matrix, degrees in MATRICES:
        other = pathlib.Path(folder, "turned.mp4")
        other.write_bytes(data[:at] + told(*matrix) + data[at + 36:])
        want = subprocess.run(["ffmpeg", "-v", "error", "-i", other, "-frames:v", "1", "-pix_fmt",
                               "bgr24", "-f", "rawvideo", "-"], capture_output=True).stdout
        cap = pelton.VideoCapture(other)
        picture = cap.read()[1]
        sides = (cap.get(pelton.CAP_PROP_FRAME_HEIGHT), cap.get(pelton.CAP_PROP_FRAME_WIDTH))
        equal(picture.shape[:2], sides, f"{matrix}: width and height")
        equal(cap.get(pelton.CAP_PROP_ORIENTATION_META), degrees, "its angle")
        want = np.frombuffer(want, np.uint8).reshape(picture.shape)
        worst = int(np.abs(picture.astype(int) - want).max())
        check(worst <= 4, f"a turned picture differs by {worst} levels at most")
    check(cap.set(pelton.CAP_PROP_ORIENTATION_AUTO, 0) and cap.read()[1].shape == (64, 96, 3),
          "CAP_PROP_ORIENTATION_AUTO leaves it")


def samples(cv2, path):
    """Programs of opencv-doc, with the class in place of OpenCV's and without windows."""
    shown = []
    cv2.VideoCapture = pelton.VideoCapture
    for name in ("namedWindow", "destroyAllWindows", "createTrackbar", "setMouseCallback"):
        setattr(cv2, name, lambda *a, **k: None)
    cv2.imshow = lambda name, picture: shown.append(picture.shape)
    cv2.waitKey = lambda delay=0: 27 if len(shown) > 8 else -1
    sys.path.insert(0, str(SAMPLES))
    for name in ("opt_flow.py", "lk_track.py", "dis_opt_flow.py"):
        if not (SAMPLES / name).exists():
            check(False, f"opencv-doc has no {name}")
            continue
        shown.clear()
        sys.argv = [name, path]
        try:
            runpy.run_path(str(SAMPLES / name), run_name="__main__")
        except SystemExit:
            pass
        check(len(shown) > 8 and shown[0][:2] == (120, 160), f"{name} shows {len(shown)} pictures")


def pictures(cv2, folder, path, whole):
    frame = pelton.open(path, frames=1).read()
    decoded = cv2.imdecode(np.frombuffer(frame._repr_png_(), np.uint8), cv2.IMREAD_COLOR)
    check(np.array_equal(decoded, frame.to_bgr()), "the PNG of a frame")
    deep = (np.arange(6 * 5, dtype=np.uint16) * 2111).reshape(6, 5)
    back = cv2.imdecode(np.frombuffer(pelton.show(deep)._repr_png_(), np.uint8), -1)
    check(np.array_equal(back, deep), "16 bits, grey")
    raises(pelton.UsageError, lambda: pelton.show(np.zeros((2, 2)))._repr_png_(), "no picture")
    sheet = pelton.contact_sheet(whole[:5], columns=3, width=304)
    equal(sheet.array.shape, (4 + 2 * (64 + 4), 4 + 3 * (96 + 4), 3), "a sheet of five")
    check(np.array_equal(sheet.array[72:136, 104:200], whole[4]), "the fifth picture in its place")
    sheet = pelton.contact_sheet(path, count=6, columns=3, width=150)
    sheet.save(folder + "/sheet.png")
    equal(cv2.imread(folder + "/sheet.png").shape[1], 4 + 3 * (32 + 4), "a sheet of a file")


def main():
    args = arguments(__doc__)
    with tempfile.TemporaryDirectory() as folder, t.Daemon(args) as daemon:
        os.environ["PELTON_SOCKET"] = daemon.socket
        path, whole = clips(folder)
        turned(path, folder)
        try:
            import cv2
        except ImportError:
            print("skipped: python3-opencv is absent; clips alone were tested")
            finish()
        capture(cv2, path)
        pictures(cv2, folder, path, whole)
        samples(cv2, clip(folder, "flow.mp4", frames=14, size="160x120"))
    finish()


main()
