#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the first inputs of a fuzz target: corpus.py KIND DIR STREAMGEN [NAME]. With a target's
name come its kept inputs, too."""
import base64, os, pathlib, re, struct, subprocess, sys, tempfile
import kept

STREAMS = [
    "--profile baseline --slices 2 --ref 3 --crf 30",
    "--profile main --bframes 2 --b-adapt 0 --direct temporal --weightb --crf 30",
    "--profile main --no-cabac --bframes 2 --b-adapt 0 --direct spatial --crf 30",
    "--profile high --cqm jvt --bframes 2 --b-adapt 0 --crf 26",
    "--profile high --no-cabac --slice-max-mbs 3 --constrained-intra --crf 30",
    "--profile main --weightp 2 --ref 4 --qp 1",
    "--pic-struct --nal-hrd vbr --vbv-maxrate 500 --vbv-bufsize 500 --frame-packing 3 --cll 10,4 "
    "--intra-refresh --keyint 3 --crf 40",
]


def encode(options):
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i",
                        "mandelbrot=size=64x48:rate=25", "-frames:v", "5",
                        "-pix_fmt", "yuv420p", d + "/a.y4m"], check=True)
        subprocess.run(["x264", "--quiet", "--no-progress", "--threads", "1", *options.split(),
                        "-o", d + "/a.264", d + "/a.y4m"],
                       check=True, capture_output=True)
        return pathlib.Path(d + "/a.264").read_bytes()


def nal_units(stream):
    return [n.rstrip(b"\0") for n in re.split(b"\0\0\1", stream) if n.strip(b"\0")]


def unescape(nal):
    return nal.replace(b"\0\0\3", b"\0\0")


def header(kind, payload=b"", request=1, obj=0):
    return struct.pack("<IHBBII", len(payload), kind, 0, 0, request, obj) + payload


def generated(streamgen):
    """A small stream with each feature."""
    for feature in subprocess.run([streamgen, "--list"], check=True, capture_output=True,
                                  text=True).stdout.split():
        with tempfile.NamedTemporaryFile() as f:
            subprocess.run([streamgen, "--seed", os.environ.get("PELTON_SEED", "1"), "--with",
                            feature, "--frames", "4", "-o", f.name],
                           check=True, capture_output=True)
            yield pathlib.Path(f.name).read_bytes()


CONFIGS = ["""version: 1
listen: {unix: {path: /tmp/x, mode: 0600, group: video}}
threads: 3
entropy: both
tune: false
allow_paths: /srv:/home
debug: {batch: 2}
debug.arena: 1
rights: {read: {users: [0]}, control: {groups: 0}}
""", """version: 1
sources:
  door: {uri: "rtsp://host/live", user: "a b", password: "p:/$$"}
  lab:
    uri: sim://clip
    size: 320x240
    ae: {flicker: 50Hz}
    blur: [[2, 2, 4, 4], [6, 6, 8, 8]]
    read: {users: [0, root]}
    fps: 25
""", """sources:
  cam: {uri: "v4l2:///dev/video0", format: MJPG, exposure: 10ms, gain: 2.5}
  'a "b': {uri: 'file:///x # y', read.groups: [], control: {users: 0}}
  net: {uri: "http://[::1]:80/a?b=c", user: u, password: x}
"""]
CALIBRATIONS = ["""image_width: 640
image_height: 480
camera_matrix: {rows: 3, cols: 3, data: [500.5, 0., 320, 0., 501, 240, 0, 0, 1]}
distortion_model: plumb_bob
distortion_coefficients: {data: [-0.3, 0.1, 0.001, -0.002, 0.01]}
projection_matrix:
  data: [450, 0, 321, 0, 0, 451, 241, 0, 0, 0, 1, 0]
""", """%YAML:1.0
---
image_width: 640
image_height: 480
fisheye_model: 1
camera_matrix: !!opencv-matrix
   rows: 3
   dt: d
   data: [ 5.3e+02, 0., 342, 0., 536, 235, 0., 0., 1. ]
