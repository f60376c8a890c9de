#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""`run` of a bundle (tests/elsewhere/bundle), in a folder with links in place of its copies: steps
that pass, that fail, that hang, that lack something, and that do not exist.

  check.py --bin DIR --device cpu

Exit codes: 0, 1.
"""
import os, pathlib, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t
from peltontest import check

HANGS = "#!/bin/sh\nexec sleep 600\n"
WITHOUT_LAYERS = "#!/bin/sh\necho VK_LAYER_KHRONOS_validation is not installed: no validation >&2\n"


def make(folder, args):
    for name in ("tests", "samples", "python"):
        os.symlink(t.ROOT / name, folder / name)
    for name in ("bin", "clips"):
        (folder / name).mkdir()
    for name in ("pelton", "peltond"):
        os.symlink(pathlib.Path(args.bin).resolve() / name, folder / "bin" / name)
    (folder / "bin/checkgpu").write_text(HANGS)
    (folder / "bin/checkgpu").chmod(0o755)
    (folder / "commit").write_text("0123abcd\n")
    shutil.copy(t.ROOT / "tests/elsewhere/run", folder / "run")


def run(folder, *words):
    return subprocess.run([folder / "run", "--out", folder / "out", *words], capture_output=True,
                          text=True, timeout=t.patience(120))


def main():
    args = t.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make(folder, args)
        got = run(folder, "--device", args.device, "device", "first-frame")
        check(got.returncode == 0 and "== device: passed" in got.stdout, got.stdout + got.stderr)
        check("== first-frame: skipped, no clip here" in got.stdout, got.stdout)
        check("commit 0123abcd" in got.stdout, got.stdout)
        shutil.copy(t.ROOT / "packaging/demo.mp4", folder / "clips")
        got = run(folder, "--device", args.device, "first-frame", "conformance", "fuzz")
        check(got.returncode == 0 and "== first-frame: passed" in got.stdout, got.stdout)
        check("1 frame, " in (folder / "out/first-frame.log").read_text(), "its log")
        for what in ("streams", "fuzz"):
            check(f": skipped, no {what} here" in got.stdout, got.stdout)
        got = run(folder, "--device", "none-such", "first-frame")
        check(got.returncode == 1 and "== first-frame: FAILED (7)" in got.stdout, got.stdout)
        got = run(folder, "--seconds", "12", "records", "first-frame")
        check(got.returncode == 1 and "== records: FAILED (-9)" in got.stdout and
              "== first-frame: skipped, 0 s are left" in got.stdout, got.stdout)
        (folder / "bin/checkgpu").write_text(WITHOUT_LAYERS)
        got = run(folder, "validation")
        check("== validation: passed without the validation layers" in got.stdout, got.stdout)
        got = run(folder, "nothing")
        check(got.returncode == 2 and "nothing: no such step" in got.stderr, got.stderr)
    return t.finish()


sys.exit(main())
