# SPDX-License-Identifier: BSD-2-Clause
"""The present packages as an older version of themselves: what an upgrade begins with."""
import os, pathlib, re, subprocess

VERSION = "0.0.1-1"
# In files of the older version alone: its units and its configuration are others.
MARK = "# of the older version\n"
CONFIGURATION = "/etc/pelton/pelton.yaml"
SERVICE = "/usr/lib/systemd/system/peltond.service"


def version_of(deb):
    return subprocess.run(["dpkg-deb", "-f", deb, "Version"], check=True, capture_output=True,
                          text=True).stdout.strip()


def repack(deb, folder):
    """The same package with a lower version, also where it names its siblings'."""
    tree = pathlib.Path(folder) / "tree" / pathlib.Path(deb).name
    tree.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    present = version_of(deb)
    lower = re.sub(r"^[^~]*", VERSION, present)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace(present, lower))
    for path in (CONFIGURATION, SERVICE):
        file = tree / path[1:]
        if file.exists():
            file.write_text(file.read_text() + MARK)
    (tree / "DEBIAN/md5sums").unlink(missing_ok=True)
    out = f"{folder}/{os.path.basename(deb).replace(present, lower)}"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-b", tree, out], check=True,
                   stdout=subprocess.DEVNULL)
    return out
