/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding a daemon: the one that is named, the user's, the system's. Files and addresses get a
 * private one where none runs; names of a configuration never do. The failure modes are those of
 * pelton_connect and pelton_spawn, and options that a running daemon cannot follow.
 */
#include "client/connection.h"

#include "client/commands.h"
#include "client/daemon_log.h"
#include "client/option_table.h"
#include "proto/socket_path.h"
#include "proto/start_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPECTED_MOST (1ull << 40) /* bytes */

enum { CONNECT_MS = 10000, SPAWN_MS = 60000 };

void announce_device(const struct pelton_device *device)
{
    static bool told;
    if (!device->software || told)
        return;
    told = true;
    if (device->libavcodec)
        ui_log(LOG_WARNING, "no GPU: %s decodes, not pelton", device->name);
    else
        ui_log(LOG_WARNING, "%s is a software device: slow", device->name);
}

const char *decoder_name(bool libavcodec)
{
    return libavcodec ? "libavcodec" : "pelton";
}

const char *device_kind(const struct pelton_device *device)
{
    return device->libavcodec ? " (no GPU)" : device->software ? " (software)" : "";
}

static int log_descriptor(const struct client_options *o)
{
    if (ui_says(LOG_VERBOSE) || o->connect.gpu_debug || start_trace_on())
        return -1;
    return daemon_log_open();
}

/* MiB of all inputs, by all passes; 0: unknown. */
static uint64_t inputs_mib(const struct client_options *o)
{
    uint64_t sum = 0, passes = o->read.loops < 0 ? 0 : (uint64_t)o->read.loops + 1;
    struct stat st;
    for (unsigned i = 0; i < o->n_inputs; i++) {
        if (stat(o->inputs[i], &st) || !S_ISREG(st.st_mode))
            return 0;
        if (passes && (uint64_t)st.st_size > (EXPECTED_MOST - sum) / passes)
            return 0;
        sum += passes * (uint64_t)st.st_size;
    }
    return sum < EXPECTED_MOST ? (sum + (1 << 20) - 1) >> 20 : 0;
}

/* MiB that will be decoded, where a frame has one at most; 0: unknown. */
static uint64_t expected_mib(const struct client_options *o)
{
    if (!o->command || o->command->bit == CMD_BENCH)
        return 0;
    uint64_t mib = inputs_mib(o), frames = o->read.max_frames;
    return frames && (!mib || frames < mib) && frames < EXPECTED_MOST >> 20 ? frames : mib;
}

static int spawn_private(const struct client_options *o, struct pelton **out, struct failure *f)
{
    const char *extra[MAX_CONFIG + 5];
    char expected[32];
    unsigned n = 0;
    snprintf(expected, sizeof(expected), "expected=%" PRIu64, expected_mib(o));
    extra[n++] = expected; /* before what was typed, which counts */
    for (unsigned i = 0; i < o->connect.n_config; i++)
        extra[n++] = o->connect.config[i];
    if (o->connect.lookahead_given)
        extra[n++] = o->connect.lookahead;
    if (o->bench.stages)
        extra[n++] = "timestamps=true";
    if (o->command && o->command->bit == CMD_BENCH)
        extra[n++] = "libavcodec=false"; /* figures are pelton's own */
    extra[n] = NULL;
    int log_fd = log_descriptor(o);
    struct pelton_spawn_params params = {
        .device = o->connect.device, .extra = extra, .log_fd = log_fd};
    start_trace("a private daemon is started");
    int rc = pelton_spawn(&params, SPAWN_MS, out);
    int code = rc == PELTON_ERR_NO_DAEMON ? daemon_log_cause(log_fd, f) : 0;
    if (log_fd >= 0)
        close(log_fd);
    return code ? code : rc < 0 ? fail_pelton(f, NULL, NULL) : 0;
}

