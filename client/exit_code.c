/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Failures of a run: an error of libpelton or of the system becomes an exit code, a cause and a
 * hint.
 */
#include "client/exit_code.h"
#include "client/ui.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    int error, code;
    const char *hint;
} pelton_errors[] = {
    {PELTON_ERR_OTHER, X_OTHER, "run again with -loglevel debug to see what the daemon says"},
    {PELTON_ERR_USAGE, X_USAGE,
     "pelton help COMMAND explains the options; docs/cameras.md lists the settings of sources and "
     "the controls"},
    {PELTON_ERR_INPUT, X_INPUT, "pelton probe tells what the input is"},
    {PELTON_ERR_UNSUPPORTED, X_UNSUPPORTED,
     "pelton probe tells what the stream uses; ffmpeg may decode it on the CPU"},
    {PELTON_ERR_DECODE, X_DECODE,
     "--on-error show delivers damaged frames, --on-error drop leaves them out"},
    {PELTON_ERR_NO_DEVICE, X_NO_DEVICE,
     "pelton doctor lists the devices; --device cpu takes a software device"},
    {PELTON_ERR_NO_DAEMON, X_NO_DAEMON,
     "start peltond there, or name another socket with --socket"},
    {PELTON_ERR_PERMISSION, X_PERMISSION,
     "check the permissions; pelton doctor lists groups and sockets"},
    {PELTON_ERR_TIMEOUT, X_TIMEOUT, "--timeout allows more time; 0 waits for ever"},
    {PELTON_ERR_GPU_LOST, X_OTHER, "the driver reset the device: try again, or use --device cpu"},
    {PELTON_ERR_WORKER_LOST, X_OTHER,
     "try again with -loglevel debug; a stream that ends the worker is a bug worth a report"},
    {PELTON_ERR_GONE, X_OTHER,
     "the daemon has ended, or cut this connection off: its log says why"},
    {PELTON_ERR_PROTOCOL, X_NO_DAEMON, "the daemon is of another version: see pelton version"},
    {PELTON_ERR_NOMEM, X_OTHER, "fewer streams, or a smaller --lookahead, take less memory"},
    {PELTON_ERR_NOT_FOUND, X_INPUT, "check the address; ls /dev/v4l/by-id lists cameras"},
    {PELTON_ERR_BUSY, X_INPUT, "a capture device serves one program: end the other one"},
    {PELTON_ERR_UNPLUGGED, X_INPUT, "check the cable"},
    {PELTON_ERR_REFUSED, X_INPUT, "check address and port, and that the server runs"},
    {PELTON_ERR_DNS, X_INPUT, "check the host's name"},
    {PELTON_ERR_CHANGED, X_INPUT, "open it again"},
    {PELTON_ERR_AUTH, X_PERMISSION, "check user and password"},
    {PELTON_ERR_LIMIT, X_OTHER,
     "a quota of the daemon is used up: close other readers or raise it"},
};

static const char *hint_of(int pelton_error)
{
    for (size_t i = 0; i < sizeof(pelton_errors) / sizeof(pelton_errors[0]); i++)
        if (pelton_errors[i].error == pelton_error)
            return pelton_errors[i].hint;
    return "run again with -loglevel debug";
}

int exit_code_of(int pelton_error)
{
    for (size_t i = 0; i < sizeof(pelton_errors) / sizeof(pelton_errors[0]); i++)
        if (pelton_errors[i].error == pelton_error)
            return pelton_errors[i].code;
    return pelton_error == 0 ? X_SUCCESS : X_OTHER;
}

/* Names and texts of others must not start lines of their own. */
static void text_to_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 127)
            *text = ' ';
}

int fail_with(struct failure *f, int code, const char *hint, const char *cause, ...)
{
    if (f->code != 0)
        return f->code;
    va_list args;
    va_start(args, cause);
    vsnprintf(f->cause, sizeof(f->cause), cause, args);
    va_end(args);
    snprintf(f->hint, sizeof(f->hint), "%s", hint);
    text_to_one_line(f->cause);
    text_to_one_line(f->hint);
    f->code = code;
    return code;
}

/* True: the cause names its subject already. Of an address only the part after user and password
 * counts, without settings. */
static bool says_name(const char *cause, const char *name)
{
    char part[256];
    const char *start = strstr(name, "://"), *at = start ? strrchr(start, '@') : NULL;
    start = at ? at + 1 : start ? start + 3 : name;
    snprintf(part, sizeof(part), "%.*s",
             start == name ? (int)sizeof(part) : (int)strcspn(start, "?"), start);
    return part[0] && strstr(cause, part);
}

const char *plain_name(const char *text)
{
    return strncmp(text, "source:", 7) == 0 ? text + 7 : text;
}

int fail_pelton(struct failure *f, const struct pelton *conn, const char *name)
{
    const struct pelton_failure *p = pelton_failure(conn);
    const char *hint = p->hint[0] ? p->hint : hint_of(p->code);
    const char *cause = p->cause[0] ? plain_name(p->cause) : "the daemon gave no cause";
    name = name ? plain_name(name) : NULL;
    bool device = p->code == PELTON_ERR_NO_DEVICE; /* that is no failure of the input */
    if (name && !device && !says_name(cause, name))
        return fail_with(f, exit_code_of(p->code), hint, "%s: %s", name, cause);
    return fail_with(f, exit_code_of(p->code), hint, "%s", cause);
}

int fail_errno(struct failure *f, int code, int error, const char *name)
{
    const char *hint = "check the path";
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        hint = "free some space, or write elsewhere; what was written so far is kept";
        break;
    case EPIPE:
        return fail_with(f, X_SIGPIPE, "", "%s", "");
    case EFBIG:
        hint = "the file system or ulimit -f does not allow a larger file";
        break;
    case EACCES:
    case EPERM:
    case EROFS:
        hint = "check the permissions of the file and its folder";
        code = X_PERMISSION;
        break;
    default:
        break;
    }
    return fail_with(f, code, hint, "%s: %s", name[0] ? name : "\"\"", strerror(error));
}

void failure_print(const struct failure *f)
{
    if (f->code != 0 && f->cause[0])
        ui_failure(f->cause, f->hint);
}

const struct exit_meaning exit_meanings[] = {
    {0, "success"},
    {1, "any other error"},
    {2, "usage or configuration"},
    {3, "fewer frames per second than --min-fps"},
    {4, "the input: not found, empty, not a video, truncated"},
    {5, "the stream uses a tool that is not supported"},
    {6, "damaged stream under --on-error fail"},
    {7, "no device"},
    {8, "no daemon"},
    {9, "permission"},
    {10, "frames differ from the reference"},
    {11, "time-out"},
    {130, "SIGINT"},
    {141, "the reader of the output has ended (SIGPIPE)"},
    {143, "SIGTERM"},
};
const unsigned n_exit_meanings = sizeof(exit_meanings) / sizeof(exit_meanings[0]);
