/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The streams of network cameras: their services are asked, as ONVIF says.
 */
#ifndef CLIENT_ONVIF_ASK_H
#define CLIENT_ONVIF_ASK_H

#include "client/discover.h"
#include "client/onvif_answer.h"

#include <netinet/in.h>

struct onvif_login {
    const char *user; /* NULL: none */
    char password[256];
};

/* A camera that has answered a probe. */
struct onvif_asked {
    struct in_addr host;
    char services[4 * ONVIF_TEXT]; /* as it names them */
    struct discovered *camera;     /* gets formats and address, or the reason why not */
};

/* Asks all of them, several at once. Each has five seconds, all of them have thirty. */
void onvif_ask(struct onvif_asked *list, unsigned n, const struct onvif_login *login);

#endif
