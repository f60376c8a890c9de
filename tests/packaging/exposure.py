#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""How much systemd says that the service is exposed: as installed, with network sources, and with
the drop-in no-network.conf. Without systemd-analyze the exit code is 77."""
import pathlib, re, shutil, subprocess, sys, tempfile

PACKAGING = pathlib.Path(__file__).resolve().parents[2] / "packaging"
MOST = {None: 1.3, "no-network.conf": 0.6}


def exposure(folder, drop_in):
    """The figure, and the lines that make it."""
    unit = folder / "peltond.service"
    shutil.copy(PACKAGING / unit.name, unit)
    more = folder / "peltond.service.d"
    shutil.rmtree(more, ignore_errors=True)
    if drop_in:
        more.mkdir()
        shutil.copy(PACKAGING / "drop-ins" / drop_in, more)
    out = subprocess.run(["systemd-analyze", "security", "--no-pager", "--offline=true", unit],
                         capture_output=True, text=True)
    figure = re.search(r"exposure level for peltond.service: ([0-9.]+)", out.stdout)
    if not figure:
        print(out.stdout + out.stderr)
        return 10.0, []
    return float(figure[1]), [l for l in out.stdout.splitlines() if re.search(r" 0\.[0-9]$", l)]


def main():
    if not shutil.which("systemd-analyze"):
        print("skipped: no systemd-analyze here")
        return 77
    bad = False
    with tempfile.TemporaryDirectory() as folder:
        for drop_in, most in MOST.items():
            figure, lines = exposure(pathlib.Path(folder), drop_in)
            good = figure <= most
            bad |= not good
            print(f"{'passed' if good else 'FAILED'}: {drop_in or 'as installed'}: {figure}, "
                  f"at most {most}")
            print("\n".join(lines))
    return 1 if bad else 0


sys.exit(main())
