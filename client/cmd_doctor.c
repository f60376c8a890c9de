/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton doctor: each thing that decoding needs, found or not, with one line of advice.
 */
#include "client/commands.h"
#include "client/connection.h"
#include "client/input.h"
#include "client/limits_report.h"
#include "client/ui.h"
#include "gpu/tune/tune.h"
#include "proto/json.h"
#include "proto/socket_path.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <libavcodec/avcodec.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum { MAX_CHECKS = 64 };

enum verdict { GOOD, NOTE, BAD };

struct check {
    enum verdict verdict;
    char name[32], what[320], advice[320];
};

struct doctor {
    struct check checks[MAX_CHECKS];
    unsigned n;
    bool libavcodec; /* decodes */
};

static void doctor_add(struct doctor *d, enum verdict verdict, const char *name, const char *advice,
                       const char *what, ...) __attribute__((format(printf, 5, 6)));

static void doctor_add(struct doctor *d, enum verdict verdict, const char *name, const char *advice,
                       const char *what, ...)
{
    if (d->n == MAX_CHECKS)
        return;
    struct check *c = &d->checks[d->n++];
    va_list args;
    va_start(args, what);
    vsnprintf(c->what, sizeof(c->what), what, args);
    va_end(args);
    snprintf(c->name, sizeof(c->name), "%s", name);
    snprintf(c->advice, sizeof(c->advice), "%s", advice);
    c->verdict = verdict;
}

/* ---- the machine ---- */

static void check_machine(struct doctor *d)
{
    struct utsname u;
    if (uname(&u) == 0)
        doctor_add(d, GOOD, "system", "", "%s %s %s", u.sysname, u.release, u.machine);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    doctor_add(d, cpus >= 4 ? GOOD : NOTE, "cpu",
               cpus >= 4 ? ""
                         : "entropy decoding scales with cores: few cores bound the frame rate",
               "%ld cores", cpus);
    struct stat st;
    bool container = stat("/.dockerenv", &st) == 0 || stat("/run/.containerenv", &st) == 0;
    if (container) {
        doctor_add(d, NOTE, "container",
                   "give it the devices: --device /dev/dri, or --gpus all with "
                   "NVIDIA_DRIVER_CAPABILITIES=graphics,compute",
                   "this is a container");
    }
}

static void check_memfd(struct doctor *d)
{
    int fd = memfd_create("pelton-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    bool sealed = fd >= 0 && ftruncate(fd, 4096) == 0 &&
                  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) == 0;
    if (sealed) {
        doctor_add(d, GOOD, "memfd", "",
                   "sealed shared memory works (the size of /dev/shm does not matter)");
    } else {
        doctor_add(d, BAD, "memfd",
                   "Linux 5.1 or newer is needed, and a seccomp filter that allows memfd_create",
                   "no sealed shared memory: %s", strerror(errno));
    }
    if (fd >= 0)
        close(fd);
}

static void limit_text(rlim_t value, char *out, size_t size)
{
    if (value == RLIM_INFINITY)
        snprintf(out, size, "unlimited");
    else
        snprintf(out, size, "%llu KiB", (unsigned long long)value / 1024);
}

static void check_limits(struct doctor *d)
{
    struct rlimit r;
    char text[48];
    if (getrlimit(RLIMIT_MEMLOCK, &r) == 0) {
        bool enough = r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= 64u << 20;
        limit_text(r.rlim_cur, text, sizeof(text));
        doctor_add(
            d, enough ? GOOD : NOTE, "memlock",
            enough ? ""
                   : "some drivers pin imported memory: raise ulimit -l where frames are copied "
                     "instead",
            "%s", text);
    }
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        bool enough = r.rlim_cur == RLIM_INFINITY || r.rlim_cur >= 256;
        doctor_add(d, enough ? GOOD : NOTE, "open files",
                   enough ? "" : "raise ulimit -n for many streams", "%llu",
                   (unsigned long long)r.rlim_cur);
    }
}

static bool in_group(gid_t group)
{
    gid_t groups[256];
    int n = getgroups(256, groups);
    for (int i = 0; i < n; i++)
        if (groups[i] == group)
            return true;
    return getegid() == group;
}

/* Render nodes and NVIDIA's devices: the user must be able to open one of them. */
static void check_nodes(struct doctor *d)
{
    glob_t found = {0};
    int flags = glob("/dev/dri/renderD*", 0, NULL, &found) == 0 ? GLOB_APPEND : 0;
    glob("/dev/nvidia[0-9]*", flags, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        struct stat st;
        if (access(path, R_OK | W_OK) == 0) {
            doctor_add(d, GOOD, "node", "", "%s can be opened", path);
        } else if (stat(path, &st) == 0) {
            struct group *g = getgrgid(st.st_gid);
            char advice[256];
            snprintf(advice, sizeof(advice),
                     in_group(st.st_gid) ? "ask the administrator for access"
                                         : "sudo usermod -aG %s $USER, then log in again",
                     g ? g->gr_name : "render");
            doctor_add(d, NOTE, "node", advice, "%s: %s (group %s)", path, strerror(EACCES),
                       g ? g->gr_name : "unknown");
        }
    }
    if (found.gl_pathc == 0) {
        doctor_add(d, NOTE, "node",
                   "without a GPU libavcodec decodes, and frames of cameras come from a software "
                   "device",
                   "no /dev/dri/renderD* and no /dev/nvidia*");
    }
    globfree(&found);
}