D: !!opencv-matrix
   data: [ -0.02, 1e-3, 0.001, -2.8e-04 ]
""", """<?xml version="1.0"?>
<opencv_storage><!-- x --><image_Width>640</image_Width><image_Height>480</image_Height>
<Camera_Matrix type_id="opencv-matrix"><data>500. 0. 320. 0. 501. 240. 0. 0. 1.</data>
</Camera_Matrix><Distortion_Coefficients><data>-0.3 0.1 0.001 -0.002 0.01 0.2 0.03 0.004</data>
</Distortion_Coefficients><l><_>1</_><_>2</_></l></opencv_storage>
""", """cam0:
  camera_model: pinhole
  distortion_model: radtan
  intrinsics: [461, 460, 362, 248]
  distortion_coeffs: [-0.27, 0.06, 0.0008, 0.0003]
  resolution: [640, 480]
cam1:
  T_cn_cnm1:
  - [1.0, 0.0]
  camera_model: pinhole
  distortion_model: equidistant
  distortion_coeffs: [0.1, -0.02, 0.003, -0.0004]
  intrinsics: [300, 301, 376, 240]
"""]


def said(kind, payload=b"", flags=1):
    """A message of a conversation, as fuzz_client.c reads it."""
    return struct.pack("<BBH", flags, kind, len(payload)) + payload


def conversations():
    """A daemon that opens a stream, gives a pool and frames, and answers all questions."""
    welcome = said(2, b"\x08\x01", 0)
    plane = b"\x10\x80\x02\x18\x40\x20\x10" # 256 bytes a row, 64 of 16 rows used
    pool = (b"\x08\x01\x10\x02\x1a\x04gray\x20\x40\x28\x10\x32" + bytes([len(plane)]) + plane +
            b"\x38\x80\x20\x40\x80\x40")
    frames = b"".join(said(33, bytes([8, i, 16, 1, 24, i % 2, 32, i]), 2 | 128) for i in range(6))
    opened = said(17, b"\x0a\x03\x90\x01\x01") + said(32, pool, 2 | 4 | 128) + frames
    for asks in range(64):
        replies = b"".join(said(kind) for kind in (19, 26, 30, 13, 9)[:asks % 6])
        yield bytes([asks]) + welcome + replies + opened + said(35, b"", 2) + said(24) + said(28)
    # access units of 200 bytes in slots of 4096, and parameter sets
    sets = b"\x08\x04\x12\x05" + b"\x01\x64\0\x0b\xff"
    pool = (b"\x08\x01\x10\x02\x1a\x04h264\x20\x40\x28\x10\x38\x80\x20\x40\x80\x40" +
            b"\xc2\x02" + bytes([len(sets)]) + sets)
    frames = b"".join(said(33, bytes([8, i, 16, 1, 24, i % 2, 32, i, 0xc0, 2, 0xc8, 1]), 2 | 128)
                      for i in range(6))
    opened = said(17, b"\x0a\x03\x90\x01\x01") + said(32, pool, 2 | 4 | 128) + frames
    for asks in range(64, 128, 2):
        yield bytes([asks]) + welcome + opened + said(35, b"", 2)
    for kind in range(1, 38): # each message alone, as an event and as an answer
        yield bytes([63]) + welcome + said(kind, b"", 128) + said(kind, b"", 3)


def web_inputs():
    """As fuzz_web.c reads them: the first byte says what it is."""
    token, host = "fuzz-token-0123456789", "Host: localhost\r\n"
    bearer = f"Authorization: Bearer {token}\r\n"
    for path in ("/", "/healthz", "/api/v1/sources", "/api/v1/stats", "/api/v1/openapi.json",
                 "/metrics", "/streams/a%20b.mp4?frames=1", "/streams/x/snapshot.jpg?size=64x48"):
        yield f"\0GET {path} HTTP/1.1\r\n{host}{bearer}\r\n".encode()
    body = '{"ExposureTime": 5000, "AeEnable": true, "ColourGains": [1.5, 2]}'
    yield (f"\0PATCH /api/v1/sources/cam/controls HTTP/1.1\r\n{host}{bearer}Origin: "
           f"http://localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()
    yield (f"\0PATCH /api/v1/sources/cam/controls HTTP/1.1\r\n{host}{bearer}Transfer-Encoding: "
           f"chunked\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n").encode()
    yield f"\0POST /api/v1/session HTTP/1.1\r\n{host}Cookie: pelton={token}\r\n\r\n".encode()
    yield f"\0HEAD / HTTP/1.1\r\n{host}Range: bytes=0-9\r\n\r\nGET / HTTP/1.0\r\n\r\n".encode()
    basic = base64.b64encode(f"any:{token}".encode()).decode()
    yield f"\0GET /metrics HTTP/1.1\r\n{host}Authorization: Basic {basic}\r\n\r\n".encode()
    yield f"\0GET /metrics HTTP/1.1\r\nHost: [::1]:8790\r\nOrigin: null\r\n\r\n".encode()
    for path in ("/streams/%C3%A4%20b.mjpeg", "/api/v1/sources/a.b/controls", "/%2e%2e/x"):
        yield b"\1" + path.encode()
    yield b"\2size=640x360&fps=2.5&frames=3&quality=80&pix_fmt=yuv420p&policy=latest&after=now"
    yield from (b"\3" + h for h in (b"LocalHost:80", b"[::1]:8790", b"a.b-c_d", b"[fe80::1]"))
    yield f"\4# who\nread {token}\r\n\ncontrol {token}x\n".encode()
    yield b"""\5listen: 192.0.2.5:8790
