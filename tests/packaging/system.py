# SPDX-License-Identifier: BSD-2-Clause
"""A bare system in a folder, with the source tree at /root/pelton."""
import os, subprocess

import roots

# Mounts of a name space of its own: nothing stays mounted, whatever becomes of the test.
ENTER = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
         "mount -t proc proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && "
         "{ [ -z \"$1\" ] || mount --bind -o ro \"$1\" \"$0$2\"; } && root=$0 && shift 2 && "
         "exec chroot \"$root\" \"$@\""]
TREE = "/root/pelton"


class System:
    """shown: a folder of ours that the system sees, at a path of its own; not to be written."""

    def __init__(self, root, shown="", at=""):
        self.root, self.shown, self.at = root, str(shown), at

    def unpack(self, tar):
        roots.unpack(tar, self.root)
        os.makedirs(self.root + self.at, exist_ok=True)

    def run(self, *words, env=None, **more):
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
               **(env or {})}
        return subprocess.run([*ENTER, self.root, self.shown, self.at, *words], env=env, text=True,
                              stdin=subprocess.DEVNULL, **more)

    def must(self, *words):
        if self.run(*words, capture_output=True).returncode:
            raise roots.Unavailable("it failed: " + " ".join(words))

    def packages(self):
        names = self.run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n",
                         capture_output=True).stdout.splitlines()
        return sum(name.endswith(" installed") for name in names)

    def copy_tree(self):
        """What git lists here, and new files that it does not ignore."""
        listed = "git ls-files -z --cached --others --exclude-standard"
        copy = f"{listed} | tar c --null --ignore-failed-read -T - | tar x -C \"$0\""
        os.makedirs(self.root + TREE)
        subprocess.run(["sh", "-c", copy, self.root + TREE], cwd=roots.ROOT, check=True)
