# SPDX-License-Identifier: BSD-2-Clause
"""The programs that the wheel carries, as commands."""
from __future__ import annotations

import os
import pathlib
import sys


def run(name: str) -> None:
    path = pathlib.Path(__file__).parent / "bin" / name
    try:
        os.execv(path, [name, *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"{name}: {path}: {e.strerror}\nhint: install the wheel that carries it")


def pelton() -> None:
    run("pelton")


def peltond() -> None:
    run("peltond")
