#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""scripts/wheel with this build's programs: the same bytes twice, every file in RECORD, a name that
says what glibc it needs. Unpacked as pip would, it reads its demo clip with its own daemon.
tests/wheel installs the real one into bare systems.
"""
import base64, csv, hashlib, os, pathlib, re, shutil, subprocess, sys, tarfile, tempfile
import zipfile

from pythontest import ROOT, SKIPPED, check, equal, finish, t

PROGRAMS = ("pelton", "peltond", "peltond-worker") # a static peltond is its own worker

READ = """
import pelton, pathlib
from pelton import _daemon
folder = pathlib.Path(pelton.__file__).parent
assert _daemon.program("peltond") == str(folder / "bin/peltond")
print(sum(1 for _ in pelton.open(folder / "demo.mp4", frames=5)))
"""


def tarball(args, folder):
    """As scripts/static-tarball leaves it, of this build's programs."""
    top = folder + "/pelton-0-linux"
    os.makedirs(top + "/bin")
    os.makedirs(top + "/share/pelton")
    for name in PROGRAMS:
        subprocess.run(["strip", "-o", f"{top}/bin/{name}", f"{args.bin}/{name}"], check=True)
    shutil.copy(ROOT / "packaging/demo.mp4", top + "/share/pelton")
    shutil.copy(ROOT / "LICENSE", top)
    for name in ("FFMPEG.txt", "COPYING.LGPLv2.1"):
        pathlib.Path(top, name).write_text(name)
    with tarfile.open(folder + "/programs.tar.gz", "w:gz") as tar:
        tar.add(top, "pelton-0-linux")
    return folder + "/programs.tar.gz"


def make(programs, folder):
    subprocess.run([ROOT / "scripts/wheel", "--programs", programs, folder], check=True,
                   stdout=subprocess.DEVNULL)
    wheel, = pathlib.Path(folder).glob("*.whl")
    return wheel


def record(wheel):
    """Every file has its line with its hash and size."""
    with zipfile.ZipFile(wheel) as z:
        name, = (n for n in z.namelist() if n.endswith("/RECORD"))
        lines = list(csv.reader(z.read(name).decode().splitlines()))
        digest = lambda data: "sha256=" + base64.urlsafe_b64encode(
            hashlib.sha256(data).digest()).rstrip(b"=").decode()
        want = [[n, digest(z.read(n)), str(len(z.read(n)))] for n in z.namelist() if n != name]
        equal(lines, want + [[name, "", ""]], f"{len(lines)} files of RECORD")
        modes = [z.getinfo(f"pelton/bin/{n}").external_attr >> 16 for n in PROGRAMS]
        equal(modes, [0o100755] * len(PROGRAMS), "programs may be run")
        text = z.read("pelton/pelton.proto")
        equal(text, (ROOT / "proto/pelton.proto").read_bytes(), "pelton.proto is the tree's")


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as z:
        z.extractall(folder)
    for name in PROGRAMS:
        os.chmod(f"{folder}/pelton/bin/{name}", 0o755)


def main():
    args = t.parser(__doc__).parse_args()
    if not shutil.which("strip") or not shutil.which("objdump"):
        print("skipped: no binutils")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        programs = tarball(args, folder)
        wheel, again = make(programs, folder + "/one"), make(programs, folder + "/two")
        check(wheel.read_bytes() == again.read_bytes(), "the same bytes twice")
        check(re.fullmatch(r"pelton-[\d.]+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name),
              wheel.name)
        record(wheel)
        unpack(wheel, folder + "/site")
        env = {**os.environ, "PYTHONPATH": folder + "/site", "PELTON_CONFIG_DEVICE": args.device}
        run = subprocess.run([sys.executable, "-c", READ], env=env, cwd=folder,
                             capture_output=True, text=True)
        equal((run.stdout.strip(), run.stderr), ("5", ""), "frames of its demo clip")
        words = "import sys; sys.argv = ['pelton', 'version']; from pelton import _program; " \
                "_program.pelton()"
        run = subprocess.run([sys.executable, "-c", words], env=env, cwd=folder,
                             capture_output=True, text=True)
        check(run.returncode == 0 and "0." in run.stdout, f"its command: {run.stdout.strip()}")
        bad = subprocess.run([ROOT / "scripts/wheel", "--programs", folder + "/none", folder],
                             capture_output=True, text=True)
        check(bad.returncode == 1 and "hint: " in bad.stderr, bad.stderr.strip())
    finish()


sys.exit(main())
