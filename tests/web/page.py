#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The page of pelton-web in Chromium: each control moves the picture's light, each state is shown
and named, pictures are those of the frame, keyboard and axe find nothing wrong. Screenshots lie in
--pictures. Skipped without Chromium, Node or npm's registry.

  page.py [--pictures FOLDER] [--docs FOLDER] [--all]
    --docs: writes the pictures of docs/web-page.md, too; --all: axe in all windows and states
"""
import json, os, pathlib, re, shutil, socket, subprocess, sys, tempfile, time
import cv2, numpy
import webtest as w

HERE = pathlib.Path(__file__).resolve().parent
SIZE = 320, 180
TOKEN = "control-token-0123456789"
AXE = "running-light-1440", "running-dark-390"
QUALITY = 80  # that pelton-web chooses
ODD = "<img src=x onerror=alert(1)> 'q'"


class Browser:
    """A Chromium that does steps of page.js."""

    def __init__(self, packages, every):
        self.all = every
        self.process = subprocess.Popen(["node", HERE / "page.js", packages, chromium()], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(w.t.patience(10))
        except subprocess.TimeoutExpired:
            self.process.kill()

    def __getattr__(self, step):
        return lambda of=None, **more: self.do(step, **({"of": of} if of else {}), **more)

    def do(self, step, **more):
        print(json.dumps({"step": step, **more}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline() or '{"error": "the browser is gone"}')
        if "error" in answer:
            raise SystemExit(f"{step} {more}: {answer['error']}")
        return answer["value"]

    def wait_for(self, of, like="", seconds=10):
        return self.wait(of, like=like, ms=1000 * w.t.patience(seconds))


def chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser")


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def packages(folder):
    if not chromium() or not shutil.which("node"):
        skip("no chromium, or no node: scripts/install-deps installs them")
    run = subprocess.run([HERE / "page_packages", folder], capture_output=True, text=True)
    if run.returncode == 77:
        skip(run.stdout.strip().splitlines()[-1])
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)
    return folder


# ---- light and controls ----

def light(b):
    """Mean, target and median of the histogram, as a screen reader hears them."""
    said = b.attribute("#histogram", name="aria-label")
    found = re.search(r"mean ([\d.]+), target ([\d.]+), median ([\d.]+)", said)
    return [float(n) for n in found.groups()] if found else [0, 0, 0]


def controls(web):
    return {c["name"]: c["value"] for c in web.json("/api/v1/sources/cam/controls")["controls"]}


def shown(b):
    """There is a picture, and nothing over it."""
    return w.t.wait_until(lambda: b.hidden("#over"), 20)


def compensation(b):
    w.t.wait_until(lambda: abs(light(b)[0] - 0.18) < 0.01, 20)
    before = light(b)
    b.keys("#ExposureValue", keys=["ArrowRight"] * 4)
    w.t.wait_until(lambda: abs(light(b)[0] - 0.36) < 0.02, 20)
    after = light(b)
    w.check(before[1] == 0.18 and after[1] == 0.36 and abs(after[0] - 0.36) < 0.02
            and after[2] > 1.5 * before[2],
            f"compensation of +1 EV: mean {before[0]} to {after[0]}, median of the histogram "
            f"{before[2]} to {after[2]}, target {before[1]} to {after[1]}")
    b.keys("#ExposureValue", keys=["ArrowLeft"] * 4)
    w.t.wait_until(lambda: abs(light(b)[0] - 0.18) < 0.01, 20)


def slider(b, web, name, keys):
    """By keys; the light follows the value in proportion."""
    was, before = controls(web)[name], light(b)
    b.keys("#" + name, keys=keys)
    seconds = lambda: time.sleep(0.3) or controls(web)[name]
    w.t.wait_until(lambda: (now := controls(web)[name]) != was and seconds() == now, 10)
    factor = controls(web)[name] / was
    near = lambda: abs(light(b)[0] / before[0] / factor - 1) < 0.1
    w.t.wait_until(near, 10)
    after = light(b)
    w.check(abs(factor - 1) > 0.2 and near() and (after[2] > before[2]) == (factor > 1),
            f"{name} times {factor:.2f}: mean {before[0]} to {after[0]}, median of the histogram "
            f"{before[2]} to {after[2]}")


def flag(b, web, name, value, act):
    act()
    w.check(w.t.wait_until(lambda: controls(web)[name] == value, 10),
            f"{name} becomes {value}")


def all_controls(args, b, web):
    compensation(b)
    flag(b, web, "AeEnable", 0, lambda: b.click("#manual"))
    slider(b, web, "ExposureTime", ["ArrowLeft"] * 15)
    slider(b, web, "AnalogueGain", ["ArrowRight"] * 25)
    slider(b, web, "DigitalGain", ["ArrowRight"] * 40)
    flag(b, web, "AeEnable", 1, lambda: b.click("#auto"))
    flag(b, web, "AeLocked", 1, lambda: b.click("#AeLocked"))
    flag(b, web, "AeLocked", 0, lambda: b.click("#AeLocked"))
    flag(b, web, "AeMeteringMode", 1, lambda: b.choose("#AeMeteringMode", value="1"))
    flag(b, web, "AwbEnable", 1, lambda: b.click("#AwbEnable"))
    flag(b, web, "ExposureTimeMode", 1, lambda: b.keys("#ExposureTime", keys=["ArrowLeft"]))
    flag(b, web, "ExposureTimeMode", 0, lambda: b.click("#reset"))
    w.check(b.text("#control-fault") == "", "no control was refused")


def buttons(b):
    b.click("button[aria-label='Copy the line for ffplay']")
    copied = b.clipboard()
    w.check(copied.startswith("ffplay ") and copied.endswith("/streams/cam.mjpeg"),
            f"copied: {copied}")
    b.click("#play")
    w.check(b.text("#play") == "Play" and b.attribute("#picture", name="src").startswith("data:"),
            "a pause keeps the picture and ends the transfer")
    b.click("#play")
    w.check(shown(b) and b.text("#play") == "Pause", "and it plays on")


def reached(b, web):
    """Everything that can be used is reached by Tab, and has a ring then."""
    b.open(url=web.url("/#cam"))
    w.t.wait_until(lambda: light(b)[0] > 0, 10)
    seen = b.tabs()
    names = [name for name, _ in seen]
    wanted = ["skip", "play", "auto", "ExposureValue", "ExposureTime", "AnalogueGain",
              "DigitalGain", "AeMeteringMode", "AwbEnable", "reset", "snapshot", "line-ffplay",
              "line-Python"]
    missing = [n for n in wanted if n not in names]
    bare = [name for name, ring in seen if not ring]
    w.check(not missing and not bare and names[0] == "skip",
            f"Tab reaches {len(names)} places; missing {missing}, without a ring {bare}")


# ---- pictures ----

def compared(args, b, web, daemon, folder):
    """The compositor's picture of the MJPEG preview against the frame, which is always the same. It
    may be as far from it as a JPEG of the same quality is, and a little for rounding."""
    b.click("#manual")
    w.t.wait_until(lambda: controls(web)["AeEnable"] == 0, 10)
    raw = subprocess.run([args.bin + "/pelton", "pipe", "cam", "--socket", daemon.socket,
                          "-frames:v", "1", "--pix-fmt", "rgb24", "-f", "rawvideo", "-o", "-"],
                         capture_output=True, timeout=w.t.LIMIT_S).stdout
    frame = numpy.frombuffer(raw, numpy.uint8).reshape(SIZE[1], SIZE[0], 3)[:, :, ::-1]
    _, jpeg = cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    allowed = apart(cv2.imdecode(jpeg, cv2.IMREAD_COLOR), frame)
    file = folder + "/preview.png"
    b.natural("#picture", file=file)
    error = apart(cv2.imread(file), frame)
    w.check(error <= allowed + 1.5,
            f"the preview's screenshot is {error:.2f} of 255 from the frame (root of the mean "
            f"square), a JPEG of it {allowed:.2f}")
    b.click("#auto")


def apart(got, frame):
    return 255 if got.shape != frame.shape else \
        float(((got.astype(float) - frame) ** 2).mean() ** 0.5)


def looked(b, name, folder):
    """axe, and nothing beyond the edge; a screenshot."""
    b.shot(file=f"{folder}/{name}.png")
    if b.all or name in AXE:
        found = b.axe()
        w.check(not any(impact in ("serious", "critical") for impact, *_ in found),
                f"{name}: axe finds {found or 'nothing'}")
    w.check(b.wide() <= 0, f"{name}: nothing lies beyond the right edge")


# ---- states ----

def state(b, web, name, word, over, folder, **window):
    b.open(url=web.url("/#" + name), **window)
    b.wait_for("#state", f"^({word})$", 30)
    said = b.wait_for("#over", over, 20)
    w.check(True, f"{word}: {said!r}")
    looked(b, word.split("|")[0], folder)


def encoded(b, web, folder):
    """H.264 as it was sent, by MediaSource."""
    b.open(url=web.url("/#file"))
    w.t.wait_until(lambda: b.video()["frames"] > 10, 20)
    v = b.video()
    w.check(v["frames"] > 10 and v["time"] > 0 and (v["width"], v["height"]) == (640, 360),
            f"fragmented MP4 plays: {v}")
    b.shot(file=folder + "/encoded.png")


def all_states(b, web, folder):
    encoded(b, web, folder)
    state(b, web, "file", "ended", "Ended.*no more frames", folder)
    state(b, web, "door", "back-off", "refused.*tries again", folder, scheme="dark")
    state(b, web, "slow", "opening", "Opening", folder, width=390, height=844)
    state(b, web, "shy", "lost|back-off", "Lost.*(unplugged|no such device).*open it again", folder,
          width=390, height=844, scheme="dark")
    b.open(url=web.url("/#" + "%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%20'q'"), motion="reduce")
    b.wait_for("#state", "^closed$")
    w.check(b.text("#name") == ODD and "Paused" in b.wait_for("#over"),
            "closed: a name is text, and a page without motion starts no preview")
    w.check(b.attribute("#line-pelton", name="value") is None
            and b.text("#nav").count(ODD) == 1, "the list has it once")
    looked(b, "closed", folder)


def blanks(args, b, folder):
    with tempfile.TemporaryDirectory() as nothing, w.Web(args, nothing + "/sock") as web:
        b.open(url=web.url("/"))
        b.wait_for("#blank", "No daemon.*no daemon listens there")
        looked(b, "no-daemon", folder)
    with w.t.Daemon(args) as daemon, w.Web(args, daemon.socket) as web:
        b.open(url=web.url("/"), scheme="dark")
        b.wait_for("#blank", "No sources.*pelton.yaml")
        looked(b, "no-sources", folder)


def token(args, b, daemon, folder):
    with tempfile.NamedTemporaryFile("w") as tokens:
        print("control", TOKEN, file=tokens, flush=True)
        with w.Web(args, daemon.socket, "--tokens", tokens.name) as web:
            b.open(url=web.url("/#cam"), width=390, height=844)
            b.wait_for("#sign-in")
            looked(b, "token", folder)
            b.fill("#token", text="wrong" + TOKEN)
            b.keys("#token", keys=["Enter"])
            b.wait_for("#token-fault", ".")
            b.fill("#token", text=TOKEN)
            b.keys("#token", keys=["Enter"])
            b.wait_for("#link", "^connected$", 20)
            w.check(shown(b), "after a wrong token and the right one the picture is shown")
            b.keys("#ExposureValue", keys=["ArrowRight"])
            w.check(w.t.wait_until(lambda: light(b)[1] > 0.2, 10), "and controls work")
            b.keys("#ExposureValue", keys=["ArrowLeft"])


def lost_gateway(b, web, folder):
    b.open(url=web.url("/#cam"))
    shown(b)
    web.process.kill()
    web.process.wait()
    b.wait_for("#notice", "Connection lost.*tries again", 30)
    b.wait_for("#link", "no connection")
    looked(b, "gateway-lost", folder)
    web.command[web.command.index("--listen") + 1] = f"127.0.0.1:{web.port}"
    web.start()
    b.wait_for("#link", "^connected$", 30)
    w.check(shown(b), "the page comes back by itself after the gateway, with its picture")


# ---- all of it ----

def configuration(folder, silent):
    sim = (f"uri: \"sim://{w.CLIP}\", size: {SIZE[0]}x{SIZE[1]}, fps: 15, scene_frames: 1, "
           "electrons: 0, noise: 0, light: 0.5")
    lines = {"cam": sim, "shy": sim + ", lost_at: 20", "file": f"uri: \"{w.CLIP}\"",
             "door": "uri: \"rtsp://127.0.0.1:1/x\"",
             "slow": f"uri: \"rtsp://127.0.0.1:{silent.getsockname()[1]}/x\"", f'"{ODD}"': sim}
    with open(folder + "/config.yaml", "w") as f:
        f.write("version: 1\nsources:\n")
        f.writelines(f"  {name}: {{{text}}}\n" for name, text in lines.items())
    return folder + "/config.yaml"


def tour(args, b, folder, daemon, web):
    b.open(url=web.url("/#cam"))
    w.check(shown(b), "the camera's picture is shown")
    all_controls(args, b, web)
    buttons(b)
    compared(args, b, web, daemon, folder)
    reached(b, web)
    for scheme in ("light", "dark"):
        for width, height in ((1440, 1000), (390, 844)):
            if not args.all and f"running-{scheme}-{width}" not in AXE:
                continue
            b.open(url=web.url("/#cam"), scheme=scheme, width=width, height=height)
            shown(b)
            w.t.wait_until(lambda: light(b)[0] > 0, 10)
            looked(b, f"running-{scheme}-{width}", folder)
            if args.docs and (scheme == "light") == (width == 1440):
                b.shot(file=f"{args.docs}/page-{scheme}-{width}.jpg")
    all_states(b, web, folder)
    lost_gateway(b, web, folder)
    blanks(args, b, folder)
    token(args, b, daemon, folder)
    w.check(b.faults() == [], f"the page's script and policy: {b.faults()}")


def main():
    p = w.t.parser(__doc__)
    p.add_argument("--packages", default="page-packages")
    p.add_argument("--pictures", default="page-pictures")
    p.add_argument("--docs")
    p.add_argument("--all", action="store_true", help="axe in all windows and states")
    args = p.parse_args()
    there = packages(args.packages)
    os.makedirs(args.pictures, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as silent:
        with w.t.Daemon(args, "-c", configuration(folder, silent)) as daemon:
            with w.Web(args, daemon.socket) as web, Browser(there, args.all) as b:
                tour(args, b, args.pictures, daemon, web)
    w.finish()


main()
