# SPDX-License-Identifier: BSD-2-Clause
"""Chromium for the tests of the page: Debian's, driven by page.js. Skipped without Chromium, Node
or npm's registry.
"""
import json, pathlib, shutil, subprocess, sys
import webtest as w

HERE = pathlib.Path(__file__).resolve().parent


class Browser:
    """A Chromium that does steps of page.js."""
    AXE = "running-light-1440", "running-dark-390" # axe looks at these, and with --all at all

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


def parser(text):
    p = w.t.parser(text)
    p.add_argument("--packages", default="page-packages")
    p.add_argument("--pictures", default="page-pictures")
    p.add_argument("--all", action="store_true", help="axe in all windows and states")
    return p


# ---- what is seen ----

def shown(b):
    """There is a picture, and nothing over it."""
    return w.t.wait_until(lambda: b.hidden("#over"), 20)


def apart(got, frame):
    return 255 if got.shape != frame.shape else \
        float(((got.astype(float) - frame) ** 2).mean() ** 0.5)


def looked(b, name, folder):
    """axe, and nothing beyond the edge; a screenshot."""
    b.shot(file=f"{folder}/{name}.png")
    if b.all or name in b.AXE:
        found = b.axe()
        w.check(not any(impact in ("serious", "critical") for impact, *_ in found),
                f"{name}: axe finds {found or 'nothing'}")
    w.check(b.wide() <= 0, f"{name}: nothing lies beyond the right edge")
