#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The gateway answers: health, page, sources, and refusals in words.
"""
import json, re, signal, threading
import webtest as w
from schemas import Description

args = w.t.arguments(__doc__)


def health(daemon, web):
    status, _, body = web.ask("/healthz")
    w.check((status, body) == (200, b"ok\n"), "/healthz")
    w.check(web.ask("/readyz")[0] == 200, "/readyz with a daemon")


def page(web):
    status, headers, body = web.ask("/")
    policy = headers["Content-Security-Policy"]
    w.check(status == 200 and b"<!doctype html>" in body.lower()[:20], "the page")
    w.check("default-src 'none'" in policy and policy.count("'sha256-") == 2,
            "the page's policy names its script and its style")
    w.check(headers["X-Content-Type-Options"] == "nosniff", "security headers")


def sources(web):
    told = web.json("/api/v1/sources")["sources"]
    w.check([s["name"] for s in told] == ["cam0", "cam1"], "/api/v1/sources lists both cameras")
    one = web.json("/api/v1/sources/cam0")
    w.check(one["camera"] and one["encoded"] and one["state"] == "closed",
            "/api/v1/sources/cam0")
    head = web.ask("/api/v1/sources", "HEAD")
    w.check(head[0] == 200 and head[2] == b"", "HEAD has no body")


def refusals(web):
    for path, method, status in [("/nothing", "GET", 404), ("/api/v1/sources/none", "GET", 404),
                                 ("/healthz", "POST", 405), ("/a//b", "GET", 400),
                                 ("/%2e%2e/etc/passwd", "GET", 400), ("/%zz", "GET", 400)]:
        got, _, body = web.ask(path, method)
        told = json.loads(body)
        w.check(got == status and told["error"] and told["hint"],
                f"{method} {path}: {got} {told['error']}")


def description(web):
    """Each path of the description answers as it says: with the type that it says, and JSON as its
    schema says."""
    description = Description(web)
    for pattern, methods in description.told["paths"].items():
        if "get" not in methods:
            continue
        says = list(methods["get"]["responses"]["200"]["content"])[0]
        path = pattern.replace("{name}", "cam0")
        if pattern == "/api/v1/events":
            continue # it has no end: the test of the page reads it
        wishes = "?frames=1" if path.startswith("/streams/") and "snapshot" not in path else ""
        status, headers, body = web.ask(path + wishes)
        good = status == 200 and headers["Content-Type"].startswith(says)
        w.check(good, f"{path}: {status} {headers['Content-Type']}")
        if says == "application/json" and good and not pattern.endswith("openapi.json"):
            description.check_answer("get", pattern, status, headers, body, path)
    for path, pattern in (("/api/v1/sources/none", "/api/v1/sources/{name}"),
                          ("/streams/none.mp4", "/streams/{name}.mp4")):
        description.check_answer("get", pattern, *web.ask(path), path)
    w.check(description.fault("Sources", {"sources": [{"name": 1}]}), "a wrong body is noticed")


def metrics(web):
    """Each line has the form of Prometheus' text, and each series a type."""
    text, types = web.ask("/metrics")[2].decode(), {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            types[line.split()[2]] = line.split()[3]
        elif not line.startswith("#"):
            found = re.fullmatch(r'(\w+)(?:\{(?:\w+="(?:[^"\\\n]|\\.)*",?)+\})? (\S+)', line)
            w.check(found and found[1] in types and float(found[2]) >= 0, line) if not (
                found and found[1] in types) else None
    w.check("pelton_up 1" in text and 'pelton_source_up{source="cam0"} 1' in text,
            f"/metrics: {len(types)} names")
    frames = re.search(r'pelton_source_frames_total\{source="cam0"\} (\d+)', text)
    w.check(frames and int(frames[1]) > 0, "it counts frames")
    told = web.json("/api/v1/stats")
    w.check(told["daemon"]["connected"] and told["sources"][0]["frames"] > 0, "/api/v1/stats")


def first_request(daemon):
    """The gateway listens once it knows the sources, however late the daemon answers."""
    daemon.process.send_signal(signal.SIGSTOP)
    threading.Timer(0.5, daemon.process.send_signal, [signal.SIGCONT]).start()
    with w.Web(args, daemon.socket) as web:
        status, _, body = web.ask("/api/v1/sources/cam1")
        w.check(status == 200, f"the first request: {status} {body}")


def without_daemon(daemon, web):
    daemon.process.send_signal(signal.SIGTERM)
    w.check(w.t.wait_until(lambda: web.ask("/readyz")[0] == 503, 5), "/readyz without a daemon")
    told = json.loads(web.ask("/api/v1/sources")[2])
    w.check(web.ask("/healthz")[0] == 200 and "no daemon" in told["error"],
            f"the daemon is gone: {told['error']}")
    with w.Web(args, daemon.socket) as other:
        w.check(other.ask("/readyz")[0] == 503 and "no daemon: " in other.said(),
                f"a gateway that begins without a daemon: {other.said()}")


with w.t.Daemon(args, *w.cameras(args, 2)) as daemon, w.Web(args, daemon.socket) as web:
    health(daemon, web)
    page(web)
    sources(web)
    refusals(web)
    description(web)
    metrics(web)
    first_request(daemon)
    without_daemon(daemon, web)
w.finish()
