/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding a daemon: the one that is named, the system's, or a private one. The failure modes are
 * those of pelton_connect and pelton_spawn, and options that a running daemon cannot follow.
 */
#include "client/connection.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define SYSTEM_SOCKET "/run/pelton/pelton.sock"

enum { CONNECT_MS = 10000, SPAWN_MS = 60000 };

void announce_device(const struct pelton_device *device)
{
    static bool told;
    if (device->software && !told) {
        told = true;
        ui_log(LOG_WARNING, "%s is a software device: slow", device->name);
    }
}

static int log_descriptor(const struct client_options *o)
{
    if (ui_says(LOG_VERBOSE) || o->connect.gpu_debug)
        return -1;
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

static int spawn_private(const struct client_options *o, struct pelton **out, struct failure *f)
{
    const char *extra[MAX_CONFIG + 3];
    unsigned n = 0;
    for (unsigned i = 0; i < o->connect.n_config; i++)
        extra[n++] = o->connect.config[i];
    if (o->connect.lookahead_given)
        extra[n++] = o->connect.lookahead;
    if (o->bench.stages)
        extra[n++] = "timestamps=true";
    extra[n] = NULL;
    int log_fd = log_descriptor(o);
    struct pelton_spawn_params params = {
        .device = o->connect.device, .extra = extra, .log_fd = log_fd};
    int rc = pelton_spawn(&params, SPAWN_MS, out);
    if (log_fd >= 0)
        close(log_fd);
    return rc < 0 ? fail_pelton(f, NULL, NULL) : 0;
}

/* Some options only a private daemon can follow. */
static bool wants_private(const struct client_options *o)
{
    return o->connect.device_given || o->connect.n_config > 0 || o->connect.lookahead_given ||
           o->bench.stages;
}

static int check_private(const struct client_options *o, struct failure *f)
{
    if (o->connect.n_config > 0 || o->connect.lookahead_given) {
        return fail_with(f, X_USAGE, "set it in that daemon's configuration, or leave --socket out",
                         "%s: -c and --lookahead are for a private daemon", o->connect.socket);
    }
    return 0;
}

static int connect_or_spawn(const struct client_options *o, struct pelton **out, struct failure *f)
{
    const char *env = getenv("PELTON_SOCKET");
    const char *path = o->connect.socket                    ? o->connect.socket
                       : !wants_private(o) && env && env[0] ? env
                                                            : NULL;
    if (path) {
        int rc = o->connect.socket ? check_private(o, f) : 0;
        return rc ? rc : pelton_connect(path, CONNECT_MS, out) < 0 ? fail_pelton(f, NULL, path) : 0;
    }
    if (!wants_private(o) && access(SYSTEM_SOCKET, R_OK | W_OK) == 0) {
        int rc = pelton_connect(SYSTEM_SOCKET, CONNECT_MS, out);
        if (rc == 0)
            return 0;
        ui_log(LOG_WARNING, "%s: %s; starting a private daemon", SYSTEM_SOCKET,
               pelton_failure(NULL)->cause);
    }
    return spawn_private(o, out, f);
}

int connection_open(const struct client_options *o, struct pelton **out, struct failure *f)
{
    struct pelton *conn;
    int rc = connect_or_spawn(o, &conn, f);
    if (rc == 0)
        *out = conn;
    return rc;
}

int timeout_ms(const struct client_options *o)
{
    return o->connect.timeout <= 0        ? -1
           : o->connect.timeout > 2000000 ? 2000000000
                                          : (int)(o->connect.timeout * 1000);
}
