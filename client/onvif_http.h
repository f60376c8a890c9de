/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One HTTP request to a network camera, which may be anybody. Nothing is believed: time and size
 * are bounded, no redirection is followed, and no other host is asked.
 */
#ifndef CLIENT_ONVIF_HTTP_H
#define CLIENT_ONVIF_HTTP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ONVIF_BODY_MOST = 256 << 10, ONVIF_PATH = 256 };

/* Where a service of a camera lies. The host is always the one that answered the probe. */
struct onvif_place {
    struct in_addr host;
    uint16_t port;
    char path[ONVIF_PATH]; /* printable, from '/' on */
};

/* Port and path of the first "http://..." of a text; a port is 80 where none is named. False: there
 * is none. */
bool onvif_place_take(struct onvif_place *place, const char *addresses);
/* "rtsp://HOST/PATH" with the camera's own host, and the port and path of a text. User and password
 * in it are left out. False: it is no such address. */
bool onvif_stream_address(struct in_addr host, const char *text, char *out, size_t size);

int64_t onvif_clock_ms(void);
/* Sends a text by POST. *body has to be freed; *size: its bytes. The status, or -1 with the reason
 * in why[64]. */
int onvif_post(const struct onvif_place *to, const char *text, int64_t until_ms, char **body,
               size_t *size, char why[64]);

#endif
