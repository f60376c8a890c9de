#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The gateway answers: health, page, sources, and refusals in words.
"""
import json, signal
import webtest as w

args = w.t.arguments(__doc__)


def health(daemon, web):
    status, _, body = web.ask("/healthz")
    w.check((status, body) == (200, b"ok\n"), "/healthz")
    w.check(w.t.wait_until(lambda: web.ask("/readyz")[0] == 200, 5), "/readyz with a daemon")


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
    w.check(one["camera"] and not one["encoded"] and one["state"] == "closed",
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


def without_daemon(daemon, web):
    daemon.process.send_signal(signal.SIGTERM)
    w.check(w.t.wait_until(lambda: web.ask("/readyz")[0] == 503, 5), "/readyz without a daemon")
    told = json.loads(web.ask("/api/v1/sources")[2])
    w.check(web.ask("/healthz")[0] == 200 and "no daemon" in told["error"],
            f"the daemon is gone: {told['error']}")


with w.t.Daemon(args, *w.cameras(args, 2)) as daemon, w.Web(args, daemon.socket) as web:
    health(daemon, web)
    page(web)
    sources(web)
    refusals(web)
    without_daemon(daemon, web)
w.finish()
