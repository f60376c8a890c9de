/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a client may open, and opening it again for the next worker: see opened_source.h.
 *
 * The happy path is a descriptor from the client: it has been opened with the client's rights. The
 * failure modes are:
 * - A descriptor that was not opened for reading. Opening it again here would lend the daemon's
 *   rights.
 * - An address that this client may not name.
 * - Later, a source that cannot be read from its start a second time (pipe, socket, address). It is
 *   not resumable.
 */
#include "daemon/broker/opened_source.h"

#include "camera/camera_params.h"
#include "daemon/broker/client_rights.h"
#include "daemon/broker/descriptor_reserve.h"
#include "daemon/broker/named.h"
#include "daemon/broker/shared_file.h"
#include "daemon/source_scheme.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMED "source:"

static int source_refuse(struct pelton_failure *failure, int code, const char *name,
                         const char *cause, const char *hint)
{
    failure->code = code;
    snprintf(failure->cause, sizeof(failure->cause), "%.120s: %s", name, cause);
    wire_copy(failure->hint, sizeof(failure->hint), hint);
    return code;
}

static int refuse_units(const struct broker_stream *s, struct pelton_failure *failure)
{
    return source_refuse(
        failure, PELTON_ERR_PERMISSION, stream_name(s),
        "rectangles of this source are blurred, and its encoded bytes would show them",
        "read its frames, in which they are blurred");
}

static int admit_descriptor(struct broker_stream *s, struct frame *f,
                            struct pelton_failure *failure)
{
    struct stat st;
    int fd = frame_take_fd(f, 0);
    if (fd < 0) {
        return source_refuse(failure, PELTON_ERR_USAGE, stream_name(s),
                             "neither an address nor a descriptor", "");
    }
    s->source.fd = fd; /* closed with the stream */
    s->source.has_fd = true;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY) {
        return source_refuse(failure, PELTON_ERR_INPUT, stream_name(s),
                             "the descriptor was not opened for reading", "");
    }
    if (fstat(fd, &st) < 0)
        return source_refuse(failure, PELTON_ERR_INPUT, stream_name(s), strerror(errno), "");
    s->source.resumable = S_ISREG(st.st_mode);
    s->source.start_offset = s->source.resumable ? lseek(fd, 0, SEEK_CUR) : 0;
    return PELTON_OK;
}

/* Opens path below the folder, wherever links lead it: never outside. -1 with errno. */
static int open_below(const char *folder, size_t folder_length, const char *path)
{
    char name[4096];
    if (folder_length == 0 || folder_length >= sizeof(name) ||
        strncmp(path, folder, folder_length) != 0 ||
        (folder[folder_length - 1] != '/' && path[folder_length] != '/')) {
        errno = EXDEV;
        return -1;
    }
    memcpy(name, folder, folder_length);
    name[folder_length] = 0;
    int dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    const char *rest = path + folder_length + strspn(path + folder_length, "/");
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, dir, rest, &how, sizeof(how));
    int error = errno;
    close(dir);
    errno = error;
    return fd;
}

static int admit_allowed_path(struct broker_stream *s, struct pelton_failure *failure)
{
    const char *path = s->source.open->uri;
    for (const char *folder = s->broker->settings->limits.allow_paths; folder && *folder;) {
        size_t length = strcspn(folder, ":");
        struct stat st;
        int fd = open_below(folder, length, path);
        if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
            close(fd);
            return source_refuse(failure, PELTON_ERR_INPUT, stream_name(s), "not a regular file",
                                 "");
        }
        if (fd >= 0) {
            s->source.fd = fd;
            s->source.has_fd = s->source.resumable = true;
            return PELTON_OK;
        }
        if (errno != EXDEV)
            return source_refuse(failure, PELTON_ERR_INPUT, stream_name(s), strerror(errno), "");
        folder += length + (folder[length] == ':');
    }
    return source_refuse(failure, PELTON_ERR_PERMISSION, stream_name(s),
                         "this daemon opens no addresses given by clients",
                         "pass an open file, or have the folder added to allow_paths");
}

/* A private daemon runs as its user and may open every address that the user may. Only a plain file
 * is the same when it is opened again; a camera goes on. */
static void admit_private_uri(struct broker_stream *s)
{
    struct stat st;
    const char *path = strncmp(s->source.open->uri, "file:", 5) == 0 ? s->source.open->uri + 5
                                                                     : s->source.open->uri;
    s->source.resumable = camera_address(path) || (stat(path, &st) == 0 && S_ISREG(st.st_mode));
}

/* Whether it can be opened again, by its address. */
static void source_set_resumable(struct broker_stream *s)
{
    admit_private_uri(s);
    s->source.live = source_is_network(s->source.open->uri);
    s->source.resumable |= s->source.live;
}

/* The worker encodes frames of cameras, and those of readers who wish that, with the rectangles in
 * them. It refuses a camera that gives H.264 itself. */
static bool units_hide(const struct broker_stream *s)
{
    return camera_address(s->source.open->uri) || s->source.open->encode;
}

