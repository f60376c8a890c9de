#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Where a daemon listens without arguments, and which daemon a command takes. Two users and a /run
of their own are needed: the test runs as root in a mount namespace, and is skipped elsewhere.

  sockets.py --bin build/bin
"""
import grp, json, os, pathlib, pwd, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import peltontest as t
from peltontest import check

SYSTEM = "/run/pelton/pelton.sock"
USER = "nobody"
CONFIG = "version: 1\nsources:\n  demo: {uri: \"sim:///clip.mp4\", size: 160x120}\n"


def in_namespace():
    """Runs this script again with a /run of its own. Returns only in there."""
    if "PELTON_NAMESPACE" in os.environ:
        return
    if os.geteuid() != 0:
        print("skipped: two users are needed, run it as root")
        sys.exit(t.SKIPPED)
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "t", "/run"],
                           capture_output=True, text=True)
    if probe.returncode != 0:
        print("skipped: no mount namespace:", probe.stderr.strip())
        sys.exit(t.SKIPPED)
    env = {**os.environ, "PELTON_NAMESPACE": "1"}
    for name in ("PELTON_SOCKET", "XDG_RUNTIME_DIR"):
        env.pop(name, None)
    os.execvpe("unshare", ["unshare", "-m", "sh", "-c",
                           "mount -t tmpfs -o mode=755 t /run && exec \"$@\"", "sh", sys.executable,
                           *sys.argv], env)


class Programs:
    """Programs where everybody may run them, with a configuration."""

    def __init__(self, args, config):
        self.args = args
        self.dir = tempfile.TemporaryDirectory()
        self.path = self.dir.name
        os.chmod(self.path, 0o755)
        for name in ("pelton", "peltond", "peltond-worker"):
            if os.path.exists(args.bin + "/" + name): # static builds have no program for the worker
                shutil.copy(args.bin + "/" + name, self.path)
        self.configure(config)

    def configure(self, text):
        with open(self.path + "/p.yaml", "w") as f:
            f.write(text)

    def command(self, *words, user=None, groups=None):
        drop = []
        if user:
            drop = ["setpriv", "--reuid", user, "--regid", "nogroup",
                    "--groups=" + ",".join(groups) if groups else "--clear-groups"]
        return drop + [self.path + "/" + words[0], *words[1:]]

    def run(self, *words, user=None, groups=None, env=None):
        return subprocess.run(self.command(*words, user=user, groups=groups), capture_output=True,
                              text=True, timeout=self.args.timeout, env={**os.environ,
                                                                         **(env or {})})

    def daemon(self, *words, user=None, env=None):
        return Daemon(self, words, user, env)


class World(Programs):
    """And a folder for the sockets of a user without rights."""

    def __init__(self, args):
        super().__init__(args, CONFIG)
        self.own = "/run/user/nobody"
        os.makedirs(self.own)
        os.chown(self.own, pwd.getpwnam(USER).pw_uid, -1)
        os.chmod(self.own, 0o700)


class Daemon:
    """peltond until the block ends; `said` is its first line."""

    def __init__(self, world, words, user, env):
        self.process = subprocess.Popen(
            world.command("peltond", "-c", world.path + "/p.yaml", *words, user=user),
            stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})

    def __enter__(self):
        self.said = self.process.stderr.readline()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=t.LIMIT_S)


def failed(run, code, *words):
    return run.returncode == code and all(w in run.stderr for w in words)


def system_daemon(w):
    """Root's daemon is the system's. Users outside its group hear which group it is."""
    with w.daemon("-c", "listen.unix.group=video") as d:
        check(d.said == f"peltond: listening on {SYSTEM}\n", f"root: {d.said!r}")
        out = w.run("pelton", "sources")
        check(out.returncode == 0 and "\ndemo " in out.stdout, f"root: {out.stdout!r}")
        said = w.run("pelton", "stats").stdout
        check(said.splitlines()[0].endswith("at " + SYSTEM), f"root: stats: {said!r}")
        said = json.loads(w.run("pelton", "stats", "--json").stdout)
        check(said["socket"] == SYSTEM, f"root: stats --json: {said['socket']}")
        out = w.run("pelton", "sources", "-loglevel", "verbose")
        check(f"daemon: {SYSTEM}" in out.stderr, f"root: verbose: {out.stderr!r}")
        out = w.run("pelton", "sources", user=USER, groups=["video"])
        check(out.returncode == 0 and "\ndemo " in out.stdout, "group video: lists demo")
        line = f"sudo usermod -aG video {USER}"
        for words in (("sources",), ("info", "demo"), ("pipe", "demo"), ("stats",),
                      ("probe", w.path + "/p.yaml")):
            out = w.run("pelton", *words, user=USER)
            check(failed(out, 9, SYSTEM, line), f"no group: {words[0]}: {out.returncode} "
                  f"{out.stderr!r}")
        check("--device auto" in out.stderr, "no group: a file may go to a private daemon")
        out = w.run("pelton", "info", "demo", "--device", "cpu", user=USER)
        check(failed(out, 9, line), "no group: --device makes no private daemon for a name")
        os.chmod("/run/pelton", 0o750)
        os.chown("/run/pelton", 0, grp.getgrnam("audio").gr_gid)
        out = w.run("pelton", "sources", user=USER)
        check(failed(out, 9, f"sudo usermod -aG audio {USER}"), f"folder: {out.stderr!r}")
        out = w.run("pelton", "doctor", user=USER)
        check("usermod -aG audio" in out.stdout, f"folder: doctor: {out.stdout[-400:]!r}")
        os.chmod("/run/pelton", 0o755)


def user_daemon(w):
    """Without rights to /run the daemon and its commands meet in XDG_RUNTIME_DIR."""
    env = {"XDG_RUNTIME_DIR": w.own}
    own = w.own + "/pelton.sock"
    with w.daemon(user=USER, env=env) as d:
        check(d.said == f"peltond: listening on {own}\n", f"user: {d.said!r}")
        out = w.run("pelton", "sources", user=USER, env=env)
        check(out.returncode == 0 and "\ndemo " in out.stdout, f"user: {out.stderr!r}")
        with w.daemon() as system:
            check(system.said.endswith(SYSTEM + "\n"), "both: root's is the system's")
            said = w.run("pelton", "stats", user=USER, env=env).stdout
            check(said.splitlines()[0].endswith("at " + own), "both: the user's goes first")
            said = w.run("pelton", "stats", "--socket", SYSTEM).stdout
            check(said.splitlines()[0].endswith("at " + SYSTEM), "both: --socket goes before")
    out = w.run("peltond", user=USER)
    check(failed(out, 9, "XDG_RUNTIME_DIR is not set", "hint: ", "--socket"),
          f"user without a folder: {out.returncode} {out.stderr!r}")
    # a socket that a killed daemon left behind hides nothing
    with w.daemon(user=USER, env=env) as d:
        d.process.kill()
        d.process.wait()
    check(os.path.exists(own), "left behind: the socket's file is there")
    with w.daemon():
        said = w.run("pelton", "stats", env=env).stdout
        check(said.splitlines()[0].endswith("at " + SYSTEM), f"left behind: {said!r}")


def no_daemon(w):
    """A name never goes to a private daemon in silence; a file may."""
    for words in (("sources",), ("info", "demo"), ("pipe", "demo"), ("set", "demo", "AwbEnable=1")):
        out = w.run("pelton", *words)
        check(failed(out, 8, "no daemon runs", "systemctl start peltond"),
              f"none: {words[0]}: {out.returncode} {out.stderr!r}")
    out = w.run("pelton", "stats")
    check(failed(out, 8, SYSTEM, "start peltond"), f"none: stats: {out.stderr!r}")
    out = w.run("pelton", "info", "demo", "-c", "threads=1")
    check(failed(out, 2, "names no sources"), f"none: -c without sources: {out.stderr!r}")
    out = w.run("pelton", "sources", "-c", "sources.demo.uri=sim:///clip.mp4")
    check(out.returncode == 0 and "\ndemo " in out.stdout, f"none: -c with a source: "
          f"{out.stderr!r}")
    out = w.run("pelton", "probe", w.path + "/p.yaml", "-loglevel", "verbose")
    check("daemon: a private one, as none runs" in out.stderr, f"none: a file: {out.stderr!r}")


def folders(w):
    """Folders of --socket that are missing."""
    deep = w.path + "/a/b/c.sock"
    with w.daemon("--socket", deep) as d:
        check(d.said == f"peltond: listening on {deep}\n", f"folders: {d.said!r}")
    for path, words in (("/run/x/y.sock", "the folder /run/x cannot be made: Permission denied"),
                        ("/run/x.sock", "Permission denied")):
        out = w.run("peltond", "--socket", path, user=USER, env={"XDG_RUNTIME_DIR": w.own})
        check(failed(out, 9, words, f"hint: name a place that this user may write: --socket "
                     f"{w.own}/pelton.sock"), f"folders: {out.returncode} {out.stderr!r}")
    out = w.run("peltond", "--socket", "/run/" + "x" * 120)
    check(failed(out, 2, "longer than 107 bytes"), f"folders: a long path: {out.stderr[-60:]!r}")


def main():
    args = t.parser(__doc__).parse_args()
    args.bin = os.path.abspath(args.bin)
    in_namespace()
    w = World(args)
    for part in (system_daemon, user_daemon, no_daemon, folders):
        part(w)
    sys.exit(t.finish())


if __name__ == "__main__":
    main()
