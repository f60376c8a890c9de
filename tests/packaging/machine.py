# SPDX-License-Identifier: BSD-2-Clause
"""Machines that tests/packages installs into: booted by systemd-nspawn, or a plain chroot."""
import configparser, contextlib, os, shutil, socket, subprocess, time

import roots

BASE = ("dbus", "systemd-sysv") # of a booted machine, as debootstrap's default has them


class Machine:
    """A system in the folder root."""

    def __init__(self, root):
        self.root = root

    def enter(self):
        raise NotImplementedError

    def run(self, *words):
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive",
               "LC_ALL": "C.UTF-8", "HOME": "/root"}
        return subprocess.run([*self.enter(), *words], capture_output=True, text=True, env=env,
                              stdin=subprocess.DEVNULL, timeout=900)

    def run_as(self, user, *words):
        return self.run("runuser", "-u", user, "--", "env", "-C", "/home/" + user,
                        "HOME=/home/" + user, *words)

    def packages(self):
        return self.run("dpkg-query", "-W").stdout.splitlines()


class Booted(Machine):
    """systemd is its first process."""
    kind = "booted by systemd-nspawn"

    def __init__(self, root):
        super().__init__(root)
        # systemd from 256 on refuses cgroups of version 1 without this word
        command = ["systemd-nspawn", "--quiet", "--directory", root, "--register=no",
                   "--keep-unit", "--console=pipe", "--boot", "--",
                   "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1"]
        self.log = open(root + ".log", "w")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=self.log)
        self.leader = None

    def enter(self):
        return ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-p", "-C"]

    def is_up(self, limit=120):
        end = time.monotonic() + limit
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                pids = open(children).read().split()
                self.leader = pids[0] if pids else None
            if self.leader:
                state = self.run("systemctl", "is-system-running").stdout.strip()
                if state in ("running", "degraded"):
                    return True
            time.sleep(0.3)
        return False

    def start_service(self):
        self.run("systemctl", "start", "peltond")

    def restart(self, check):
        """Stops the service, so that the next reader starts it by its socket."""
        show = lambda *names: self.run("systemctl", "show", "--value", "-p", ",".join(names),
                                       "peltond").stdout.split()
        check(show("ActiveState", "User", "Group") == ["pelton", "pelton", "active"],
              f"the service: {show('ActiveState', 'User', 'Group')}")
        said = self.run("stat", "-c", "%A %U %G", "/run/pelton/pelton.sock").stdout.strip()
        check(said == "srw-rw---- pelton pelton", f"the socket: {said}")
        self.run("systemctl", "stop", "peltond.service")
        check(show("ActiveState") == ["inactive"], "systemctl stop peltond")
        said = self.run("systemctl", "is-active", "peltond.socket").stdout.strip()
        check(said == "active", f"peltond.socket: {said}")

    def after_upgrade(self, check):
        """The installation has restarted the service."""
        units = ("peltond.service", "peltond.socket")
        said = self.run("systemctl", "is-active", *units).stdout.split()
        check(said == ["active", "active"], f"upgrade: service and socket: {said}")
        pid = self.run("systemctl", "show", "--value", "-p", "MainPID", "peltond").stdout.strip()
        said = self.run("readlink", f"/proc/{pid}/exe").stdout.strip()
        check(said == "/usr/bin/peltond", f"upgrade: the program that runs: {said}")

    def close(self):
        if self.leader:
            self.run("systemctl", "poweroff")
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Plain(Machine):
    """A chroot. The unit's own command line runs as the unit says."""
    kind = "a chroot; the unit's command line"

    def __init__(self, root):
        super().__init__(root)
        self.mounted = subprocess.run(["mount", "-t", "proc", "proc", root + "/proc"],
                                      capture_output=True).returncode == 0
        self.service = None

    def enter(self):
        return ["chroot", self.root]

    def unit(self, name):
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str
        parser.read(f"{self.root}/usr/lib/systemd/system/{name}")
        return parser

    def ids(self, user):
        """Numbers of a user, its group and its other groups in there."""
        read = lambda path: [l.split(":") for l in open(self.root + path).read().splitlines()]
        uid, gid = next((int(l[2]), int(l[3])) for l in read("/etc/passwd") if l[0] == user)
        return uid, gid, [int(l[2]) for l in read("/etc/group") if user in l[3].split(",")]

    def folder(self, path, mode, uid, gid):
        os.makedirs(self.root + path, exist_ok=True)
        os.chmod(self.root + path, mode)
        os.chown(self.root + path, uid, gid)

    def launch(self, listening=None):
        """As systemd would: folders, user, groups, environment, and a socket to notify."""
        s = self.unit("peltond.service")["Service"]
        uid, gid, more = self.ids(s["User"])
        mode = int(s["RuntimeDirectoryMode"], 8)
        self.folder("/run/" + s["RuntimeDirectory"], mode, uid, gid)
        self.folder("/var/cache/" + s["CacheDirectory"], 0o755, uid, gid)
        heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.root + "/run/notify")
        heard.bind(self.root + "/run/notify")
        os.chmod(self.root + "/run/notify", 0o777)
        heard.settimeout(1)
        env = {"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": "/run/notify",
               **dict(w.split("=", 1) for w in s["Environment"].split())}
        command = s["ExecStart"].split()
        if listening:
            env["LISTEN_FDS"] = "1"
            command = ["/bin/sh", "-c", "LISTEN_PID=$$ exec " + s["ExecStart"]]

        def child():
            if listening:
                os.dup2(listening.fileno(), 3)
                os.set_inheritable(3, True) # dup2 leaves a 3 as it was
            os.chroot(self.root)
            os.chdir("/")
            os.setgroups(more)
            os.setgid(gid)
            os.setuid(uid)

        self.service = subprocess.Popen(command, env=env, preexec_fn=child, close_fds=False,
                                        stdin=subprocess.DEVNULL)
        said, end = "", time.monotonic() + 120
        while "READY=1" not in said and self.service.poll() is None and time.monotonic() < end:
            with contextlib.suppress(TimeoutError):
                said = heard.recv(1000).decode()
        heard.close()
        return "READY=1" in said

    def start_service(self):
        return self.launch()

    def stop_service(self):
        if self.service:
            self.service.terminate()
            self.service.wait(30)
        self.service = None

    def after_upgrade(self, check):
        """Nothing restarts the service here."""
        self.stop_service()
        check(self.launch(), "upgrade: the service starts")

    def restart(self, check):
        """Ends the service, and starts it with the socket that peltond.socket describes."""
        path = self.root + "/run/pelton/pelton.sock"
        s = self.unit("peltond.socket")["Socket"]
        uid, gid, _ = self.ids(s["SocketUser"])
        st = os.stat(path)
        check((st.st_mode & 0o777, st.st_gid) == (0o660, gid),
              f"the socket: {st.st_mode & 0o777:o} {st.st_gid}")
        self.stop_service()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(self.root + s["ListenStream"])
        os.chown(path, uid, gid)
        os.chmod(path, int(s["SocketMode"], 8))
        listening.listen(128)
        check(self.launch(listening), "it starts on the socket of peltond.socket")
        listening.close()

    def close(self):
        self.stop_service()
        if self.mounted:
            subprocess.run(["umount", self.root + "/proc"])


def can_boot():
    return shutil.which("systemd-nspawn") and shutil.which("nsenter")


@contextlib.contextmanager
def start(tar, root, plain):
    """A fresh machine out of a bare system; the best that works here."""
    roots.unpack(tar, root)
    m = None
    if not plain and can_boot():
        chroot = Machine(root)
        chroot.enter = lambda: ["chroot", root]
        chroot.run("apt-get", "update", "-qq")
        chroot.run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *BASE)
        m = Booted(root)
        if not m.is_up():
            print("systemd-nspawn does not boot here: " + open(root + ".log").read()[-300:])
            m.close()
            m = None
    m = m or Plain(root)
    try:
        yield m
    finally:
        m.close()
