/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cameras that this machine and its networks have, for the configuration of a daemon.
 */
#ifndef CLIENT_DISCOVER_H
#define CLIENT_DISCOVER_H

#include <stdbool.h>
#include <stdint.h>

enum { DISCOVERED_MOST = 256, DISCOVERED_TEXT = 256, DISCOVERED_FORMATS = 32 };

struct discovered_format {
    char fourcc[5];         /* printable */
    uint32_t width, height; /* the largest size */
    double fps;             /* at that size, the most; 0: unknown */
    bool foreign;           /* pelton does not take it */
    /* of a network camera's stream; empty: unknown */
    char uri[DISCOVERED_TEXT + 32];
};

/* All text is printable ASCII. */
struct discovered {
    const char *kind;            /* v4l2, libcamera, onvif */
    char name[32];               /* for the configuration: letters, digits, '-' */
    char title[DISCOVERED_TEXT]; /* as the device calls itself */
    char uri[DISCOVERED_TEXT + 32];
    char missing[64];   /* of the uri; empty: nothing */
    char cause[128];    /* why it cannot be used now; empty: it can */
    bool login;         /* it wants a user and a password */
    uint32_t n_streams; /* formats that have an address */
    struct discovered_format formats[DISCOVERED_FORMATS];
    uint32_t n_formats;
};

struct discovery {
    struct discovered list[DISCOVERED_MOST];
    uint32_t n;
    uint32_t left_out; /* more than there is room for */
    uint32_t refused;  /* answers that are no answers */
};

/* The next one, empty, with a name that no other has; NULL: no room, counted. title becomes
 * printable and may be hostile. */
struct discovered *discovery_add(struct discovery *d, const char *kind, const char *title);
/* The format with the most samples a second, of those with an address where one has it; NULL:
 * none. */
const struct discovered_format *discovered_best(const struct discovered *c);
/* Copies what is printable ASCII; the rest becomes '?'. */
void discovery_text(char *out, uint32_t size, const char *text);

/* Capture devices below this folder, by their identity where there is one. */
void discover_v4l2(struct discovery *d, const char *folder);
/* As libcamera's program cam lists them, where it is installed. */
void discover_libcamera(struct discovery *d);
struct onvif_login;
/* WS-Discovery: probes every interface by multicast, or this address alone (IPv4, perhaps with a
 * port), and takes answers for so long. Then it asks each camera for its streams. False, with the
 * reason in why[128]. */
bool discover_onvif(struct discovery *d, const char *address, double seconds,
                    const struct onvif_login *login, char why[128]);

#endif