static void check_socket(struct doctor *d, const struct client_options *o)
{
    char found[SOCKET_PATH], hint[256];
    const char *path = o->connect.socket;
    struct stat st;
    if (!path) {
        socket_default(found);
        path = found;
    }
    if (stat(path, &st) < 0 && errno == EACCES) {
        socket_access_hint(path, hint, sizeof(hint));
        doctor_add(d, BAD, "socket", hint, "%s: %s", path, strerror(EACCES));
    } else if (stat(path, &st) < 0) {
        doctor_add(d, NOTE, "socket",
                   "no daemon runs: files are decoded by private ones, and no source has a name",
                   "%s: %s", path, strerror(errno));
    } else if (!S_ISSOCK(st.st_mode)) {
        doctor_add(d, BAD, "socket", "name the socket with --socket or PELTON_SOCKET",
                   "%s: not a socket", path);
    } else if (access(path, R_OK | W_OK) < 0) {
        struct group *g = getgrgid(st.st_gid);
        int error = errno;
        socket_access_hint(path, hint, sizeof(hint));
        doctor_add(d, BAD, "socket", hint, "%s: %s (mode %04o, group %s)", path, strerror(error),
                   (unsigned)st.st_mode & 07777, g ? g->gr_name : "unknown");
    } else {
        doctor_add(d, GOOD, "socket", "", "%s (mode %04o)", path, (unsigned)st.st_mode & 07777);
    }
}

/* ---- devices ---- */

/* The kernels that a daemon of this user would use on the device. */
static void check_kernels(struct doctor *d, const struct client_options *o,
                          const struct pelton_device *device)
{
    struct gpu_device_info info = {.software = device->software};
    struct tune tune;
    enum tune_cache state = TUNE_CACHE_NONE;
    char why[TUNE_WHY];
    bool plain = false;
    snprintf(info.name, sizeof(info.name), "%s", device->name);
    snprintf(info.uuid, sizeof(info.uuid), "%.36s", device->uuid);
    snprintf(info.driver, sizeof(info.driver), "%s", device->driver);
    for (unsigned i = 0; i < o->connect.n_config; i++)
        plain = plain || !strcmp(o->connect.config[i], "tune=false");
    if (plain)
        tune_preset(&info, &tune);
    else
        state = tune_load(&info, &tune, why);
    if (state == TUNE_CACHE_OLD || state == TUNE_CACHE_BROKEN)
        doctor_add(d, NOTE, "kernels", "pelton tune makes it again", "%s", why);
    if (o->connect.tune_force[0] &&
        !tune_force(o->connect.tune_force + strlen("debug.tune_force="), &tune)) {
        doctor_add(d, BAD, "kernels", "see: pelton help doctor", "%s: no such family and variant",
                   o->connect.tune_force);
        return;
    }
    for (int f = 0; f < TUNE_FAMILIES; f++) {
        const uint8_t *choice = tune.choice[f];
        bool known = plain || device->software || tune.source[f] != TUNE_BY_KIND;
        doctor_add(d, known ? GOOD : NOTE, "kernels",
                   known ? "" : "pelton tune measures which are fastest here",
                   "%s: %s up to 720p, %s up to 1440p, %s beyond (%s)",
                   tune_family_name((enum tune_family)f),
                   tune_variant_name((enum tune_family)f, choice[TUNE_SMALL]),
                   tune_variant_name((enum tune_family)f, choice[TUNE_HD]),
                   tune_variant_name((enum tune_family)f, choice[TUNE_LARGE]),
                   tune_source_text(tune.source[f]));
    }
}

#define VULKAN_HINT "install the GPU's Vulkan driver, or mesa-vulkan-drivers for a software device"

/* On a software device libavcodec is faster, where it has a decoder. */
static void check_decoder(struct doctor *d, const struct pelton_device *device)
{
    if (!device->software || avcodec_find_decoder_by_name("h264"))
        doctor_add(d, GOOD, "decoder", "", "pelton");
    else
        doctor_add(d, NOTE, "decoder", "pelton of a package is linked with one",
                   "pelton; this libavcodec has no H.264 decoder, which would be faster");
}