name: [cam.example, "a b"]
certificate: /etc/pelton/web.crt
key: web.key
tokens: web.tokens
connections: 512
stall-ms: 10000
sandbox: false
"""
    yield b"\6" + body.encode()
    yield b'\6{"a": [1, true, 1e308], "b": -0.5, "b": "x"}'


def onvif_inputs():
    """Documents as cameras send them."""
    envelope = ('<?xml version="1.0"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"'
                ' xmlns:d="urn:d" xmlns:t="http://www.onvif.org/ver10/schema">%s</s:Envelope>')
    match = ("<d:ProbeMatch><d:EndpointReference><d:Address>urn:uuid:1</d:Address>"
             "</d:EndpointReference><d:Types>d:NetworkVideoTransmitter</d:Types><d:Scopes>"
             "onvif://www.onvif.org/name/A%20b onvif://www.onvif.org/hardware/x</d:Scopes>"
             "<d:XAddrs>http://192.0.2.7/onvif http://[fe80::1]/o</d:XAddrs></d:ProbeMatch>")
    profile = ('<t:Profiles token="p%d"><t:VideoEncoderConfiguration><t:Encoding>H264</t:Encoding>'
               "<t:Resolution><t:Width>640</t:Width><t:Height>360</t:Height></t:Resolution>"
               "<t:RateControl><t:FrameRateLimit>25</t:FrameRateLimit></t:RateControl>"
               "</t:VideoEncoderConfiguration></t:Profiles>")
    bodies = [
        "<d:RelatesTo>uuid:2</d:RelatesTo>" + match, match + match,
        "".join(profile % i for i in (1, 2)), "".join(profile % i for i in range(34)),
        "<d:Service><d:Namespace>http://www.onvif.org/ver10/media/wsdl</d:Namespace>"
        "<d:XAddr>http://192.0.2.7/media</d:XAddr></d:Service>",
        "<d:Media><d:XAddr>http://192.0.2.7/m&amp;n</d:XAddr></d:Media>",
        "<d:UTCDateTime><t:Time><t:Hour>1</t:Hour><t:Minute>2</t:Minute><t:Second>3</t:Second>"
        "</t:Time><t:Date><t:Year>2026</t:Year><t:Month>1</t:Month><t:Day>9</t:Day></t:Date>"
        "</d:UTCDateTime>",
        "<s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>t:NotAuthorized</s:Value>"
        "</s:Subcode></s:Code><s:Reason><s:Text>no</s:Text></s:Reason></s:Fault>",
        "<d:Uri>rtsp://192.0.2.7/1?a=b&amp;c</d:Uri>", "<d:a>" * 34 + "</d:a>" * 34]
    yield from ((envelope % body).encode() for body in bodies)
    yield b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
    yield (envelope % bodies[0]).encode("utf-16")


def inputs(kind, streamgen):
    if kind == "onvif":
        yield from onvif_inputs()
        return
    if kind == "web":
        yield from web_inputs()
        return
    if kind in ("config", "calibration"):
        for text in CONFIGS if kind == "config" else CALIBRATIONS:
            yield text.encode()
        return
    if kind == "client":
        yield from conversations()
        return
    if kind == "camera": # addresses, and drivers whose answers are all sound
        for i in range(64):
            yield bytes([i % 8, i // 8]) + bytes([64 + i % 2 * 128, i]) * (40 + i)
        return
    if kind == "records": # a head, then bytes of one array each
        for head in range(64):
            yield bytes([head & 7, head, head & 9, 1]) + b"".join(
                bytes([which, 4 * head & 255, which, 1]) for which in range(8))
        return
    if kind == "protocol":
        # A hello with two varint fields, a ping, an unknown type, a length past the limit, a header
        # cut short.
        yield header(1, b"\x08\x01\x10\x01\x1a\x04test")
        yield header(1, b"\x08\x01") + header(2) + header(3, b"\x0a\x03abc")
        yield header(999, b"\0" * 20)
        yield struct.pack("<IHBBII", 0xFFFFFFFF, 1, 0, 0, 0, 0)
        yield header(1)[:9]
        for luid in (b"", b"\x3a\x08" + bytes(8)): # a format in device memory
            device = b"\x08\x01\x10\x80\x20\x2a\x10" + bytes(16) + b"\x32\x10" + bytes(16) + luid
            yield header(32, b"\x08\x01\x10\x02\x8a\x02" + bytes([len(device)]) + device)
        return
    # captions, active format, orientation, mastering display, alternative transfer, a time code
    if kind == "sei":
        head = bytes([15, 0, 23, 19, 5, 24, 1])
        for number, payload in ((4, b"\xb5\0\x31GA94\x03\xc2\xff\xfc\x94\x20\xfd\x80\x80\xff"),
                                (4, b"\xb5\0\x31DTG1\x41\xfa"),
                                (47, b"\x18\0\x14"), (137, bytes(24)), (147, b"\x12"),
                                (1, b"\x5f" * 20)):
            yield head + 2 * (b"\6" + bytes([number, len(payload)]) + payload + b"\x80")
    if kind == "slice":
        yield from generated(streamgen)
    for options in STREAMS:
        stream = encode(options)
        if kind in ("nal", "slice"):
            yield stream
            continue
        for nal in nal_units(stream):
            if kind == "params" and nal[0] & 31 in (7, 8):
                yield unescape(nal)
            if kind == "sei" and nal[0] & 31 == 6:
                yield bytes([15, 0, 23, 19, 5, 24, 0]) + unescape(nal)
            if kind == "slice_header" and nal[0] & 31 in (1, 5):
                yield bytes([0, 0, 3, 1, 3, 2, 0, 1]) + unescape(nal)[:200]


name = sys.argv[4] if len(sys.argv) > 4 else ""
for i, data in enumerate(inputs(sys.argv[1], sys.argv[3])):
    k = bytes([1, 37 * i % 256]) if name.endswith("_famine") else b"" # which allocation fails
    (pathlib.Path(sys.argv[2]) / ("seed%03d" % i)).write_bytes(data + k)
if name:
    kept.unpack(kept.path(name), pathlib.Path(sys.argv[2]))