/* Rectangles that the configuration hides are added to those that the client asks for. */
static int admit_blur(struct broker_stream *s, const struct named_source *source,
                      struct pelton_failure *failure)
{
    size_t n = s->source.open->n_blur, more = 4 * (size_t)source->config.n_blur;
    if (more && s->source.open->encoded && !s->probe && !units_hide(s))
        return refuse_units(s, failure);
    if (!more)
        return PELTON_OK;
    if (n + more > 4 * PELTON_MAX_BLURS) {
        return source_refuse(
            failure, PELTON_ERR_LIMIT, stream_name(s),
            "more rectangles to be blurred, with those of the source, than there may be", "");
    }
    /* protobuf-c's arrays are malloc's */
    uint32_t *grown = realloc(s->source.open->blur, (n + more) * sizeof(*grown));
    if (!grown)
        return source_refuse(failure, PELTON_ERR_NOMEM, stream_name(s), "out of memory", "");
    memcpy(grown + n, source->config.blur, more * sizeof(*grown));
    s->source.open->blur = grown;
    s->source.open->n_blur = n + more;
    return PELTON_OK;
}

/* Placeholders are painted into frames. Their readers make the files. */
static int admit_jpeg(struct broker_stream *s, const struct named_source *source,
                      struct pelton_failure *failure)
{
    const Pelton__Open *o = s->source.open;
    if (!o->encode || o->encode->codec != PELTON_CODEC_MJPEG || !source->config.upkeep.shown ||
        o->policy == PELTON_LOSSLESS)
        return PELTON_OK;
    return source_refuse(failure, PELTON_ERR_UNSUPPORTED, stream_name(s),
                         "the daemon makes no JPEG files of a source with a placeholder", "");
}

/* "source:NAME" becomes the address of the configuration. */
static int admit_named(struct broker_stream *s, struct pelton_failure *failure)
{
    const char *name = s->source.open->uri + strlen(NAMED);
    struct named_source *n = named_find(s->broker, name);
    if (!n) {
        return source_refuse(failure, PELTON_ERR_INPUT, name, "no source of this name",
                             "pelton sources lists them");
    }
    if (!client_may_read(s->client, n))
        return client_refuse_read(n, failure);
    char *uri = strdup(n->config.address),
         *called = s->source.open->name[0] ? NULL : strdup(n->config.name);
    if (!uri || (!called && !s->source.open->name[0])) {
        free(uri);
        free(called);
        return source_refuse(failure, PELTON_ERR_NOMEM, n->config.name, "out of memory", "");
    }
    free(s->source.open->uri); /* protobuf-c's strings are malloc's */
    s->source.open->uri = uri;
    /* messages name the stream, so its name is never the address. The
     * empty string of protobuf-c is not malloc's and is not freed */
    if (called)
        s->source.open->name = called;
    s->source.origin = n;
    source_set_resumable(s);
    int rc = admit_blur(s, n, failure);
    rc = rc ? rc : admit_jpeg(s, n, failure);
    if (rc == PELTON_OK && !s->probe)
        named_join(s, n);
    return rc;
}

int source_move(struct broker_stream *s, const struct named_source *n,
                struct pelton_failure *failure)
{
    char *uri = strdup(n->config.address);
    if (!uri)
        return source_refuse(failure, PELTON_ERR_NOMEM, n->config.name, "out of memory", "");
    free(s->source.open->uri);
    s->source.open->uri = uri;
    source_set_resumable(s);
    s->source.open->n_blur = s->source.own_blur;
    s->source.open->blur_width = s->source.open->blur_height = 0;
    return admit_blur(s, n, failure);
}

/* The same file or device, whatever the settings behind it. */
static bool same_address(const char *a, const char *b)
{
    a += strncmp(a, "file:", 5) == 0 ? 5 : 0;
    b += strncmp(b, "file:", 5) == 0 ? 5 : 0;
    size_t n = camera_address(a) ? strcspn(a, "?") : strlen(a);
    return strncmp(a, b, n) == 0 && (b[n] == 0 || (b[n] == '?' && camera_address(b)));
}

/* Rules and rectangles of the configuration hold for every reader, by whatever name it opens the
 * address. */
static int admit_address(struct broker_stream *s, struct pelton_failure *failure)
{
    int rc = PELTON_OK;
    for (const struct named_source *n = s->broker->named; n && rc == PELTON_OK; n = n->next)
        if (same_address(n->config.address, s->source.open->uri))
            rc = client_may_read(s->client, n) ? admit_blur(s, n, failure)
                                               : client_refuse_read(n, failure);
    return rc;
}

/* The source hides nothing, or nothing but what the worker was told to hide in the units. */
static bool units_show_no_more(const struct broker_stream *s, const struct named_source *n)
{
    const Pelton__Open *open = s->source.open;
    size_t hidden = open->n_blur - s->source.own_blur, more = 4 * (size_t)n->config.n_blur;
    return !more ||
           (units_hide(s) && hidden == more &&
            !memcmp(open->blur + s->source.own_blur, n->config.blur, more * sizeof(open->blur[0])));
}

