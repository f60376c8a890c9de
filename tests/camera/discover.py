#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton discover: V4L2 devices made of ioctls, a listing of libcamera's program, network cameras
that answer a probe, and answers that are hostile.

  discover.py NAME...
"""
import json, os, pathlib, re, socket, subprocess, sys, tempfile, threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import peltontest as t
from peltontest import check
from devices import describe, environment
from onvif_camera import HEAD, Camera

SOAP = ('<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope" '
        'xmlns:a="http://schemas.xmlsoap.org/ws/2004/08/addressing" '
        'xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"><e:Header>'
        '<a:RelatesTo>{id}</a:RelatesTo></e:Header><e:Body><d:ProbeMatches>{body}'
        '</d:ProbeMatches></e:Body></e:Envelope>')
MATCH = ('<d:ProbeMatch><a:EndpointReference><a:Address>{urn}</a:Address></a:EndpointReference>'
         '<d:Types>{types}</d:Types><d:Scopes>{scopes}</d:Scopes>'
         '<d:XAddrs>{services}</d:XAddrs></d:ProbeMatch>')
TYPES, SCOPE = "dn:NetworkVideoTransmitter", "onvif://www.onvif.org/"


class Responder(threading.Thread):
    """Answers each probe with the datagrams of answers(identity)."""

    def __init__(self, answers):
        super().__init__(daemon=True)
        self.answers, self.probes = answers, []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.place = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            probe, who = self.socket.recvfrom(65536)
            self.probes.append(probe)
            identity = re.search(rb"MessageID>([^<]*)<", probe)[1].decode()
            for answer in self.answers(identity):
                self.socket.sendto(answer if isinstance(answer, bytes) else answer.encode(), who)


def match(urn, name="", hardware="", types=TYPES,
          services="http://203.0.113.9/onvif/device_service"):
    scopes = "\n".join(SCOPE + s for s in (f"name/{name}" if name else "type/video",
                                           f"hardware/{hardware}" if hardware else "location/x"))
    return MATCH.format(urn=urn, types=types, scopes=scopes, services=services)


def discover(args, *words, env=None):
    path = {**(env or os.environ), "PATH": args.folder + "/programs:" + os.environ["PATH"]}
    return subprocess.run([args.bin + "/pelton", "discover", "--folder", args.folder + "/dev",
                           *words], capture_output=True, text=True, timeout=args.timeout, env=path)


def listed(args, *words, env=None):
    out = discover(args, "--json", *words, env=env)
    return json.loads(out.stdout), out.stderr


def v4l2(args):
    """By identity, each once, with formats and sizes; the lines are a configuration."""
    dev = args.folder + "/dev"
    describe(dev + "/video0", width=1280, height=720, fps="30,10", formats="YUYV,MJPG")
    describe(dev + "/video1", width=640, height=480, fps=15, fourcc="NV12", multi=1)
    describe(dev + "/video2", busy=1)
    os.makedirs(dev + "/v4l/by-id")
    os.symlink("../../video0", dev + "/v4l/by-id/usb-Some_Camera_123-video-index0")
    env = environment(args, os.path.realpath(dev) + "/video")
    silent = Responder(lambda identity: [])
    have, said = listed(args, "--probe", silent.place, "--timeout", "0.2", env=env)
    check([c["uri"] for c in have] ==
          [f"v4l2://{dev}/v4l/by-id/usb-Some_Camera_123-video-index0", f"v4l2://{dev}/video1",
           f"v4l2://{dev}/video2"], f"v4l2: {[c['uri'] for c in have]}")
    check([(f["fourcc"], f["width"], f["height"], f["fps"]) for c in have for f in c["formats"]]
          == [("YUYV", 1280, 720, 30), ("MJPG", 1280, 720, 10), ("NV12", 640, 480, 15)],
          f"v4l2: formats {[c['formats'] for c in have]}")
    check("busy" in have[2]["cause"] and not have[0]["cause"], f"v4l2: {have[2]['cause']!r}")
    check([c["name"] for c in have] == ["shim", "shim-2", "video2"],
          f"v4l2: names {[c['name'] for c in have]}")
    yaml = discover(args, "--yaml", "--probe", silent.place, "--timeout", "0.2", env=env).stdout
    check(f'shim: {{uri: "v4l2://{dev}/v4l/by-id/usb-Some_Camera_123-video-index0", size: '
          f'1280x720, fps: 30}}' in yaml, f"v4l2: {yaml}")
    checked(args, yaml, "v4l2")
    os.environ.pop("LD_PRELOAD", None)


def checked(args, yaml, what):
    path = args.folder + "/found.yaml"
    for key in re.findall(r"password_file: ([^}]*)}", yaml):
        open(args.folder + "/" + key, "w").write("secret\n")
    open(path, "w").write(yaml)
    out = subprocess.run([args.bin + "/peltond", "-c", path, "--check"], capture_output=True,
                         text=True, timeout=args.timeout)
    check(out.returncode == 0, f"{what}: peltond takes the lines {out.stderr!r}")


def libcamera(args):
    program = args.folder + "/programs/cam"
    os.makedirs(args.folder + "/programs", exist_ok=True)
    open(program, "w").write("#!/bin/sh\necho Available cameras:\n"
                             "echo \"1: 'imx219' (/base/soc/i2c0mux/i2c@1/imx219@10)\"\n"
                             "echo '2: junk without an end ('\n")
    os.chmod(program, 0o755)
    silent = Responder(lambda identity: [])
    have, said = listed(args, "--probe", silent.place, "--timeout", "0.1")
    found = [(c["title"], c["uri"]) for c in have if c["kind"] == "libcamera"]
    check(found == [("imx219", "libcamera:///base/soc/i2c0mux/i2c@1/imx219@10")],
          f"libcamera: {found}")
    os.remove(program)


def onvif(args):
    """A camera for each endpoint, with the address that answered."""
    answers = lambda i: [SOAP.format(id=i, body=match("urn:uuid:1", "Front%20Door", "X-200")),
                         SOAP.format(id=i, body=match("urn:uuid:1", "Front%20Door", "X-200")),
                         SOAP.format(id=i, body=match("urn:uuid:2", "Front Door".split()[0])),
                         SOAP.format(id=i, body=match("urn:uuid:3", types="dn:Printer"))]
    responder = Responder(answers)
    have, said = listed(args, "--probe", responder.place, "--timeout", "0.5")
    have = [c for c in have if c["kind"] == "onvif"]
    check([(c["name"], c["title"], c["uri"], c["login"]) for c in have] ==
          [("front-door-x-200", "Front Door X-200", "rtsp://127.0.0.1/", True),
           ("front", "Front", "rtsp://127.0.0.1/", True)], f"onvif: {have}")
    check("1 answer to the probe that cannot be read" in said, f"onvif: {said!r}")
    probe = responder.probes[0].decode()
    check("NetworkVideoTransmitter" in probe and "discovery/Probe" in probe
          and re.search(r"uuid:[0-9a-f]{8}-[0-9a-f]{4}-4", probe) is not None, "onvif: the probe")
    yaml = discover(args, "--yaml", "--probe", responder.place, "--timeout", "0.5").stdout
    check('user: "admin", password_file: front.key' in yaml
          and "to be added: the path of its stream" in yaml, f"onvif: {yaml}")
    checked(args, yaml, "onvif")
    out = discover(args, "--probe", "somewhere")
    check(out.returncode == 2 and "not an IPv4 address" in out.stderr, f"onvif: {out.stderr!r}")
    group = discover(args, "--timeout", "0.1")
    check(group.returncode == 0, f"onvif: by multicast {group.stderr!r}")


def hostile(args):
    """Answers that lie, explode or inject: none is taken, or nothing of them but a name."""
    good = lambda i: SOAP.format(id=i, body=match("urn:uuid:last", "Last"))
    evil = ('"}\\n  root: {uri: "file:///etc/shadow"}\\n', "${HOME}", "a\u202eb", "x" * 5000)
    bomb = ('<!DOCTYPE b [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY a{n} "&a{n - 1 if n else ""};&a{n - 1 if n else ""};">' for n in range(40))
        + "]>")

    def answers(i):
        yield b""
        yield b"\xff" * 1000
        yield bytes(65000)
        yield "<" * 60000
        yield "<a>" * 20000
        yield bomb + SOAP.format(id=i, body=match("urn:uuid:bomb", "&a39;"))
        yield '<!DOCTYPE x SYSTEM "file:///etc/passwd">' + good(i)
        yield SOAP.format(id="uuid:another", body=match("urn:uuid:other", "Other"))
        yield SOAP.format(id=i, body="")
        yield SOAP.format(id=i, body=match("", "Nobody"))
        yield good(i)[:-40]
        for n, text in enumerate(evil):
            yield SOAP.format(id=i, body=match(f"urn:uuid:evil{n}", "%22%7D%0A" + text.replace(
                " ", "%20").replace("\\n", "%0A")))
        for n in range(300):
            yield SOAP.format(id=i, body=match(f"urn:uuid:flood{n}", "Flood"))

    responder = Responder(answers)
    have, said = listed(args, "--probe", responder.place, "--timeout", "1")
    found = [c for c in have if c["kind"] == "onvif"]
    check(found and all(c["uri"] == "rtsp://127.0.0.1/" and len(c["title"]) < 256
                        and c["title"].isprintable() and c["title"].isascii()
                        and re.fullmatch("[a-z0-9-]{1,31}", c["name"]) for c in found),
          f"hostile: {len(found)} cameras have clean names")
    names = [c["name"] for c in found]
    check(len(set(names)) == len(names) and not {"other", "nobody", "last"} & set(names)
          and len(have) <= 256, f"hostile: none from an answer that is no answer: {names[:6]}")
    check("cannot be read" in said, f"hostile: {said!r}")
    yaml = discover(args, "--yaml", "--probe", responder.place, "--timeout", "1").stdout
    check("shadow" not in [l for l in yaml.splitlines() if not l.strip().startswith("#")]
          and not re.search(r"^\s*root:", yaml, re.M), "hostile: nothing is injected")
    checked(args, yaml, "hostile")


def asked(args, cameras, *words):
    """What is found of these cameras, by name; and what was said."""
    responder = Responder(lambda i: [
        SOAP.format(id=i, body=match(f"urn:uuid:{name}", name, services=c.services))
        for name, c in cameras.items()])
    have, said = listed(args, "--probe", responder.place, "--timeout", "0.3", *words)
    return {c["name"]: c for c in have if c["kind"] == "onvif"}, said


def streams(args):
    """The addresses of streams: with and without a login, of old cameras, with a late clock."""
    key, wrong = args.folder + "/key", args.folder + "/wrong"
    open(key, "w").write("pass<word>\nmore\n")
    open(wrong, "w").write("other\n")
    cameras = {"open": Camera(), "locked": Camera("a&b", "pass<word>", behind=7200),
               "old": Camera("a&b", "pass<word>", old=True)}
    login = ("--user", "a&b", "--password-file", key)
    main = "rtsp://127.0.0.1:8554/live/main?x=1&y=$2"
    found, said = asked(args, cameras, *login)
    for name, c in found.items():
        check(c["uri"] == main and not c["missing"] and not c["cause"] and c["login"],
              f"streams: {name}: {c['uri']} {c['cause']}")
    check([(f["fourcc"], f["width"], f["height"], f["fps"], f.get("uri", "")[-9:])
           for f in found["old"]["formats"]] ==
          [("H264", 640, 360, 15, "?x=1&y=$2"), ("H264", 1920, 1080, 25, "?x=1&y=$2"),
           ("H265", 3840, 2160, 25, ""), ("JPEG", 640, 480, 5, "")],
          f"streams: profiles {found['old']['formats']}")
    check(not any("pass" in body for _, body in cameras["locked"].requests),
          "streams: the password does not leave")
    found, said = asked(args, cameras)
    check(found["open"]["uri"] == main and not found["open"]["login"]
          and "wants a user: --user" in found["locked"]["cause"] and found["locked"]["missing"]
          and found["locked"]["uri"] == "rtsp://127.0.0.1/", f"streams: without login {found}")
    found, said = asked(args, cameras, "--user", "a&b", "--password-file", wrong)
    check("another user or password" in found["locked"]["cause"], "streams: a wrong password: "
          f"{found['locked']['cause']}")
    responder = Responder(lambda i: [SOAP.format(id=i, body=match(
        "urn:uuid:1", "Door", services=cameras["locked"].services))])
    yaml = discover(args, "--yaml", "--probe", responder.place, "--timeout", "0.3", *login).stdout
    check('door: {uri: "rtsp://127.0.0.1:8554/live/main?x=1&y=$$2", user: "a&b", password_file: '
          'door.key}' in yaml and "#   H264 640x360, 15 fps: rtsp://127.0.0.1:8554/live/sub"
          in yaml, f"streams: {yaml}")
    checked(args, yaml, "streams")
    for words, code, cause in ((("--user", "x"), 2, "go together"),
                               (("--user", "x", "--password-file", "/none"), 4, "No such file"),
                               (("--user", "x", "--password-file", "/dev/null"), 4, "no password")):
        out = discover(args, *words)
        check(out.returncode == code and cause in out.stderr, f"streams: {words} {out.stderr!r}")


def slowly(wire):
    """A byte now and then, for ever."""
    wire.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        wire.write(b" ")
        wire.flush()
        t.time.sleep(0.2)


def liars(args):
    """Services that lie, explode, or never end: words and no address, or the camera's own."""
    bomb = '<!DOCTYPE b [<!ENTITY a "x">' + "".join(
        f'<!ENTITY a{n} "&a{n - 1 if n else ""};&a{n - 1 if n else ""};">' for n in range(40)
        ) + "]>"
    out_of = "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"
    uri = lambda text: lambda body, answer: (HEAD.format(
        f"<Uri>{text}</Uri>").encode() if "GetStreamUri" in body else answer)
    raw = lambda data: {"raw": lambda wire: wire.write(data)}
    big = b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n" + b"<a>" * 400000
    table = {
        "bomb": {"lie": lambda b, a: bomb.encode() + HEAD.format("<Uri>&a39;</Uri>").encode()},
        "entity": {"lie": lambda b, a: out_of.encode() + HEAD.format("<Uri>&e;</Uri>").encode()},
        "deep": {"lie": lambda b, a: b"<a>" * 50000},
        "cut": {"lie": lambda b, a: a[:len(a) // 2]},
        "bytes": {"lie": lambda b, a: bytes(range(256)) * 50},
        "empty": {"lie": lambda b, a: b""},
        "file": {"lie": uri("file:///etc/shadow")},
        "http": {"lie": uri("http://127.0.0.1/x")},
        "lines": {"lie": uri("rtsp://h/a&#10;  root: {{uri: x}}")},
        "quotes": {"lie": uri('rtsp://h/a"}}, x: {{y: "z')},
        "long": {"lie": uri("rtsp://h/" + "a" * 5000)},
        "port": {"lie": uri("rtsp://h:99999/a")},
        "none": {"lie": uri("")},
        "silent": {"raw": lambda wire: t.time.sleep(30)},
        "slow": {"raw": slowly},
        "big": raw(big),
        "mute": raw(b""),
        "no-http": raw(b"SSH-2.0-x\r\n\r\n"),
        "chunks": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc"),
        "chunk": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                     b"ffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
        "length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n<a/>"),
        "leads": raw(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/x\r\n\r\n"),
        "head": raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100000)}
    cameras = {name: Camera(**more) for name, more in table.items()}
    cameras["stranger"] = Camera(lie=lambda b, a: a.replace(b"192.0.2.7", b"198.51.100.9"))
    cameras["flood"] = Camera(lie=lambda b, a: a if "GetProfiles" not in b else HEAD.format(
        '<Profiles token="x"><VideoEncoderConfiguration><Encoding>H264</Encoding>'
        "</VideoEncoderConfiguration></Profiles>" * 1500).encode())
    began = t.time.monotonic()
    found, said = asked(args, cameras)
    took = t.time.monotonic() - began
    good = {n for n, c in found.items() if c["uri"].startswith("rtsp://127.0.0.1:8554/live/")}
    check(good == {"stranger", "flood"}, f"liars: streams of {sorted(good)}")
    wrong = {n: c["uri"] for n, c in found.items() if n not in good
             and (c["uri"] != "rtsp://127.0.0.1/" or not c["cause"] or not c["missing"])}
    check(len(found) == len(cameras) and not wrong, f"liars: {len(found)} cameras, words for each "
          f"{wrong}")
    print({n: c["cause"] for n, c in found.items() if n not in good})
    check(len(cameras["flood"].requests) <= 12 and len(cameras["leads"].requests) <= 4,
          f"liars: {len(cameras['flood'].requests)} requests to the one with many profiles")
    check(took < t.patience(25), f"liars: all of them in {took:.1f} s")


TESTS = {f.__name__: f for f in (onvif, streams, liars, hostile, libcamera, v4l2)}


def main():
    p = t.parser(__doc__)
    p.add_argument("--preload", default="")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        args.folder = folder
        os.mkdir(folder + "/dev")
        for name in args.names or TESTS:
            TESTS[name](args)
    return t.finish()


if __name__ == "__main__":
    sys.exit(main())