/* Whether the command is about sources that a configuration names. */
static bool reads_names(const struct client_options *o)
{
    bool names = o->command && o->command->bit == CMD_SOURCES;
    for (unsigned i = 0; i < o->n_inputs; i++)
        names |= strncmp(o->inputs[i], "source:", 7) == 0;
    return names;
}

/* Whether -c gives the private daemon a source. */
static bool gives_sources(const struct client_options *o)
{
    bool gives = false;
    for (unsigned i = 0; i < o->connect.n_config; i++)
        gives |= strncmp(o->connect.config[i], "sources.", 8) == 0;
    return gives;
}

/* Some options only a private daemon can follow. */
static bool wants_private(const struct client_options *o)
{
    return (o->connect.device_given && !reads_names(o)) || o->connect.n_config > 0 ||
           o->connect.lookahead_given || o->bench.stages;
}

static int check_private(const struct client_options *o, struct failure *f)
{
    if (o->connect.socket && (o->connect.n_config > 0 || o->connect.lookahead_given)) {
        return fail_with(f, X_USAGE, "set it in that daemon's configuration, or leave --socket out",
                         "%s: -c and --lookahead are for a private daemon", o->connect.socket);
    }
    if (!o->connect.socket && wants_private(o) && reads_names(o) && !gives_sources(o)) {
        return fail_with(f, X_USAGE, "leave -c out, or add -c sources.NAME.uri=ADDRESS",
                         "-c starts a private daemon, and that names no sources");
    }
    return 0;
}

/* The failure of a daemon that may not be used. A file can go to a private daemon; that is said,
 * never done in silence. */
static int connection_refused(const struct client_options *o, const char *path, struct failure *f)
{
    int rc = fail_pelton(f, NULL, path);
    size_t n = strlen(f->hint);
    if (rc == X_PERMISSION && !reads_names(o))
        snprintf(f->hint + n, sizeof(f->hint) - n,
                 "; --device auto takes a private daemon for files");
    return rc;
}

/* Commands that encode take their encoder's device from the option. */
static void warn_of_device(const struct client_options *o, const char *daemon)
{
    bool encodes = o->command && o->command->bit & ENCODES;
    if (o->connect.device_given && !encodes)
        ui_log(LOG_WARNING, "--device %s has no effect: the daemon at %s has a device of its own",
               o->connect.device, daemon);
}

/* A daemon that runs. 0 with *out NULL: none does, and a private one may serve this command. */
static int connect_running(const struct client_options *o, struct pelton **out, struct failure *f)
{
    const char *path = o->connect.socket ? o->connect.socket : socket_named();
    bool doctor = o->command && o->command->bit == CMD_DOCTOR;
    *out = NULL;
    if (pelton_connect(path, CONNECT_MS, out) == 0) {
        ui_log(LOG_VERBOSE, "daemon: %s", pelton_socket(*out));
        warn_of_device(o, pelton_socket(*out));
        return 0;
    }
    int code = pelton_failure(NULL)->code;
    if (path || (code != PELTON_ERR_NO_DAEMON && !(doctor && code == PELTON_ERR_PERMISSION)))
        return connection_refused(o, path, f);
    if (reads_names(o)) {
        return fail_with(f, X_NO_DAEMON,
                         "systemctl start peltond, or peltond -c FILE, or --socket PATH",
                         "no daemon runs (%s)", pelton_failure(NULL)->cause);
    }
    ui_log(LOG_VERBOSE, "daemon: a private one, as none runs (%s)", pelton_failure(NULL)->cause);
    return 0;
}

static int connect_or_spawn(const struct client_options *o, struct pelton **out, struct failure *f)
{
    int rc = check_private(o, f);
    if (rc == 0 && (o->connect.socket || !wants_private(o))) {
        rc = connect_running(o, out, f);
        if (rc || *out)
            return rc;
    }
    return rc ? rc : spawn_private(o, out, f);
}

int connection_open(const struct client_options *o, struct pelton **out, struct failure *f)
{
    struct pelton *conn = NULL;
    int rc = connect_or_spawn(o, &conn, f);
    start_trace("the daemon has answered");
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
