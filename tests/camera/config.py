#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The configuration while the daemon runs: reloading, watching sources, passwords.

  config.py NAME...
"""
import base64, glob, grp, json, os, pathlib, signal, socket, subprocess, sys, tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import peltontest as t
from camera import Frame, check, make_clip, pelton, start_reader


def wait_for(what):
    return t.wait_until(what, 10)


class Reader:
    """camera_watch on a named source, its lines in a file."""

    def __init__(self, args, daemon, name, *more):
        self.path = args.folder + "/reader-" + name + "".join(more)
        self.process = start_reader(args, daemon, "source:" + name, open(self.path, "w"), *more)

    def lines(self):
        return open(self.path).read().split("\n")[:-1]

    def frames(self):
        return [Frame(l) for l in self.lines() if l.startswith("frame")]

    def more(self, n):
        """Waits for n more frames."""
        have = len(self.frames())
        return wait_for(lambda: len(self.frames()) >= have + n)

    def errors(self):
        return [l for l in self.lines() if l.startswith("error")]

    def end(self):
        self.process.kill()
        self.process.wait()


class Watch:
    def __init__(self, args, daemon):
        self.path = args.folder + "/watch"
        self.process = subprocess.Popen([args.bin + "/pelton", "sources", "--watch", "--json",
                                         "--socket", daemon.socket, "-loglevel", "error"],
                                         stdout=open(self.path, "w"))
        wait_for(lambda: self.events())

    def events(self):
        return [json.loads(l) for l in open(self.path).read().split("\n")[:-1]]

    def states(self, name):
        """Of one source, in order, each once."""
        out = []
        for e in self.events():
            if e["name"] == name and (not out or out[-1] != e["state"]):
                out.append(e["state"])
        return out

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(t.LIMIT_S)


def write_config(path, sources):
    with open(path + ".new", "w") as f:
        f.write("version: 1\nsources:\n" + "".join(f"  {name}: {{{text}}}\n" for name,
                                                   text in sources.items()))
    os.replace(path + ".new", path)


def stats(args, daemon, readers):
    have = json.loads(pelton(args, daemon, "stats", "--json").stdout)
    streams = {s["source"]: s for s in have["streams"]}
    good = [s["state"] == "running" and s["pid"] == readers[n].process.pid and s["frames"] >= 5
            and s["policy"] == "lossless" and 0 < s["slots"] >= s["held"]
            and (s["pix_fmt"], s["width"], s["height"]) == ("yuv420p", 160, 120)
            and 0 < s["age_ms"] < 1000 * t.patience(5) and s["gpu_entropy_pictures"] == 0 for n,
            s in streams.items()]
    check(sorted(streams) == sorted(readers) and all(good) and have["clients"] == 5
          and have["software"], f"stats: {have}")
    p = subprocess.Popen([args.bin + "/pelton", "top", "--socket", daemon.socket],
                         stdout=subprocess.PIPE, text=True)
    stretch = t.Stretch()
    lines = [p.stdout.readline() for _ in range(8)][1:]
    p.send_signal(signal.SIGINT)
    check(p.wait(t.LIMIT_S) == 130 and lines[1].startswith("memory: device")
          and lines[2].startswith("memory: host") and lines[3].split()[0] == "STREAM"
          and sorted(l.split()[0] for l in lines[4:]) == sorted("source:" + n for n in readers),
          f"stats: top: {lines}")
    fps = [float(l.split()[8]) for l in lines[4:]]
    t.check_time(check, all(10 < f < 40 for f in fps), stretch, f"stats: frames per second {fps}")


def reload(args, clip):
    """Sources appear, end and change while others go on untouched; a file that is wrong changes
    nothing."""
    config = args.folder + "/reload.yaml"
    sim = f'uri: "sim://{clip}", size: 160x120, fps: 25, scene_frames: 1'
    before = {"keep": sim + ", seed: 1", "change": sim + ", seed: 2", "gone": sim + ", seed: 3",
              "idle": sim + ", seed: 4"}
    write_config(config, before)
    args.set = []
    with t.Daemon(args, "-c", config) as daemon:
        watch = Watch(args, daemon)
        readers = {n: Reader(args, daemon, n) for n in ("keep", "change", "gone")}
        check(all(r.more(5) for r in readers.values()), "reload: three readers of three sources")
        stats(args, daemon, readers)
        first = readers["keep"].frames()
        write_config(config, {"keep": before["keep"], "change": sim + ", seed: 2, tone: linear",
                              "idle": sim + ", seed: 5", "fresh": sim + ", seed: 6"})
        daemon.process.send_signal(signal.SIGHUP)
        gone = readers["gone"]
        check(wait_for(gone.errors)
              and "the configuration names this source no more" in gone.errors()[0]
              and gone.process.wait(t.LIMIT_S) == 1,
              f"reload: a source that is gone: {gone.errors()}")
        changed_at = len(readers["change"].frames())
        check(readers["change"].more(20) and not readers["change"].errors(),
              f"reload: a source that has changed goes on after {changed_at} frames")
        numbers = [f.sequence for f in readers["change"].frames()]
        check(numbers == sorted(set(numbers)), "reload: its sequence numbers go on")
        check(readers["keep"].more(10), "reload: the reader of an unchanged source goes on")
        names = lambda: [l.split()[0]
                         for l in pelton(args, daemon, "sources").stdout.splitlines()[1:]]
        check(names() == ["keep", "change", "idle", "fresh"], f"reload: {names()}")
        fresh = Reader(args, daemon, "fresh")
        check(fresh.more(5), "reload: a new source can be read")
        for text, words in (("version: 1\nsources:\n  keep: {uri: \"sim:///x\", zoom: 1}\n",
                             ":3:33: zoom: no key of a source"),
                             ("version: 2\n", ":1:10: version 2"), ("sources: [", "reload.yaml:")):
            open(config, "w").write(text)
            out = pelton(args, daemon, "reload")
            check(out.returncode == 2 and words in out.stderr,
                  f"reload: of a bad file: exit code {out.returncode} "
                  f"{out.stderr.splitlines()[:1]}")
        check(names() == ["keep", "change", "idle", "fresh"] and readers["keep"].more(5)
              and readers["change"].more(5), "reload: after bad files all is as before")
        write_config(config, {"keep": before["keep"], "fresh": sim + ", seed: 6"})
        out = pelton(args, daemon, "reload")
        check(out.stdout == "sources: 0 added, 2 removed, 0 changed, 2 as before\n",
              f"reload: {out.stdout!r} {out.stderr!r}")
        frames = readers["keep"].frames()
        gaps = sum(b.sequence - a.sequence - 1 for a, b in zip(frames, frames[1:]))
        check(gaps == frames[-1].dropped - frames[0].dropped
              and frames[-1].sequence - first[0].sequence >= 30,
              f"reload: the kept source's reader: {len(frames)} frames, {gaps} missed, all counted")
        wait_for(lambda: "removed" in watch.states("idle"))
        expected = {"keep": ["closed", "opening", "running"],
                    "gone": ["closed", "opening", "running", "ended", "removed"],
                    "idle": ["closed", "removed"],
                    "change": ["closed", "opening", "running", "opening", "running", "ended",
                               "removed"]}
        have = {n: watch.states(n) for n in expected}
        check(have == expected, f"reload: watched: {have}")
        for r in list(readers.values()) + [fresh]:
            r.end()
        wait_for(lambda: watch.states("keep")[-1] == "closed")
        check(watch.states("keep")[-1] == "closed" and watch.events()[-1]["readers"] == 0,
              f"reload: when readers have gone: {watch.events()[-1]}")
        check(watch.end() == 130, "reload: the watch ends with an interrupt")
        out = pelton(args, daemon, "stop")
        check(out.returncode == 0 and daemon.process.wait(t.LIMIT_S) == 0,
              f"reload: pelton stop: {out.stderr!r}")


def watch(args, clip):
    """A camera that is unplugged and comes back, as those see it who watch."""
    config = args.folder + "/watch.yaml"
    write_config(config, {"cam": f'uri: "sim://{clip}", size: 160x120, fps: 25, lost_at: 20, '
                                 f'frames: 60', "bad": 'uri: "sim:///nowhere.mp4"',
                          "absent": 'uri: "v4l2:///dev/nowhere"'})
    args.set = []
    with t.Daemon(args, "-c", config) as daemon:
        waiting = subprocess.Popen([args.bin + "/pelton", "pipe", "absent", "-f", "null", "-o",
                                    "-", "--socket", daemon.socket], stderr=subprocess.PIPE,
                                    text=True)
        said = waiting.stderr.readline()
        check(said == "warning: /dev/nowhere: no such device; waiting for it\n", f"watch: {said!r}")
        waiting.send_signal(signal.SIGINT)
        check(waiting.wait(t.LIMIT_S) == 130, "watch: an interrupt ends the wait for a camera")
        w = Watch(args, daemon)
        stretch = t.Stretch()
        r, bad = Reader(args, daemon, "cam"), Reader(args, daemon, "bad")
        check(wait_for(lambda: w.states("cam")[-1] == "ended"), "watch: until the camera has ended")
        states = w.states("cam")
        check(states[:2] == ["closed", "opening"] and states[-3:] == ["back-off", "running",
                                                                      "ended"], f"watch: {states}")
        # a busy worker has no frame before the camera is lost
        t.check_time(check, states[2:-3] == ["running", "lost"], stretch,
                     "watch: lost while running")
        lost = [e for e in w.events() if e["state"] in ("lost", "back-off")]
        check(lost and all("unplugged" in e["cause"] or "no such device" in e["cause"]
                           for e in lost), f"watch: why: {[e['cause'] for e in lost]}")
        last = [e for e in w.events() if e["name"] == "cam" and e["state"] == "running"][-1]
        check((last["readers"], last["codec"], last["format"], last["width"], last["height"],
               last["fps"]) == (1, "bayer", "SRGGB12P", 160, 120, 25), f"watch: {last}")
        wait_for(bad.errors)
        failed = [e for e in w.events() if e["name"] == "bad"][-1]
        check(failed["state"] == "ended" and "No such file" in failed["cause"], f"watch: {failed}")
        out = pelton(args, daemon, "sources").stdout.splitlines()
        check("ended" in out[2] and "No such file" in out[2],
              f"watch: pelton sources says the same: {out}")
        for p in (r, bad):
            p.end()
        w.end()


class AuthServer(threading.Thread):
    """Speaks enough RTSP to ask for a password, and keeps what it is given."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.given = []

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            with connection, connection.makefile("rwb") as f:
                lines = []
                for line in f:
                    lines.append(line.decode().strip())
                    if lines[-1]:
                        continue
                    number = [l.split(":")[1].strip() for l in lines if l.startswith("CSeq")]
                    self.given += [l.split()[-1] for l in lines
                                   if l.startswith("Authorization: Basic")]
                    f.write(f"RTSP/1.0 401 Unauthorized\r\nCSeq: "
                            f"{number[0] if number else 0}\r\nWWW-Authenticate: Basic "
                            f"realm=\"door\"\r\n\r\n".encode())
                    f.flush()
                    lines = []


