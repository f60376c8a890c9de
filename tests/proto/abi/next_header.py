#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""libpelton's header as a later version may have it, for tests.

  next_header.py [--break] FROM TO

Each structure that a call takes or gives gets 32 bytes more at its end (pelton.h, "Growth"). With
--break struct pelton_frame gets a field at its beginning, as no version may have it."""
import pathlib, re, sys

OWNED = {"pelton_side_data"}  # by the library, and it grows
OPAQUE = {"pelton", "pelton_stream"}


def headers(folder):
    """pelton.h, and what it includes of libpelton."""
    return [folder / "pelton.h", *sorted(folder.glob("pelton_*.h"))]


def growing(sized):
    """The structures of the functions that pass a size."""
    calls = re.findall(r"pelton_\w+_sized\(([^;{]*)\);", sized)
    found = {n for c in calls for n in re.findall(r"struct (\w+) \*", c)}
    return found - OPAQUE | OWNED


def main():
    words = [w for w in sys.argv[1:] if w != "--break"]
    breaks = len(words) < len(sys.argv) - 1
    source, target = map(pathlib.Path, words)
    target.mkdir(parents=True, exist_ok=True)
    names, done = growing((source / "pelton_sized.h").read_text()), set()
    for header in headers(source):
        text = header.read_text()
        for name in names:
            head = f"\nstruct {name} {{\n"
            if head not in text:
                continue
            done.add(name)
            start = text.index(head) + len(head)
            end = text.index("\n};", start) + 1
            more = "" if breaks else "    uint64_t next_version[4];\n"
            text = text[:end] + more + text[end:]
            if breaks and name == "pelton_frame":
                text = text[:start] + "    uint64_t wrong;\n" + text[start:]
        (target / header.name).write_text(text)
    assert len(done) > 10 and done == names, names ^ done
    return 0


if __name__ == "__main__":
    sys.exit(main())
