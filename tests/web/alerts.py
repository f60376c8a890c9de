#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Prometheus: promtool accepts the metrics of pelton-web and the shipped alerts, each alert fires
when it should, and a real Prometheus alerts when a camera is unplugged. Exit code 77: no promtool.

  alerts.py [--unplug]     the last part takes about 20 s
"""
import json, os, pathlib, re, shutil, subprocess, sys, tempfile, time, urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "camera")]
import webtest as w
from devices import describe, environment

RULES = w.t.ROOT / "packaging/prometheus/pelton.rules.yml"
LATEST_S = 5


def run(*words, **more):
    return subprocess.run([str(x) for x in words], capture_output=True, text=True,
                          timeout=w.t.LIMIT_S, **more)


def rules(folder):
    out = run("promtool", "check", "rules", RULES)
    w.check(out.returncode == 0, f"promtool check rules: {out.stdout.splitlines()[-2:]}")
    test = open(HERE / "pelton.rules.test.yml").read().replace("RULES", str(RULES))
    open(folder + "/test.yml", "w").write(test)
    out = run("promtool", "test", "rules", folder + "/test.yml")
    w.check(out.returncode == 0, f"promtool test rules: {(out.stdout + out.stderr)[-300:]!r}")
    names = [l.split()[-1] for l in open(RULES) if "- alert:" in l]
    lacking = [n for n in names if test.count(n) < 2]
    w.check(len(names) >= 8 and not lacking, f"each alert is tested {lacking}")
    open(folder + "/wrong.yml", "w").write(test.replace("values: '1x9 0x30'", "values: '1x40'", 1))
    w.check(run("promtool", "test", "rules", folder + "/wrong.yml").returncode != 0,
            "the test of rules fails where no camera is unplugged")


def metrics(web):
    w.t.wait_until(lambda: "pelton_source_state" in web.ask("/metrics")[2].decode(), 5)
    web.ask("/streams/cam.mjpeg?frames=3")
    text = web.ask("/metrics")[2].decode()
    out = run("promtool", "check", "metrics", input=text)
    w.check(out.returncode == 0 and not out.stderr and not out.stdout,
            f"promtool check metrics: {len(text.splitlines())} lines {out.stdout}{out.stderr}")
    have = {l.split("{")[0].split()[0] for l in text.splitlines() if l[:1] != "#"} | {"up"}
    wanted = set(re.findall(r"\b(?:pelton_\w+|up(?={))", "".join(
        l for l in open(RULES) if not l.lstrip().startswith(("#", "description", "summary")))))
    w.check(wanted <= have, f"the alerts name figures that are there {wanted - have}")


def ask(port, path):
    try:
        url = f"http://127.0.0.1:{port}{path}"
        return json.load(urllib.request.urlopen(url, timeout=5))["data"]
    except (OSError, ValueError):
        return {}


def firing(port, name):
    return [a for a in ask(port, "/api/v1/alerts").get("alerts", []) if a["state"] == "firing"
            and a["labels"]["alertname"] == name]


def unplug(web, device, folder):
    """A Prometheus that scrapes each second; the camera's file is taken away."""
    port = 19000 + os.getpid() % 1000
    open(folder + "/prometheus.yml", "w").write(
        f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{RULES}']\n"
        f"scrape_configs: [{{job_name: pelton, static_configs: [{{targets: "
        f"['127.0.0.1:{web.port}']}}]}}]\n")
    log = open(folder + "/prometheus.log", "w")
    server = subprocess.Popen(["prometheus", "--config.file=" + folder + "/prometheus.yml",
                               "--storage.tsdb.path=" + folder + "/data",
                               f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        running = lambda: [r for r in ask(port, "/api/v1/query?query=pelton_source_state%7Bstate"
                                          "%3D%22running%22%7D%3D%3D1").get("result", [])]
        w.check(w.t.wait_until(running, 20), "Prometheus sees the camera run")
        w.check(not firing(port, "PeltonSourceDown"), "no alert before")
        stretch = w.t.Stretch()
        os.remove(device)
        begun = time.monotonic()
        fired = w.t.wait_until(lambda: firing(port, "PeltonSourceDown"), 30)
        took = time.monotonic() - begun
        w.check(bool(fired), "the alert fires when the camera is unplugged")
        w.t.check_time(w.check, took <= LATEST_S + 1, stretch,
                       f"after {took:.1f} s, {LATEST_S} s and a second of its scrape")
        describe(device)
        gone = w.t.wait_until(lambda: running() and not firing(port, "PeltonSourceDown"), 40)
        w.check(bool(gone), "and ends when it is plugged in again")
    finally:
        server.terminate()
        server.wait()


def main():
    p = w.t.parser(__doc__)
    p.add_argument("--unplug", action="store_true")
    args = p.parse_args()
    if not shutil.which("promtool"):
        print("skipped: no promtool here (Debian's package prometheus)")
        return 77
    args.set, args.preload = ["sandbox=false"], ""
    with tempfile.TemporaryDirectory() as folder:
        args.folder = folder
        device = folder + "/camera"
        describe(device)
        rules(folder)
        with w.t.Daemon(args, "-c", f"sources.cam.uri=v4l2://{device}", "-c",
                        "sources.cam.always_on=yes", env=environment(args, device)) as daemon, \
                w.Web(args, daemon.socket) as web:
            metrics(web)
            if args.unplug and shutil.which("prometheus"):
                unplug(web, device, folder)
    w.finish()


if __name__ == "__main__":
    sys.exit(main())
