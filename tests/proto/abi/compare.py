#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""libpelton's binary interface against that of the last release, by libabigail.

  compare.py --release FOLDER --library FILE [--grown FILE --broken FILE]

Structures may grow at their end, functions may come; every other change fails. --grown is a library
whose structures have grown, --broken one with a field in the wrong place: they show that the
comparison sees both. The symbols that the library exports are those that the header marks. Exit
code 77: no abidiff, or another machine than the release's."""
import argparse, pathlib, platform, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import next_header

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Behind opaque pointers: no program sees them.
INSIDE = """[suppress_type]
  name_regexp = ^pelton(_stream|_pool|_queued|_side|_share|_request|_source_change)?$
"""
GROWTH = """
[suppress_type]
  name_regexp = ^(%s)$
  type_kind = struct
  has_data_member_inserted_at = end
  has_size_change = yes
"""


def differences(release, library, rules):
    """None, or abidiff's report."""
    with tempfile.NamedTemporaryFile("w", suffix=".suppr") as f:
        f.write(rules)
        f.flush()
        r = subprocess.run(["abidiff", "--no-added-syms", "--suppressions", f.name, release,
                            library], capture_output=True, text=True, timeout=600)
    if r.returncode & 3:
        raise SystemExit(f"abidiff failed: {r.stderr}{r.stdout}")
    return r.stdout if r.returncode else None


def check_symbols(library):
    text = "".join(h.read_text() for h in next_header.headers(ROOT / "proto"))
    marked = set(re.findall(r"PELTON_API [^;{]*?\b(pelton_\w+)\(", text))
    listed = set(re.findall(r"^\s+(pelton_\w+);", (ROOT / "proto/libpelton.map").read_text(), re.M))
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                         check=True).stdout
    given = set(re.findall(r" T (\w+)@@LIBPELTON_", out))
    assert marked == listed == given, (marked ^ listed, marked ^ given)
    assert not re.findall(r" [TDBRW] (?!\w+@@LIBPELTON_)", out), out


def main():
    p = argparse.ArgumentParser()
    for word in ("release", "library", "grown", "broken"):
        p.add_argument("--" + word)
    args = p.parse_args()
    check_symbols(args.library)
    if not shutil.which("abidiff") or platform.machine() != "x86_64":
        print("no abidiff, or another machine")
        return 77
    names = next_header.growing((ROOT / "proto/pelton_sized.h").read_text())
    growth = INSIDE + GROWTH % "|".join(sorted(names))
    release = args.release + "/libpelton.abixml"
    report = differences(release, args.library, growth)
    if report:
        print(report + "\nPrograms of the last release would not run with this library. Add fields "
              "at the end only, or take the next soname and run scripts/abi-renew --break.")
        return 1
    if args.grown:
        assert differences(release, args.grown, growth) is None, "growth is refused"
        assert differences(release, args.grown, INSIDE), "growth is not seen"
        assert "'uint64_t wrong'" in (differences(release, args.broken, growth) or ""), "not seen"
    print("same interface as", args.release.split("/")[-1])
    return 0


sys.exit(main())
