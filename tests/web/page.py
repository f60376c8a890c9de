#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The page of pelton-web in Chromium: each control moves the picture's light, each state is shown
and named, pictures are those of the frame, keyboard and axe find nothing wrong. Screenshots lie in
--pictures. Skipped without Chromium, Node or npm's registry.

  page.py [--pictures FOLDER] [--docs FOLDER] [--all]
    --docs: writes the pictures of docs/web-page.md, too; --all: axe in all windows and states
"""
from concurrent import futures
import os, re, socket, subprocess, tempfile, time
import cv2, numpy
import webtest as w
from browser import Browser, apart, looked, packages, parser, shown

SIZE = [320, 180]
TOKEN = "control-token-0123456789"
QUALITY = 80  # that pelton-web chooses
ODD = "<img src=x onerror=alert(1)> 'q'"


# ---- light and controls ----

def light(b):
    """Mean, target and median of the histogram, as a screen reader hears them."""
    said = b.attribute("#histogram", name="aria-label")
    found = re.search(r"mean ([\d.]+), target ([\d.]+), median ([\d.]+)", said)
    return [float(n) for n in found.groups()] if found else [0, 0, 0]


def controls(web):
    return {c["name"]: c["value"] for c in web.json("/api/v1/sources/cam/controls")["controls"]}


def settled(b, target):
    """Waits for this target with the mean at it, and returns the light then."""
    def there():
        now = light(b)
        return now[1] == target and abs(now[0] - target) < 0.05 * target and now

    return w.t.wait_until(there, 20) or light(b)


def compensation(b):
    before = settled(b, 0.18)
    b.keys("#ExposureValue", keys=["ArrowRight"] * 4)
    after = settled(b, 0.36)
    w.check(before[1] == 0.18 and after[1] == 0.36 and abs(after[0] - 0.36) < 0.02
            and after[2] > 1.5 * before[2],
            f"compensation of +1 EV: mean {before[0]} to {after[0]}, median of the histogram "
            f"{before[2]} to {after[2]}, target {before[1]} to {after[1]}")
    b.keys("#ExposureValue", keys=["ArrowLeft"] * 4)
    settled(b, 0.18)


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


def set_control(args, daemon, text):
    subprocess.run([args.bin + "/pelton", "set", "cam", text, "--socket", daemon.socket],
                   capture_output=True, check=True)


def told_compensation(b):
    return b.attribute("#ExposureValue", name="aria-valuetext")


def other_client(args, b, daemon):
    """What the command line sets is seen in the page."""
    for value, text in (("-1", "-1.00 EV"), ("0", "0.00 EV")):
        set_control(args, daemon, "ExposureValue=" + value)
        w.check(w.t.wait_until(lambda: told_compensation(b) == text, 10),
                f"another client sets {told_compensation(b)}")


def all_controls(args, b, web, daemon):
    other_client(args, b, daemon)
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


def heard(b, what, *words):
    """What a screen reader finds in the page has these words, all at once, and one place alone
    speaks by itself."""
    last = []

    def all_there():
        last[:] = [b.tree()]
        return all(re.search(word, last[0]) for word in words)

    w.t.wait_until(all_there, 10)
    tree = last[0]
    missing = [word for word in words if not re.search(word, tree)]
    w.check(not missing and len(re.findall(r"- (?:status|log)", tree)) == 1,
            f"{what}: a screen reader finds {len(words)} things"
            + (f", but not {missing} in\n{tree}" if missing else ""))


def buttons(b):
    b.click("button[aria-label='Copy the line for ffplay']")
    whole = lambda: re.fullmatch("ffplay .*/streams/cam.mjpeg", b.clipboard())
    w.check(w.t.wait_until(whole, 5), f"copied: {b.clipboard()}")
    b.click("#play")
    w.check(b.text("#play") == "Play" and b.attribute("#picture", name="src").startswith("data:"),
            "a pause keeps the picture and ends the transfer")
    b.click("#play")
    w.check(shown(b) and b.text("#play") == "Pause", "and it plays on")


def reached(b, web):
    """Everything that can be used is reached by Tab, and has a ring then."""
    b.open(url=web.url("/#cam"))
    w.check(w.t.wait_until(lambda: light(b)[0] > 0, 10), "figures come")
    b.wait_for("#controls")
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
    """The compositor's picture of the MJPEG preview against the frame, which is always the same
    once exposure stands still. It may be as far from it as a JPEG of the same quality is, and a
    little for rounding."""
    flag(b, web, "AeEnable", 0, lambda: b.click("#manual"))
    file, errors = folder + "/preview.png", []

    def near():
        raw = subprocess.run([args.bin + "/pelton", "pipe", "cam", "--socket", daemon.socket,
                              "-frames:v", "1", "--pix-fmt", "rgb24", "-f", "rawvideo", "-o", "-"],
                             capture_output=True, timeout=w.t.LIMIT_S).stdout
        frame = numpy.frombuffer(raw, numpy.uint8).reshape(SIZE[1], SIZE[0], 3)[:, :, ::-1]
        _, jpeg = cv2.imencode(".jpg", frame, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
        b.natural("#picture", file=file)
        errors[:] = apart(cv2.imread(file), frame), apart(cv2.imdecode(jpeg, cv2.IMREAD_COLOR),
                                                          frame)
        return errors[0] <= errors[1] + 1.5

    w.check(w.t.wait_until(near, 10),
            f"the preview's screenshot is {errors[0]:.2f} of 255 from the frame (root of the mean "
            f"square), a JPEG of it {errors[1]:.2f}")
    b.click("#auto")


# ---- states ----

def state(b, web, name, word, over, folder, **window):
    b.open(url=web.url("/#" + name), **window)
    b.wait_for("#state", f"^({word})$", 30)
    said = b.wait_for("#over", over, 20)
    # a source that is tried again has one state after the other
    heard(b, f"{word}: {said!r}", f'heading "{name}"', word, "(?s)" + over)
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
    state(b, web, "door", "retrying", "refused.*tries again", folder, scheme="dark")
    state(b, web, "slow", "opening", "Opening", folder, width=390, height=844)
    state(b, web, "shy", "lost|retrying", "(Lost|Cannot be).*(unplugged|no such device).*again",
          folder, width=390, height=844, scheme="dark")
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
            w.check(shown(b), "after a wrong token and the right one the picture is shown, and "
                    f"over it {b.text('#over')!r}")
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
    web.restart()
    b.wait_for("#link", "^connected$", 30)
    w.check(shown(b), "the page comes back by itself after the gateway, with its picture")


# ---- all of it ----

def configuration(args, folder, silent, odd):
    sim = (f"uri: \"sim://{args.clip}\", size: {SIZE[0]}x{SIZE[1]}, fps: 15, scene_frames: 1, "
           "electrons: 0, noise: 0, light: 0.5")
    lines = {"cam": sim, "shy": sim + ", lost_at: 20", "file": f"uri: \"{args.clip}\"",
             "door": "uri: \"rtsp://127.0.0.1:1/x\"",
             "slow": f"uri: \"rtsp://127.0.0.1:{silent.getsockname()[1]}/x\""}
    if odd:
        lines[f'"{ODD}"'] = sim
    with open(folder + "/config.yaml", "w") as f:
        f.write("version: 1\nsources:\n")
        f.writelines(f"  {name}: {{{text}}}\n" for name, text in lines.items())
    return folder + "/config.yaml"


def running(args, b, folder, daemon, web):
    """A camera that runs."""
    b.open(url=web.url("/#cam"))
    w.check(shown(b), "the camera's picture is shown")
    w.t.wait_until(lambda: light(b)[0] > 0, 10)
    heard(b, "running", 'img "Live picture of cam"', 'button "Pause"', 'radio "Automatic" .checked',
          'slider "Exposure time"', 'img "Histogram of luminance: mean', 'row "develop .* ms"',
          'rowheader "pelton-web', 'term: Age of a frame', 'button "Copy the line for ffplay"',
          'heading "cam"')
    all_controls(args, b, web, daemon)
    buttons(b)
    compared(args, b, web, daemon, folder)
    reached(b, web)
    for scheme in ("light", "dark"):
        for width, height in ((1440, 1000), (390, 844)):
            if not args.all and f"running-{scheme}-{width}" not in Browser.AXE:
                continue
            b.open(url=web.url("/#cam"), scheme=scheme, width=width, height=height)
            w.check(shown(b) and w.t.wait_until(lambda: light(b)[0] > 0, 10), "figures come")
            looked(b, f"running-{scheme}-{width}", folder)
            if args.docs and (scheme == "light") == (width == 1440):
                b.shot(file=f"{args.docs}/page-{scheme}-{width}.jpg")


def old_answers(args, b, web, daemon):
    """An answer that was made before something changed, and comes when an event has told that."""
    b.open(url="about:blank")
    state = lambda: web.json("/api/v1/sources/cam")["state"]
    w.check(w.t.wait_until(lambda: state() == "closed", 20), f"nobody reads: cam is {state()}")
    given = b.held()[1]
    b.open(url=web.url("/#cam"), late="**/api/v1/sources", ms=3000)
    w.t.wait_until(lambda: b.held()[1] >= given + 2, 20)
    w.check(shown(b) and w.t.wait_until(lambda: b.text("#state") == "running", 5),
            f"an old list of sources changes nothing: cam is {b.text('#state')}")
    made, given = b.held()
    b.open(url=web.url("/#cam"), late="**/api/v1/sources/cam/controls", ms=5000)
    w.t.wait_until(lambda: b.held()[0] > made, 20)
    set_control(args, daemon, "ExposureValue=-1")
    w.t.wait_until(lambda: b.held()[1] > given, 20)
    w.check(w.t.wait_until(lambda: told_compensation(b) == "-1.00 EV", 5),
            f"old controls change nothing: {told_compensation(b)}")
    set_control(args, daemon, "ExposureValue=0")


def others(args, b, folder, daemon, web):
    """All other states."""
    all_states(b, web, folder)
    old_answers(args, b, web, daemon)
    lost_gateway(b, web, folder)
    blanks(args, b, folder)
    token(args, b, daemon, folder)


def tour(args, there, part, silent):
    """A part of the test, with a browser, a gateway and a daemon of its own."""
    with tempfile.TemporaryDirectory() as folder, w.t.Daemon(
            args, "-c", configuration(args, folder, silent, part is others)) as daemon, w.Web(
                args, daemon.socket) as web, Browser(there, args.all) as b:
        part(args, b, args.pictures, daemon, web)
        w.check(b.faults() == [], f"the page's script and policy: {b.faults()}")


def main():
    p = parser(__doc__)
    p.add_argument("--docs")
    p.add_argument("--clip", default=w.CLIP, help="the file that the cameras show")
    args = p.parse_args()
    if args.docs:
        SIZE[:] = 640, 360
    there = packages(args.packages)
    os.makedirs(args.pictures, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as silent, futures.ThreadPoolExecutor(2) as pool:
        for one in [pool.submit(tour, args, there, part, silent) for part in (running, others)]:
            one.result()
    w.finish()


if __name__ == "__main__":
    main()