static int check_devices(struct doctor *d, const struct client_options *o, struct pelton *conn,
                         struct failure *f)
{
    struct pelton_device *list = NULL, chosen;
    size_t n = 0;
    if (pelton_devices(conn, timeout_ms(o), &list, &n) < 0)
        return fail_pelton(f, conn, NULL);
    for (size_t i = 0; i < n; i++) {
        doctor_add(d, list[i].software ? NOTE : GOOD, "device",
                   list[i].software ? "a software device: correct, and slow" : "",
                   "%s, %s, uuid %s", list[i].name, list[i].driver, list[i].uuid);
    }
    free(list);
    bool opened = pelton_device(conn, &chosen) >= 0;
    if (n == 0) {
        doctor_add(d, opened ? NOTE : BAD, "device", VULKAN_HINT, "no Vulkan device");
        if (!opened)
            return fail_with(f, X_NO_DEVICE, VULKAN_HINT, "no Vulkan device");
    }
    if (!opened)
        return fail_pelton(f, conn, NULL);
    d->libavcodec = chosen.libavcodec;
    if (chosen.libavcodec) {
        doctor_add(d, NOTE, "decoder", "--device cpu takes the software device",
                   "no GPU: %s decodes; the software device does what it cannot", chosen.name);
        return 0;
    }
    doctor_add(d, chosen.software ? NOTE : GOOD, "chosen", "", "%s%s", chosen.name,
               device_kind(&chosen));
    check_decoder(d, &chosen);
    if (chosen.entropy_pictures) {
        doctor_add(
            d, GOOD, "entropy", "",
            "slices are decoded by the CPU, and those of files by the GPU too, up to %u pictures "
            "at once",
            chosen.entropy_pictures);
    } else {
        doctor_add(d, GOOD, "entropy", "", "slices are decoded by the CPU");
    }
    check_kernels(d, o, &chosen);
    return 0;
}

/* After check_devices, with which the worker has started. */
static void check_sandbox(struct doctor *d, const struct client_options *o, struct pelton *conn)
{
    const uint32_t both = PELTON_SANDBOX_CALLS | PELTON_SANDBOX_FILES;
    struct pelton_status status;
    struct pelton_stream_status *streams = NULL;
    size_t n = 0;
    if (pelton_status(conn, timeout_ms(o), &status, &streams, &n) < 0)
        return;
    free(streams);
    for (uint32_t i = 0; i < status.n_processes; i++) {
        uint32_t sandbox = status.processes[i].sandbox;
        bool off = sandbox & PELTON_SANDBOX_OFF, whole = (sandbox & both) == both;
        doctor_add(d, whole && !off ? GOOD : NOTE, "sandbox",
                   off     ? "sandbox=true turns it on; --print-config tells who turned it off"
                   : whole ? ""
                           : "a kernel with seccomp and Landlock, and a build with libseccomp",
                   "%s: %s", i ? "worker" : "daemon", sandbox_text(sandbox));
    }
}

static int check_daemon(struct doctor *d, const struct client_options *o, struct failure *f)
{
    struct pelton *conn = NULL;
    int rc = connection_open(o, &conn, f);
    if (rc == 0) {
        const char *path = pelton_socket(conn);
        doctor_add(d, GOOD, "daemon", "", "%s%s", path ? "answers at " : "a private one answers",
                   path ? path : "");
        rc = check_devices(d, o, conn, f);
        check_sandbox(d, o, conn);
    } else {
        doctor_add(d, BAD, "daemon", f->hint, "%.300s", f->cause);
    }
    pelton_close(conn);
    return rc;
}

/* ---- report ---- */

static void print_text(const struct doctor *d)
{
    static const char *const marks[] = {"ok  ", "note", "BAD "};
    for (unsigned i = 0; i < d->n; i++) {
        const struct check *c = &d->checks[i];
        printf("%s  %-10s %s\n", marks[c->verdict], c->name, c->what);
        if (c->advice[0])
            printf("      %-10s %s\n", "", c->advice);
    }
    putchar('\n');
    print_libraries();
}

static void doctor_print_json(const struct doctor *d, bool possible)
{
    static const char *const words[] = {"ok", "note", "bad"};
    struct json j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_bool(&j, "decoding_possible", possible);
    json_text(&j, "decoder", possible ? decoder_name(d->libavcodec) : NULL);
    json_open(&j, "checks", '[');
    for (unsigned i = 0; i < d->n; i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "check", d->checks[i].name);
        json_text(&j, "verdict", words[d->checks[i].verdict]);
        json_text(&j, "what", d->checks[i].what);
        json_text(&j, "advice", d->checks[i].advice[0] ? d->checks[i].advice : NULL);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

int cmd_doctor(struct client_options *o, struct failure *f)
{
    struct doctor *d = calloc(1, sizeof(*d));
    if (!d)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    check_machine(d);
    check_memfd(d);
    check_limits(d);
    check_nodes(d);
    check_socket(d, o);
    int rc = check_daemon(d, o, f);
    if (o->json)
        doctor_print_json(d, rc == 0);
    else
        print_text(d);
    free(d);
    return rc;
}