int source_still_gives_units(struct broker_stream *s, struct pelton_failure *failure)
{
    bool good = true;
    if (!s->source.open->encoded || !s->source.open->uri[0])
        return PELTON_OK;
    if (s->source.origin)
        good = units_show_no_more(s, s->source.origin);
    for (const struct named_source *n = s->broker->named; n && !s->source.origin; n = n->next)
        good &= !same_address(n->config.address, s->source.open->uri) || units_show_no_more(s, n);
    return good ? PELTON_OK : refuse_units(s, failure);
}

/* Every named source of this address has to allow it. */
static int admit_import(struct broker_stream *s, struct pelton_failure *failure)
{
    const struct named_source *refuses = NULL, *n = s->source.origin;
    bool named = n != NULL;
    if (n && !client_may_import(s->client, n))
        refuses = n;
    for (n = s->source.open->uri[0] ? s->broker->named : NULL; n && !refuses; n = n->next) {
        if (!same_address(n->config.address, s->source.open->uri))
            continue;
        named = true;
        refuses = client_may_import(s->client, n) ? NULL : n;
    }
    if (!refuses && (named || client_may_import(s->client, NULL)))
        return PELTON_OK;
    return client_refuse_import(refuses, stream_name(s), failure);
}

static int admit(struct broker_stream *s, struct frame *f, struct pelton_failure *failure)
{
    struct pelton_open_params p;
    struct wire_stretch stretch;
    if (s->source.open->uri[0] && f->h.n_fds > 0) {
        return source_refuse(failure, PELTON_ERR_USAGE, stream_name(s),
                             "both an address and a descriptor", "");
    }
    if (wire_open_to(s->source.open, &p, &stretch) < 0)
        return source_refuse(failure, PELTON_ERR_USAGE, stream_name(s), "a value is out of range",
                             "");
    if (p.policy == PELTON_FIFO && p.depth > PELTON_FIFO_MOST) {
        return source_refuse(failure, PELTON_ERR_USAGE, stream_name(s),
                             "more than 60 frames cannot wait", "fifo:N takes N from 1 to 60");
    }
    if (!s->source.open->uri[0])
        return admit_descriptor(s, f, failure);
    if (strncmp(s->source.open->uri, NAMED, strlen(NAMED)) == 0)
        return admit_named(s, failure);
    if (s->client->is_private && s->client->uid == geteuid()) {
        admit_private_uri(s);
        return admit_address(s, failure);
    }
    int rc = admit_allowed_path(s, failure);
    return rc < 0 ? rc : admit_address(s, failure);
}

/* Streams whose pool has yet to come: they read the source again, and get and pass on the pool. */
static unsigned descriptors_promised(const struct broker *b)
{
    unsigned n = 0;
    for (const struct broker_stream *s = b->streams; s; s = s->next)
        n += !s->delivery.pools && s->state != STREAM_ENDED && s->state != STREAM_CLOSED;
    return 4 * n;
}

int source_admit(struct broker_stream *s, struct frame *f, uint64_t now_ms,
                 struct pelton_failure *failure)
{
    if (descriptors_short(DESCRIPTORS_STREAM, descriptors_promised(s->broker))) {
        s->broker->quotas.refused[QUOTA_DESCRIPTORS]++;
        return source_refuse(failure, PELTON_ERR_LIMIT, stream_name(s),
                             "the daemon has as many open files as it may have",
                             "close other streams, or raise LimitNOFILE");
    }
    int rc = admit(s, f, failure);
    if (rc == 0 && !s->probe && s->source.open->transport == PELTON_DEVICE)
        rc = admit_import(s, failure);
    if (rc < 0)
        return rc;
    struct quarantine_key key = quarantine_key_of(s->source.fd, s->source.open->uri);
    if (quarantine_has(&s->broker->quarantine, &key, now_ms)) {
        return source_refuse(failure, PELTON_ERR_WORKER_LOST, stream_name(s),
                             "the decoding process died twice at this source before",
                             "please report this stream");
    }
    return shared_file_admit(s, failure);
}

/* A description of its own, so that reading moves neither the client's offset nor that of a worker
 * that has died. */
int source_descriptor(struct broker_stream *s, bool *owned)
{
    *owned = false;
    if (s->source.fd < 0 || !s->source.resumable)
        return s->source.fd;
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->source.fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        lseek(s->source.fd, s->source.start_offset,
              SEEK_SET); /* not ours to open: share the client's */
        return s->source.fd;
    }
    lseek(fd, s->source.start_offset, SEEK_SET);
    *owned = true;
    return fd;
}

/* The writer of a pipe has to notice when the last reader, the worker, is gone. */
void source_sent(struct broker_stream *s)
{
    if (s->source.fd >= 0 && !s->source.resumable) {
        close(s->source.fd);
        s->source.fd = -1;
    }
}
