#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Controls of a camera by HTTP, and the stream of events: each change comes, figures come once a
second, and wrong bodies change nothing.
"""
import http.client, json, subprocess, threading
import webtest as w
from schemas import Description

args = w.t.arguments(__doc__)
CONTROLS = "/api/v1/sources/cam0/controls"


class Events:
    """The events of one connection, read by a thread of its own."""

    def __init__(self, web):
        self.got = []
        self.connection = http.client.HTTPConnection("127.0.0.1", web.port)
        self.connection.request("GET", "/api/v1/events")
        self.answer = self.connection.getresponse()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        kind = ""
        try:
            for line in self.answer:
                word, _, rest = line.decode().strip().partition(": ")
                if word == "event":
                    kind = rest
                elif word == "data":
                    self.got.append((kind, json.loads(rest)))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass

    def await_(self, kind, good=lambda data: True, seconds=10):
        """The first one that is as wanted; None: it did not come."""
        found = lambda: next((d for k, d in list(self.got) if k == kind and good(d)), None)
        w.t.wait_until(found, seconds)
        return found()


def patch(web, body):
    """Status and answer. Changes come from the page's own place, as a browser's do."""
    status, _, answer = web.ask(CONTROLS, "PATCH", body, Origin=web.url(""),
                                Content_Type="application/json")
    return status, json.loads(answer)


def values(answer):
    return {c["name"]: c["value"] for c in answer.get("controls", [])}


def listed(web):
    told = web.json(CONTROLS)["controls"]
    by = {c["name"]: c for c in told}
    w.check(by["ExposureTime"]["unit"] == "us" and by["ExposureTime"]["max"] > 1000
            and by["ExposureValue"]["min"] == -8
            and len(by["ColourCorrectionMatrix"]["value"]) == 9,
            f"{len(told)} controls with limits and units")
    status, _, body = web.ask("/api/v1/sources/file/controls")
    w.check(status == 400 and "error" in json.loads(body), f"no camera: {status} {body}")
    w.check(web.ask("/api/v1/sources/none/controls")[0] == 404, "no source: 404")


def changed(web, events):
    # with these no control moves by itself
    status, told = patch(web, '{"ExposureTime": 3000, "AnalogueGain": 2, "AwbEnable": false}')
    now = values(told)
    w.check(status == 200 and (now["ExposureTime"], now["AnalogueGain"], now["AwbEnable"])
            == (3000, 2, 0), f"PATCH of three controls: {status}")
    w.check(values(web.json(CONTROLS)) == now, "GET tells the same")
    heard = events.await_("controls", lambda d: values(d)["ExposureTime"] == 3000)
    w.check(heard and heard["name"] == "cam0" and values(heard) == now, "others hear of it")
    status, told = patch(web, '{"ColourGains": [1.5, 2]}')
    w.check(status == 200 and values(told)["ColourGains"] == [1.5, 2], "an array of numbers")


def others(web, daemon, events):
    """Another client of the daemon changes controls; then exposure control moves one."""
    pelton = lambda *words: subprocess.run([args.bin + "/pelton", "set", "cam0", *words, "--socket",
                                            daemon.socket], capture_output=True, check=True)
    follower = Events(web)
    pelton("ExposureTime=4321", "AnalogueGain=3")
    for heard in (events, follower):
        told = heard.await_("controls", lambda d: values(d)["ExposureTime"] == 4321)
        w.check(told and told["name"] == "cam0" and values(told)["AnalogueGain"] == 3
                and values(told) == values(web.json(CONTROLS)),
                "a change by the command line is told to all")
    reader = threading.Thread(target=web.ask, args=("/streams/cam0.mjpeg?frames=60",), daemon=True)
    reader.start()
    pelton("AeEnable=1", "ExposureValue=2")
    on = lambda d: values(d)["AeEnable"] == 1 and values(d)["ExposureValue"] == 2
    w.check(follower.await_("controls", on), "exposure control is on again")
    moved = follower.await_("controls", lambda d: on(d) and abs(
        values(d)["ExposureTime"] - 4321) > 100)
    w.check(moved, f"it moves: {moved and values(moved)['ExposureTime']:.0f} us")
    reader.join(w.t.LIMIT_S)


def refused(web):
    # Readers that have left keep the camera on for three seconds: nothing may move by itself.
    patch(web, '{"ExposureTime": 5000, "AnalogueGain": 2, "AwbEnable": false}')
    before = values(web.json(CONTROLS))
    many = json.dumps({f"Control{i}": 1 for i in range(40)})
    cases = [("", "no object"), ("[]", "no object"), ("{}", "no object"), ("{", "no object"),
             ('{"ExposureTime": "long"}', "ExposureTime"), ('{"ExposureTime": 1e999}', "expected"),
             ('{"ExposureTime": []}', "expected"), ('{"ExposureTime": {"a": 1}}', "expected"),
             ('{"ColourGains": [1,2,3,4,5,6,7,8,9,10]}', "ColourGains"),
             ('{"' + "x" * 200 + '": 1}', "expected"), (many, "more controls"),
             ('{"Zoom": 1}', "Zoom"), ('{"ExposureTime": 2000, "AnalogueGain": 1e6}',
                                       "AnalogueGain"), ("[" * 5000, "no object")]
    for body, words in cases:
        status, told = patch(web, body)
        w.check(status == 400 and words in told["error"] and told["hint"],
                f"{body[:44]}: {status} {told.get('error', '')[:70]}")
    w.check(values(web.json(CONTROLS)) == before, "nothing has changed")


def figures(web, daemon, events):
    reader = threading.Thread(target=web.ask, args=("/streams/cam0.mjpeg?frames=30",), daemon=True)
    reader.start()
    stretch = w.t.Stretch()
    told = events.await_("frames", lambda d: d["fps"])
    w.check(told and told["name"] == "cam0" and told["age_ms"] > 0
            and told["stages"]["develop"] > 0, f"frames: {str(told)[:150]}")
    w.t.check_time(w.check, told["age_ms"] < 5000, stretch, "its age")
    light = told["exposure"]
    w.check(sum(light["histogram"]) == 160 * 120 // 4 and len(light["histogram"]) == 64
            and light["target"] == 0.18, "its histogram has all cells")
    named = events.await_("frames", lambda d: d["readers"])
    w.check(named and named["readers"][0]["client"].startswith("pelton-web")
            and set(named["readers"][0]["drops"]) == {"source", "decoder", "client"},
            f"its readers: {named and named['readers'][:1]}")
    w.check(events.await_("source", lambda d: d["name"] == "cam0" and d["state"] == "running"),
            "the source runs")
    reader.join(w.t.LIMIT_S)


def described(web, description, events):
    """Requests, answers and events are as the description says."""
    kinds = description.told["paths"]["/api/v1/events"]["get"]["x-events"]
    for kind in kinds:
        name, got = kinds[kind]["$ref"].split("/")[-1], [d for k, d in events.got if k == kind]
        faults = [f for f in (description.fault(name, d) for d in got) if f]
        w.check(got and not faults, f"{len(got)} events {kind} are as {name} says {faults[:1]}")
    w.check({k for k, _ in events.got} == set(kinds), "each kind of event is described")
    pattern = "/api/v1/sources/{name}/controls"
    for body, good in (({"ExposureTime": 3000, "AwbEnable": True, "ColourGains": [1.5, 2]}, True),
                       ({"ExposureTime": "long"}, False), ({}, False), ([], False)):
        status, headers, answer = web.ask(CONTROLS, "PATCH", json.dumps(body), Origin=web.url(""))
        w.check((status == 200) == good == (not description.fault("ControlWishes", body)),
                f"the server and the schema agree on {body}")
        description.check_answer("patch", pattern, status, headers, answer, "PATCH")


def main():
    with w.t.Daemon(args, *w.cameras(args, 1), "-c", f"sources.file.uri={w.CLIP}") as daemon:
        with w.Web(args, daemon.socket) as web:
            w.t.wait_until(lambda: web.ask("/readyz")[0] == 200, 10)
            description, events = Description(web), Events(web)
            w.check(events.await_("daemon")["connected"] is True, "the daemon is told first")
            listed(web)
            figures(web, daemon, events)
            changed(web, events)
            others(web, daemon, events)
            refused(web)
            described(web, description, events)
            daemon.process.terminate()
            gone = events.await_("daemon", lambda d: not d["connected"])
            w.check(gone and gone["cause"], f"the daemon's end: {gone}")
    w.finish()


main()