def passwords(args, clip):
    """A password reaches the server and nobody else."""
    server = AuthServer()
    server.start()
    user, secret = "ad min", "hE:y/@?s%ecret"
    config, file = args.folder + "/passwords.yaml", args.folder + "/door.key"
    open(file, "w").write(secret + "\nnot this\n")
    uri = f"rtsp://127.0.0.1:{server.port}/live"
    write_config(config, {"door": f'uri: "{uri}", user: "{user}", password_file: door.key',
                          "inline": f'uri: "{uri}", user: "{user}", password: "${{DOOR_PW}}"'})
    os.environ["DOOR_PW"] = secret
    said = subprocess.run([args.bin + "/peltond", "-c", config, "--print-config"],
                          capture_output=True, text=True, timeout=args.timeout).stdout
    check(f'user: "{user}", password_file: "door.key"}}' in said and 'password: "***"' in said,
          f"passwords: {said.splitlines()[-2:]}")
    args.set = []
    credentials = args.folder + "/credentials"
    os.mkdir(credentials)
    with t.Daemon(args, "-c", config, "--log-level", "debug") as daemon:
        for name in ("door", "inline"):
            server.given.clear()
            out = pelton(args, daemon, "pipe", name, "--timeout", "10")
            given = {base64.b64decode(g).decode() for g in server.given}
            check(given == {user + ":" + secret} and out.returncode != 0,
                  f"passwords: {name}: the server was given {given}, exit code {out.returncode}")
            said += out.stdout + out.stderr
        said += pelton(args, daemon, "sources",
                       "--json").stdout + pelton(args, daemon, "info", "door", "--timeout",
                                                 "10").stderr
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                said += open(path).read().replace("\0", " ") + "\n"
            except OSError:
                pass
        said += "".join(daemon.lines())
    bare = user.replace(" ", "")
    private = pelton_private(args, f"rtsp://{bare}:pa55@127.0.0.1:{server.port}/live")
    hidden = [s for s in (secret, "hE%3Ay",
                          base64.b64encode((user + ":" + secret).encode()).decode()) if s in said]
    check("door" in said and not hidden and "pa55" not in private and "***" in private,
          f"passwords: none in configuration, lists, errors, logs, command lines {hidden} "
          f"{private!r}")
    cases = {f'uri: "{uri}", user: a, password: b, password_file: door.key': "one of them",
             f'uri: "{uri}", user: a, password_file: nowhere':
             "password_file nowhere: No such file",
             f'uri: "rtsp://a:b@host/", user: c':
             "holds a password; write user: and password_file:",
             f'uri: "{uri}", password: b': "needs a user",
             f'uri: "sim://{clip}", user: a': "no key of this kind of source"}
    for text, words in cases.items():
        write_config(config, {"door": text})
        out = subprocess.run([args.bin + "/peltond", "-c", config, "--check"], capture_output=True,
                             text=True, timeout=args.timeout)
        check(out.returncode == 2 and words in out.stderr, f"passwords: {out.stderr.strip()!r}")
    os.rename(file, credentials + "/door.key")
    write_config(config, {"door": f'uri: "{uri}", user: "{user}", password_file: door.key'})
    out = subprocess.run([args.bin + "/peltond", "-c", config, "--check"], capture_output=True,
                         text=True, timeout=args.timeout,
                         env={**os.environ, "CREDENTIALS_DIRECTORY": credentials})
    check(out.returncode == 0, f"passwords: by systemd's credentials {out.stderr!r}")


