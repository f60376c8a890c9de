# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of the Python package: clips, checks, and which package and programs."""
import hashlib, os, pathlib, subprocess, sys

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
import peltontest as t
from peltontest import check

try:
    import numpy, google.protobuf
except ImportError as e:
    print("skipped:", e)
    sys.exit(SKIPPED)

# The environment of the machine names no daemon, and the programs are those of the build.
for name in ("PELTON_SOCKET", "XDG_RUNTIME_DIR"):
    os.environ.pop(name, None)


def equal(got, want, text):
    check(got == want, text if got == want else f"{text}: {got!r}, not {want!r}")


def raises(kind, what, text):
    """The exception of that kind, whose cause holds the text."""
    try:
        what()
    except kind as e:
        check(text in str(e), f"{kind.__name__}: {e}")
        return e
    check(False, f"no {kind.__name__} that says {text!r}")
    return None


def finish():
    sys.exit(t.finish())


def arguments(text):
    """The arguments of a test. Its programs become those that pelton finds."""
    args = t.parser(text).parse_args()
    os.environ["PATH"] = args.bin + ":" + os.environ["PATH"]
    return args


def clip(folder, name, *options, frames=12, size="96x64", rate=25, pix_fmt="yuv420p"):
    """A small clip of x264; the test is skipped where FFmpeg cannot make it."""
    path = f"{folder}/{name}"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
               f"testsrc2=s={size}:r={rate},noise=alls=8", "-frames:v", str(frames), "-pix_fmt",
               pix_fmt, "-c:v", "libx264", *options, path]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print("skipped: ffmpeg makes no clip:", e)
        sys.exit(SKIPPED)
    return path


def md5(frame):
    """As in framemd5: of the planes' samples, one after another."""
    h = hashlib.md5()
    for plane in frame.planes:
        h.update(plane.tobytes())
    return h.hexdigest()


def framemd5(args, daemon, path, *more):
    """The hashes of `pelton decode -f framemd5`."""
    run = t.decode(args, daemon, path, "framemd5", *more)
    if run.returncode:
        raise SystemExit(t.failure(run))
    lines = run.stdout.decode().splitlines()
    return [line.split(",")[-1].strip() for line in lines if not line.startswith("#")]
