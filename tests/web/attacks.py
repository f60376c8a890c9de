#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Attempts against the gateway, and its answers: the table of docs/web.md.
"""
import base64, pathlib, select, shutil, signal, socket, ssl, subprocess, time
import webtest as w

args = w.t.arguments(__doc__, "openssl")
READ, CONTROL = "reader-token-0123456789", "control-token-0123456789"
CHANGE = "/api/v1/session"


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def refused(web, what, text, *statuses):
    """The bytes are answered with one of these; 0: the connection ends without an answer."""
    got = status_of(web.raw(text))
    w.check(got in statuses, f"{what}: {got or 'closed'}")


def request(path="/healthz", method="GET", host="localhost", more=""):
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"


def names(web):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil:8790", "169.254.1.1",
                 "[::2]", "localhost:99999999", "local host", ""):
        refused(web, f"rebinding, Host: {host}", request(host=host), 421, 400)
    refused(web, "no Host", "GET /healthz HTTP/1.1\r\n\r\n", 400, 421)
    refused(web, "Host of HTTP/1.0 left out", "GET /healthz HTTP/1.0\r\n\r\n", 421, 400)
    for host in ("localhost", "127.0.0.1:8790", "[::1]", "LOCALHOST", "cam.example:443"):
        refused(web, f"own name, Host: {host}", request(host=host), 200)


def sites(web):
    own = f"localhost:{web.port}"
    for origin in ("http://evil.example", "null", "https://" + own, f"http://{own}.evil",
                   "http://localhost", f"http://localhost:{web.port + 1}", "file://"):
        refused(web, f"cross-site DELETE, Origin: {origin}",
                request(CHANGE, "DELETE", own, f"Origin: {origin}\r\n"), 403)
    refused(web, "DELETE without Origin", request(CHANGE, "DELETE", own), 403)
    refused(web, "DELETE of the own origin",
            request(CHANGE, "DELETE", own, f"Origin: http://{own}\r\n"), 204)
    answer = web.raw(request("/", more="Origin: http://evil.example\r\n"))
    w.check(b"access-control" not in answer.lower(), "no answer allows another origin to read")
    refused(web, "OPTIONS (a preflight)", request("/api/v1/sources", "OPTIONS"), 405)


def paths(web):
    for path in ("/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/streams/..%2f..%2fetc.mjpeg",
                 "/streams/a%2fb.mjpeg", "/streams/%00.mjpeg", "/streams/x%0d%0aSet-Cookie:a.mjpeg",
                 "/streams/..\\..\\x.mjpeg", "//evil.example/", "/./", "/streams//x.mjpeg", "/%",
                 "/%f", "/%GG", "*", "http://evil.example/", "/" + "a" * 3000,
                 "/streams/" + "a" * 200 + ".mjpeg", "/streams/.mjpeg", "/api/v1/sources/"):
        refused(web, f"path {path[:44]}", request(path), 400, 404)


def floods(web):
    refused(web, "20 KB in one header", request(more="X: " + "a" * 20000 + "\r\n"), 431, 400, 0)
    refused(web, "3,000 headers", request(more="A: b\r\n" * 3000), 431, 400, 0)
    refused(web, "a line of 1 MB", b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\n\r\n", 414, 431, 0)
    refused(web, "a header without end", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " +
            b"a" * 100000, 431, 400, 0)
    for text in (b"\0" * 1000, bytes(range(256)) * 20, b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n",
                 b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"):
        refused(web, f"garbage {text[:12]!r}", text + b"\r\n\r\n", 400, 404, 405, 431, 505, 414, 0)


def bodies(web):
    own = f"localhost:{web.port}"
    send = lambda more, body="": request(CHANGE, "DELETE", own,
                                         f"Origin: http://{own}\r\n" + more) + body
    refused(web, "Content-Length of 1 GB", send("Content-Length: 1000000000\r\n"), 413)
    refused(web, "Content-Length of 2^70", send(f"Content-Length: {2 ** 70}\r\n"), 400, 413, 0)
    refused(web, "Content-Length: -1", send("Content-Length: -1\r\n"), 400, 413, 0)
    endless = "".join("1000\r\n" + "a" * 4096 + "\r\n" for _ in range(40))
    refused(web, "160 KB in chunks", send("Transfer-Encoding: chunked\r\n", endless), 413, 400, 0)
    refused(web, "a chunk of 2^64 bytes",
            send("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\n"), 413, 400, 0)
    refused(web, "a chunk without size", send("Transfer-Encoding: chunked\r\n", "zz\r\n"), 400, 0)
    smuggled = web.raw(send("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
                            "0\r\n\r\nGET /api/v1/sources HTTP/1.1\r\nHost: localhost\r\n\r\n"))
    w.check(b'"sources"' not in smuggled, "a request hidden in a body is not answered")


def slow(daemon_socket):
    """Slowloris, idle connections, readers that stand still: cut, and nobody waits for them."""
    with w.Web(args, daemon_socket, "--header-ms", "1000", "--idle-ms", "1000", "--stall-ms",
               "1000") as web:
        crowd = [socket.create_connection(("127.0.0.1", web.port)) for _ in range(60)]
        reader = socket.create_connection(("127.0.0.1", web.port))
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.sendall(b"GET /streams/cam0.y4m?size=1280x720 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for s in crowd[:40]:
            s.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        for s in crowd[40:]:
            s.sendall(request().replace("Connection: close\r\n", "").encode())
        began, left, waited = time.monotonic(), set(crowd), 0
        while left and time.monotonic() - began < w.t.patience(5):
            ready, _, _ = select.select(list(left), [], [], 0.2)
            for s in ready:
                try:
                    left -= {s} if not s.recv(4096) else set()
                except ConnectionError:
                    left.discard(s)
            for s in set(crowd[:40]) & left:
                try:
                    s.sendall(b"X")
                except OSError:
                    left.discard(s)
            asked = time.monotonic()
            w.check(web.ask("/healthz")[0] == 200, "answered meanwhile") if not waited else None
            waited = max(waited, time.monotonic() - asked)
        w.check(not left, f"slowloris and idle connections: all 60 cut after "
                f"{time.monotonic() - began:.1f} s")
        cut = lambda: "pelton_web_cut_total{reason=\"stall\"} 1" in web.ask("/metrics")[2].decode()
        w.check(w.t.wait_until(cut, 5), "a reader that takes nothing is cut")


def crowds(daemon_socket):
    with w.Web(args, daemon_socket, "--connections", "20", "--connections-per-address",
               "10") as web:
        crowd = [socket.create_connection(("127.0.0.1", web.port)) for _ in range(10)]
        w.t.wait_until(lambda: status_of(web.raw(request())) == 503, 5)
        answer = web.raw(request())
        w.check(status_of(answer) == 503 and b"of this address" in answer,
                "the 11th connection of an address: 503, in words")
        for s in crowd:
            s.close()
        w.check(w.t.wait_until(lambda: web.ask("/healthz")[0] == 200, 5), "then there is room")
    with w.Web(args, daemon_socket, "--requests-per-second", "20") as web:
        got = [web.ask("/healthz")[0] for _ in range(200)]
        w.check(got[:20] == [200] * 20 and 429 in got, f"200 requests: {got.count(429)} too often")


def tokens(daemon_socket, folder):
    path = pathlib.Path(folder, "tokens")
    path.write_text(f"# of this test\nread {READ}\ncontrol {CONTROL}\n")
    with w.Web(args, daemon_socket, "--tokens", str(path)) as web:
        bearer = lambda token: {"Authorization": "Bearer " + token}
        basic = lambda token: {"Authorization": "Basic " +
                               base64.b64encode(f"any:{token}".encode()).decode()}
        w.check(web.ask("/healthz")[0] == 200, "/healthz needs no token")
        status, headers, _ = web.ask("/api/v1/sources")
        w.check(status == 401 and "Basic" in headers["WWW-Authenticate"], "no token: 401")
        for how in (bearer(READ), basic(CONTROL)):
            w.check(web.ask("/api/v1/sources", **how)[0] == 200,
                    f"{list(how.values())[0][:6]}: 200")
        _, headers, _ = web.ask(CHANGE, "POST", **bearer(READ))
        cookie = headers["Set-Cookie"]
        w.check("HttpOnly" in cookie and "SameSite=Strict" in cookie, "the cookie is locked")
        cookie = cookie.split(";")[0]
        w.check(web.ask("/api/v1/sources", Cookie=cookie)[0] == 200, "the cookie: 200")
        w.check(web.ask(CHANGE, "POST", Cookie=cookie)[0] == 403, "a cookie alone changes nothing")
        path.write_text(f"read {READ[::-1]}\n")
        web.process.send_signal(signal.SIGHUP)
        w.check(w.t.wait_until(lambda: web.ask("/api/v1/sources", **bearer(READ))[0] == 401, 5),
                "SIGHUP: the old token is no longer good")
        path.write_text("nonsense\n")
        web.process.send_signal(signal.SIGHUP)
        w.check(w.t.wait_until(lambda: "the old tokens stay" in web.said(), 5),
                "a file that is wrong changes nothing")
        got = [web.ask("/api/v1/sources", **bearer(f"guess-{i:016}"))[0] for i in range(30)]
        w.check(429 in got and 200 not in got, f"30 guesses: {got.count(429)} not even compared")


def certificate(folder, name):
    key, crt = f"{folder}/{name}.key", f"{folder}/{name}.crt"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", crt, "-days",
                    "2", "-subj", "/CN=" + name], check=True, capture_output=True)
    return crt, key


def subject(web, most=None):
    """The name of the certificate, and the version of TLS."""
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname, c.verify_mode = False, ssl.CERT_NONE
    if most:
        c.maximum_version = most
    with socket.create_connection(("127.0.0.1", web.port), timeout=w.t.patience(5)) as s:
        with c.wrap_socket(s) as tls:
            tls.sendall(request().encode())
            w.check(tls.recv(4096).startswith(b"HTTP/1.1 200"), "an answer over " + tls.version())
            return ssl.DER_cert_to_PEM_cert(tls.getpeercert(True)), tls.version()


def downgrade(daemon_socket, folder):
    crt, key = certificate(folder, "first")
    with w.Web(args, daemon_socket, "--certificate", crt, "--key", key) as web:
        pem, version = subject(web)
        w.check(version == "TLSv1.3" and pem.strip() in pathlib.Path(crt).read_text(), "TLS 1.3")
        for most in (ssl.TLSVersion.TLSv1_2,):
            try:
                subject(web, most)
                w.check(False, f"at most {most.name}: served")
            except (ssl.SSLError, ConnectionError) as e:
                w.check(True, f"at most {most.name}: {e.__class__.__name__}")
        refused(web, "plain HTTP where TLS is spoken", request(), 0)
        for source, place in zip(certificate(folder, "second"), (crt, key)):
            shutil.copy(source, place)
        web.process.send_signal(signal.SIGHUP)
        w.t.wait_until(lambda: "read again" in web.said(), 5)
        again, _ = subject(web)
        w.check(again != pem, "SIGHUP: the new certificate")


def starts(daemon_socket, folder):
    crt, key = certificate(folder, "start")
    other, _ = certificate(folder, "other")
    path = pathlib.Path(folder, "good")
    path.write_text(f"control {CONTROL}\n")
    short = pathlib.Path(folder, "short")
    short.write_text("read abc\n")
    tls, open_place = ["--certificate", crt, "--key", key], ["--listen", "0.0.0.0:0"]
    for more, word in [(open_place, "needs TLS and a token"), (open_place + tls, "needs TLS"),
                       (open_place + ["--tokens", str(path)], "needs TLS"),
                       (tls[:2], "go together"), (["--tokens", str(short)], "16 to 256"),
                       (["--certificate", other, "--key", key], "not the key"),
                       (["--listen", "nowhere"], "expected ADDRESS:PORT"),
                       (["--tokens", folder + "/none"], "No such file")]:
        run = subprocess.run([args.bin + "/pelton-web", "--socket", daemon_socket, *more],
                             capture_output=True, text=True, timeout=w.t.patience(10))
        w.check(run.returncode == 2 and word in run.stderr and "hint: " in run.stderr,
                f"start refused: {run.stderr.splitlines()[0]}")
    good = subprocess.run([args.bin + "/pelton-web", *open_place, *tls, "--tokens", str(path),
                           "--check"], capture_output=True, text=True)
    w.check(good.returncode == 0, "with TLS and a token any address is good")


with w.tempfile.TemporaryDirectory() as folder, w.t.Daemon(args, *w.cameras(args, 1)) as daemon:
    with w.Web(args, daemon.socket, "--name", "cam.example", "--header-ms", "1000",
               "--idle-ms", "1000") as gateway:
        for attempt in (names, sites, paths, floods, bodies):
            attempt(gateway)
        w.check(gateway.process.poll() is None and gateway.ask("/readyz")[0] == 200,
                "after all this it answers")
    slow(daemon.socket)
    crowds(daemon.socket)
    tokens(daemon.socket, folder)
    downgrade(daemon.socket, folder)
    starts(daemon.socket, folder)
w.finish()