def service(args, clip):
    """What systemd and the environment may say: the socket's mode and group, notifications,
    watchdog, values."""
    config, path, notify = (args.folder + "/service.yaml", args.folder + "/service.sock",
                            args.folder + "/notify")
    group = grp.getgrgid(os.getgid()).gr_name
    open(config, "w").write(f"version: 1\nthreads: 3\ndebug: {{batch: 2, wavefront: 1}}\nlisten: "
                            f"{{unix: {{path: \"{path}\", mode: 0600, group: {group}}}}}\n"
                            f"sources:\n  cam: {{uri: \"sim://{clip}\"}}\n")
    heard = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    heard.bind(notify)
    heard.settimeout(t.LIMIT_S)
    env = {**os.environ, "NOTIFY_SOCKET": notify, "WATCHDOG_USEC": "200000",
           "PELTON_CONFIG_THREADS": "5"}
    run = lambda *words: subprocess.run([args.bin + "/peltond", *words], capture_output=True,
                                        text=True, timeout=args.timeout, env=env)
    said = run("-c", config, "--print-config").stdout
    check("threads: 5\n" in said and "debug.batch: 2\ndebug.wavefront: 1\n" in said
          and f'mode: 0600, path: "{path}", group: "{group}"' in said,
          "service: the environment goes before the file")
    check("threads: 7\n" in run("-c", config, "-c", "threads=7", "--print-config").stdout,
          "service: -c goes before both")
    said_more = run("-c", config, "-c", "sources.cam.fps=12.5", "-c",
                    "sources.more.uri=sim:///x.mp4", "-c", "listen.unix.mode=0640",
                    "--print-config").stdout
    check("fps: \"12.5\"" in said_more and "more: {uri: \"sim:///x.mp4\"}" in said_more
          and "mode: 0640" in said_more, "service: settings of sources on the command line")
    for words, cause in (("sources.cam.fps=0", "fps=0: from 0.1 to 1000"),
                         ("sources.nobody.fps=1", "no source of this name"),
                         ("sources.cam=1", "expected sources.NAME.KEY=VALUE"),
                         ("sources.cam.zoom=1", "no key of a source")):
        out = run("-c", config, "-c", words, "--check")
        check(out.returncode == 2 and cause in out.stderr, f"service: {out.stderr.strip()!r}")
    env["PELTON_CONFIG_SOURCES_CAM_FPS"] = env["PELTON_CONFIG_THRAEDS"] = "1"
    said_more = run("-c", config, "--check")
    check(said_more.returncode == 0 and "PELTON_CONFIG_SOURCES_CAM_FPS has no effect"
          in said_more.stderr and "did you mean PELTON_CONFIG_THREADS?" in said_more.stderr,
          f"service: {said_more.stderr!r}")
    del env["PELTON_CONFIG_SOURCES_CAM_FPS"], env["PELTON_CONFIG_THRAEDS"]
    lines = [l.split("\t") for l in run("--list-keys").stdout.splitlines()]
    keys = [l[0] for l in lines]
    check(all(len(l) == 5 and l[4] for l in lines) and len(set(keys)) == len(keys)
          and {"threads", "listen.unix.mode", "sources.NAME.ae.target"} < set(keys),
          f"service: --list-keys: {len(keys)} keys, {[l for l in lines if len(l) != 5]}")
    open(args.folder + "/again.yaml", "w").write(said)
    check(run("-c", args.folder + "/again.yaml", "--print-config").stdout == said,
          "service: what --print-config says is a configuration")
    for words, code, cause in ((("-c", args.folder), 2, "Is a directory"),
                               (("--socket", config), 1, "is there and no socket")):
        out = subprocess.run([args.bin + "/peltond", *words], capture_output=True, text=True,
                             timeout=args.timeout)
        check(out.returncode == code and cause in out.stderr, f"service: {out.stderr.strip()!r}")
    daemon = subprocess.Popen([args.bin + "/peltond", "-c", config, "--log-level", "quiet"],
                              env=env)
    messages = [heard.recv(100).decode() for _ in range(4)]
    check(messages == ["READY=1"] + 3 * ["WATCHDOG=1"], f"service: {messages}")
    st = os.stat(path)
    check((st.st_mode & 0o777, st.st_gid) == (0o600, os.getgid()),
          f"service: the socket has mode {st.st_mode & 0o777:o}, group {st.st_gid}")
    daemon.send_signal(signal.SIGHUP)
    messages = []
    while "READY=1" not in messages and len(messages) < 20:
        messages.append(heard.recv(100).decode())
    check("RELOADING=1" in messages, f"service: {messages}")
    daemon.terminate()
    check(daemon.wait(t.LIMIT_S) == 0, "service: ends on SIGTERM")
    for text, words, code in (("mode: 0999", "listen.unix.mode=0999: expected octal", 2),
                              ("owner: me", "listen.unix.owner: expected path, mode or group", 2),
                              ("group: nobody-of-this-name",
                               "no such group\npeltond: hint: packages", 2)):
        open(config, "w").write(f"version: 1\nlisten: {{unix: {{path: \"{path}\", {text}}}}}\n")
        out = run("-c", config)
        check(out.returncode == code and words in out.stderr, f"service: {out.stderr.strip()!r}")


def pelton_private(args, uri):
    out = subprocess.run([args.bin + "/pelton", "decode", "--device", "cpu", "-i", uri, "-f",
                          "null", "-"], capture_output=True, text=True, timeout=args.timeout,
                          stdin=subprocess.DEVNULL)
    return out.stderr


TESTS = {f.__name__: f for f in (reload, watch, passwords, service)}


def main():
    p = t.parser(__doc__)
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    print("seed", t.SEED)
    with tempfile.TemporaryDirectory() as folder:
        args.folder = folder
        clip = make_clip(args, folder)
        for name in args.names or TESTS:
            TESTS[name](args, clip)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
