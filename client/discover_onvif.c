/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Network cameras by WS-Discovery, as ONVIF uses it: see discover.h.
 *
 * The happy path is one Probe to each interface's multicast group, answers until the time is over,
 * one camera for each endpoint, and then questions to each (onvif_ask.h). The failure modes are no
 * socket and no interface. Anybody on the network may answer: each answer has to name this probe,
 * its text is never believed beyond a name, and the camera's address is the one that the answer
 * came from. Number and size of answers and the time are bounded.
 */
#include "client/discover.h"
#include "client/onvif_answer.h"
#include "client/onvif_ask.h"
#include "client/onvif_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define GROUP "239.255.255.250"
enum { PORT = 3702, ANSWERS_MOST = 4096, UUID_TEXT = 64 };

/* SOAP 1.2 with WS-Addressing of August 2004 and WS-Discovery of April 2005. */
static const char probe_form[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<e:Envelope xmlns:e=\"http://www.w3.org/2003/05/soap-envelope\""
    " xmlns:a=\"http://schemas.xmlsoap.org/ws/2004/08/addressing\""
    " xmlns:d=\"http://schemas.xmlsoap.org/ws/2005/04/discovery\""
    " xmlns:n=\"http://www.onvif.org/ver10/network/wsdl\">"
    "<e:Header><a:MessageID>%s</a:MessageID>"
    "<a:To e:mustUnderstand=\"true\">urn:schemas-xmlsoap-org:ws:2005:04:discovery</a:To>"
    "<a:Action e:mustUnderstand=\"true\">"
    "http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</a:Action></e:Header>"
    "<e:Body><d:Probe><d:Types>n:NetworkVideoTransmitter</d:Types></d:Probe></e:Body>"
    "</e:Envelope>\n";

struct onvif_probe {
    int fd;
    char id[UUID_TEXT], text[2048];
    int length;
    char seen[DISCOVERED_MOST][ONVIF_TEXT]; /* endpoints */
    unsigned n_seen;
    struct onvif_asked asked[DISCOVERED_MOST];
    unsigned n_asked;
};

/* RFC 4122, version 4 */
static bool probe_identity(char out[UUID_TEXT])
{
    uint8_t b[16];
    if (getrandom(b, sizeof(b), 0) != (ssize_t)sizeof(b))
        return false;
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    int n = snprintf(out, UUID_TEXT, "uuid:");
    for (int i = 0; i < 16; i++)
        n += snprintf(out + n, UUID_TEXT - (size_t)n, "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    return true;
}

static bool probe_send(const struct onvif_probe *p, struct in_addr to, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = to};
    return sendto(p->fd, p->text, (size_t)p->length, 0, (struct sockaddr *)&address,
                  sizeof(address)) == p->length;
}

/* By each interface that is up. */
static bool probe_multicast(const struct onvif_probe *p)
{
    struct ifaddrs *list = NULL;
    struct in_addr group;
    bool sent = false;
    inet_pton(AF_INET, GROUP, &group);
    if (getifaddrs(&list) < 0)
        return false;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP) ||
            !(i->ifa_flags & IFF_MULTICAST))
            continue;
        struct in_addr by = ((const struct sockaddr_in *)i->ifa_addr)->sin_addr;
        sent |= setsockopt(p->fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof(by)) == 0 &&
                probe_send(p, group, PORT);
    }
    freeifaddrs(list);
    return sent;
}

/* "ADDRESS" or "ADDRESS:PORT" */
static bool probe_one(const struct onvif_probe *p, const char *text)
{
    char host[64], *colon, *end;
    unsigned long port = PORT;
    struct in_addr to;
    if (snprintf(host, sizeof(host), "%s", text) >= (int)sizeof(host))
        return false;
    colon = strchr(host, ':');
    if (colon) {
        *colon = 0;
        errno = 0;
        port = strtoul(colon + 1, &end, 10);
        if (errno || *end || end == colon + 1 || port == 0 || port > UINT16_MAX)
            return false;
    }
    return inet_pton(AF_INET, host, &to) == 1 && probe_send(p, to, (uint16_t)port);
}

static bool endpoint_is_new(struct onvif_probe *p, const char *endpoint)
{
    for (unsigned i = 0; i < p->n_seen; i++)
        if (!strcmp(p->seen[i], endpoint))
            return false;
    if (p->n_seen < DISCOVERED_MOST)
        memcpy(p->seen[p->n_seen++], endpoint, ONVIF_TEXT);
    return true;
}

static void answer_take(struct onvif_probe *p, struct discovery *d, const char *bytes, size_t size,
                        struct in_addr from)
{
    struct onvif_answer a;
    char host[INET_ADDRSTRLEN], title[DISCOVERED_TEXT];
    if (!onvif_answer_parse(bytes, size, &a) || strcmp(a.relates_to, p->id) != 0) {
        d->refused++;
        return;
    }
    if (!endpoint_is_new(p, a.endpoint))
        return;
    inet_ntop(AF_INET, &from, host, sizeof(host));
    bool both = a.name[0] && a.hardware[0] && strcmp(a.name, a.hardware) != 0;
    snprintf(title, sizeof(title), "%.120s%s%.120s", a.name, both ? " " : "",
             both || !a.name[0] ? a.hardware : "");
    struct discovered *c = discovery_add(d, "onvif", title[0] ? title : host);
    if (!c)
        return;
    snprintf(c->uri, sizeof(c->uri), "rtsp://%s/", host);
    snprintf(c->missing, sizeof(c->missing), "the path of its stream");
    c->login = true;
    struct onvif_asked *asked = &p->asked[p->n_asked++]; /* no more than the list has */
    asked->host = from;
    asked->camera = c;
    memcpy(asked->services, a.services, sizeof(asked->services));
}

static void answers_take(struct onvif_probe *p, struct discovery *d, char *bytes, double seconds)
{
    int64_t end = onvif_clock_ms() + (int64_t)(1000 * seconds), left;
    for (int n = 0; n < ANSWERS_MOST && (left = end - onvif_clock_ms()) > 0; n++) {
        struct pollfd poll_fd = {.fd = p->fd, .events = POLLIN};
        struct sockaddr_in from = {0};
        socklen_t length = sizeof(from);
        if (poll(&poll_fd, 1, (int)left) <= 0)
            continue;
        ssize_t size =
            recvfrom(p->fd, bytes, ONVIF_BYTES, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (size > 0 && length == sizeof(from) && from.sin_family == AF_INET)
            answer_take(p, d, bytes, (size_t)size, from.sin_addr);
    }
}

bool discover_onvif(struct discovery *d, const char *address, double seconds,
                    const struct onvif_login *login, char why[128])
{
    struct onvif_probe *p = calloc(1, sizeof(*p));
    char *bytes = malloc(ONVIF_BYTES);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool good = p && bytes && fd >= 0 && probe_identity(p->id);
    if (!good)
        snprintf(why, 128, "no socket: %s", strerror(errno));
    if (good) {
        p->fd = fd;
        p->length = snprintf(p->text, sizeof(p->text), probe_form, p->id);
        good = address ? probe_one(p, address) : probe_multicast(p);
        if (!good)
            snprintf(why, 128,
                     address ? "%.60s: not an IPv4 address that takes a probe"
                             : "no network interface takes a probe%.0s",
                     address ? address : "");
    }
    if (good) {
        answers_take(p, d, bytes, seconds);
        onvif_ask(p->asked, p->n_asked, login);
    }
    if (fd >= 0)
        close(fd);
    free(bytes);
    free(p);
    return good;
}
