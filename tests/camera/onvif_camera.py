# SPDX-License-Identifier: BSD-2-Clause
"""A simulated network camera of ONVIF: its device and media services by HTTP, with digests of
WS-Security, and lies on demand."""
import base64, hashlib, html, http.server, re, threading, time

HEAD = ('<?xml version="1.0"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" '
        'xmlns:tds="http://www.onvif.org/ver10/device/wsdl" '
        'xmlns:trt="http://www.onvif.org/ver10/media/wsdl" '
        'xmlns:tt="http://www.onvif.org/ver10/schema" '
        'xmlns:ter="http://www.onvif.org/ver10/error"><s:Body>{}</s:Body></s:Envelope>')
FAULT = ('<s:Fault><s:Code><s:Value>s:Sender</s:Value><s:Subcode><s:Value>{}</s:Value></s:Subcode>'
         '</s:Code><s:Reason><s:Text>{}</s:Text></s:Reason></s:Fault>')
PROFILE = ('<trt:Profiles token="{0}" fixed="true"><tt:Name>{0}</tt:Name>'
           '<tt:VideoEncoderConfiguration token="e"><tt:Encoding>{1}</tt:Encoding><tt:Resolution>'
           '<tt:Width>{2}</tt:Width><tt:Height>{3}</tt:Height></tt:Resolution><tt:RateControl>'
           '<tt:FrameRateLimit>{4}</tt:FrameRateLimit></tt:RateControl>'
           '</tt:VideoEncoderConfiguration></trt:Profiles>')
PROFILES = (("sub", "H264", 640, 360, 15), ("main", "H264", 1920, 1080, 25),
            ("hevc", "H265", 3840, 2160, 25), ("still", "JPEG", 640, 480, 5))


class Camera:
    """user, password: wanted, or None. behind: seconds that its clock is late. lie: a function
    (request, answer) of bytes to bytes of the whole body; None closes the connection."""

    def __init__(self, user=None, password="", old=False, behind=0, lie=None, raw=None,
                 host="192.0.2.7"):
        self.user, self.password, self.old, self.behind = user, password, old, behind
        self.lie, self.raw, self.host, self.requests, self.headers = lie, raw, host, [], []
        camera = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                camera.requests.append((self.path, body))
                self.close_connection = True
                if camera.raw:
                    try:
                        camera.raw(self.wfile)
                    except OSError:
                        pass
                    return
                status, answer = camera.answer(self.path, body)
                answer = camera.lie(body, answer) if camera.lie else answer
                chunked = len(camera.requests) % 2
                self.send_response(status)
                self.send_header("Content-Type", "application/soap+xml")
                self.send_header(*(("Transfer-Encoding", "chunked") if chunked else
                                   ("Content-Length", str(len(answer)))))
                self.end_headers()
                half = len(answer) // 2
                for part in (answer[:half], answer[half:]) if chunked else ():
                    if part:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n" if chunked else answer)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        # the host that it names is another one: only the port and the path may count
        self.services = f"http://{host}:{self.port}/onvif/device_service"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def now(self):
        return time.gmtime(time.time() - self.behind)

    def logged_in(self, body):
        found = {k: re.search(rf":{k}(?: [^>]*)?>([^<]*)<", body)
                 for k in ("Username", "Password", "Nonce", "Created")}
        if self.user is None:
            return True
        if not all(found.values()):
            return False
        value = {k: html.unescape(m[1]) for k, m in found.items()}
        created = time.mktime(time.strptime(value["Created"], "%Y-%m-%dT%H:%M:%SZ"))
        digest = hashlib.sha1(base64.b64decode(value["Nonce"]) + value["Created"].encode()
                              + self.password.encode()).digest()
        return (value["Username"] == self.user
                and abs(created - time.mktime(self.now())) < 30
                and base64.b64encode(digest).decode() == value["Password"])

    def answer(self, path, body):
        say = lambda text, status=200: (status, HEAD.format(text).encode())
        media = f"http://{self.host}:{self.port}/onvif/media"
        if "GetSystemDateAndTime" in body:
            now = self.now()
            return say("<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:UTCDateTime>"
                       f"<tt:Time><tt:Hour>{now.tm_hour}</tt:Hour><tt:Minute>{now.tm_min}"
                       f"</tt:Minute><tt:Second>{now.tm_sec}</tt:Second></tt:Time><tt:Date>"
                       f"<tt:Year>{now.tm_year}</tt:Year><tt:Month>{now.tm_mon}</tt:Month>"
                       f"<tt:Day>{now.tm_mday}</tt:Day></tt:Date></tt:UTCDateTime>"
                       "</tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>")
        if not self.logged_in(body):
            return say(FAULT.format("ter:NotAuthorized", "Sender not Authorized"), 400)
        if "GetServices" in body and not self.old:
            return say("<tds:GetServicesResponse><tds:Service><tds:Namespace>"
                       "http://www.onvif.org/ver20/ptz/wsdl</tds:Namespace><tds:XAddr>http://x/ptz"
                       "</tds:XAddr></tds:Service><tds:Service><tds:Namespace>"
                       "http://www.onvif.org/ver10/media/wsdl</tds:Namespace><tds:XAddr>"
                       f"{media}</tds:XAddr></tds:Service></tds:GetServicesResponse>")
        if "GetCapabilities" in body:
            return say("<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Media><tt:XAddr>"
                       f"{media}</tt:XAddr></tt:Media></tds:Capabilities>"
                       "</tds:GetCapabilitiesResponse>")
        if "GetProfiles" in body and path == "/onvif/media":
            return say("<trt:GetProfilesResponse>" + "".join(PROFILE.format(*p) for p in PROFILES)
                       + "</trt:GetProfilesResponse>")
        if "GetStreamUri" in body and path == "/onvif/media":
            token = re.search(r"ProfileToken>([^<]*)<", body)[1]
            return say("<trt:GetStreamUriResponse><trt:MediaUri><tt:Uri>rtsp://"
                       f"{self.host}:8554/live/{token}?x=1&amp;y=$2</tt:Uri></trt:MediaUri>"
                       "</trt:GetStreamUriResponse>")
        return say(FAULT.format("ter:ActionNotSupported", "no such action"), 500)
