/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A library to be preloaded: one call of those that a session makes fails. Calls are counted over
 * all processes of the session, in a file that they share.
 *
 *   PELTON_FAULT_FILE   the file: struct fault_file, made by faults.py
 *   PELTON_FAULT_OF     memory, system, or a word of faults_vulkan.c
 *
 * Only calls from pelton's own programs and from the small libraries below them count. Drivers and
 * the C library have failures of their own. libuv ends the process where it cannot grow its list of
 * descriptors or wake its own loop: these calls of it are left out.
 */
#include "tests/faults/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct fault_file {
    _Atomic uint64_t calls;
    uint64_t fails; /* the call that fails; 0: none */
    char what[112]; /* of the one that has failed */
};

static struct fault_file *shared;
static bool of_memory, of_system;
static struct {
    uintptr_t from, to;
    const char *name;
    bool libuv;
} counted[32];
static unsigned n_counted;

static const char *const libraries[] = {"libpelton", "libuv", "libprotobuf-c", "libyaml"};

static bool is_counted(const char *path)
{
    bool found = path[0] == 0; /* the program */
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
        found |= strstr(path, libraries[i]) != NULL;
    return found;
}

static int object_add(struct dl_phdr_info *info, size_t size, void *ctx)
{
    for (int i = 0; i < info->dlpi_phnum && is_counted(info->dlpi_name); i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || n_counted == 32)
            continue;
        const char *slash = strrchr(info->dlpi_name, '/');
        counted[n_counted].name = slash ? slash + 1 : program_invocation_short_name;
        counted[n_counted].libuv = strstr(info->dlpi_name, "libuv") != NULL;
        counted[n_counted].from = info->dlpi_addr;
        counted[n_counted++].to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    return 0;
}

__attribute__((constructor)) static void faults_open(void)
{
    const char *path = getenv("PELTON_FAULT_FILE"), *of = getenv("PELTON_FAULT_OF");
    if (!path || !of)
        return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    void *memory = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    dl_iterate_phdr(object_add, NULL);
    of_memory = strcmp(of, "memory") == 0;
    of_system = strcmp(of, "system") == 0;
    if (memory != MAP_FAILED)
        shared = memory;
}

bool fault_of(const char *kind)
{
    const char *of = getenv("PELTON_FAULT_OF");
    return shared && strcmp(of, kind) == 0;
}

bool fault_here(bool wanted, const char *name, const void *caller)
{
    static const char *const vital[] = {"realloc", "read", "write", "pipe2", "epoll_create1"};
    uintptr_t at = (uintptr_t)caller;
    unsigned i = 0;
    if (!shared || !wanted)
        return false;
    while (i < n_counted && (at < counted[i].from || at >= counted[i].to))
        i++;
    if (i == n_counted)
        return false;
    for (size_t j = 0; counted[i].libuv && j < sizeof(vital) / sizeof(*vital); j++)
        if (strcmp(name, vital[j]) == 0)
            return false;
    if (atomic_fetch_add(&shared->calls, 1) + 1 != shared->fails)
        return false;
    snprintf(shared->what, sizeof(shared->what), "%s from %s+0x%lx of %s", name, counted[i].name,
             (unsigned long)(at - counted[i].from), program_invocation_short_name);
    return true;
}

#define NEXT(name)                                                                                 \
    static __typeof__(name) *next;                                                                 \
    if (!next)                                                                                     \
    next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

/* ---- memory ---- */

/* dlsym takes memory before malloc is known. */
static char early[65536];
static size_t early_used;

static void *early_take(size_t size)
{
    size_t at = early_used;
    early_used += (size + 15) & ~(size_t)15;
    return early_used <= sizeof(early) ? early + at : NULL;
}

static bool is_early(const void *p)
{
    return (const char *)p >= early && (const char *)p < early + sizeof(early);
}

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
} real;

static bool real_find(void)
{
    static __thread bool finding;
    if (real.free)
        return true;
    if (finding)
        return false;
    finding = true;
    real.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    real.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    real.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    finding = false;
    return true;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    if (!real_find())
        return early_take(size);
    return fault_here(of_memory, "malloc", CALLER) ? no_memory() : real.malloc(size);
}

void *calloc(size_t n, size_t size)
{
    if (!real_find())
        return early_take(n * size); /* zero as it is */
    return fault_here(of_memory, "calloc", CALLER) ? no_memory() : real.calloc(n, size);
}

void *realloc(void *p, size_t size)
{
    if (!real_find())
        return NULL;
    if (is_early(p)) {
        void *copy = real.malloc(size);
        size_t most = (size_t)(early + sizeof(early) - (char *)p);
        return copy ? memcpy(copy, p, size < most ? size : most) : NULL;
    }
    return fault_here(of_memory, "realloc", CALLER) ? no_memory() : real.realloc(p, size);
}

void free(void *p)
{
    if (!is_early(p) && real_find())
        real.free(p);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    NEXT(posix_memalign);
    return fault_here(of_memory, "posix_memalign", CALLER) ? ENOMEM : next(out, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    NEXT(aligned_alloc);
    return fault_here(of_memory, "aligned_alloc", CALLER) ? no_memory() : next(alignment, size);
}

char *strdup(const char *text)
{
    NEXT(strdup);
    return fault_here(of_memory, "strdup", CALLER) ? no_memory() : next(text);
}

/* ---- system calls ---- */

#define SYSTEM(type, name, parameters, arguments, failure, code)                                   \
    type name parameters                                                                           \
    {                                                                                              \
        NEXT(name);                                                                                \
        if (!fault_here(of_system, #name, CALLER))                                                 \
            return next arguments;                                                                 \
        errno = code;                                                                              \
        return failure;                                                                            \
    }

SYSTEM(void *, mmap, (void *a, size_t n, int p, int f, int fd, off_t o), (a, n, p, f, fd, o),
       MAP_FAILED, ENOMEM)
SYSTEM(int, madvise, (void *a, size_t n, int advice), (a, n, advice), -1, ENOMEM)
SYSTEM(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
SYSTEM(int, ftruncate, (int fd, off_t n), (fd, n), -1, ENOSPC)
SYSTEM(int, dup, (int fd), (fd), -1, EMFILE)
SYSTEM(int, dup2, (int fd, int to), (fd, to), -1, EMFILE)
SYSTEM(int, socket, (int d, int t, int p), (d, t, p), -1, EMFILE)
SYSTEM(int, socketpair, (int d, int t, int p, int fds[2]), (d, t, p, fds), -1, EMFILE)
SYSTEM(int, pipe2, (int fds[2], int flags), (fds, flags), -1, EMFILE)
SYSTEM(int, eventfd, (unsigned n, int flags), (n, flags), -1, EMFILE)
SYSTEM(pid_t, fork, (void), (), -1, EAGAIN)
SYSTEM(ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f), -1, ENOBUFS)
SYSTEM(ssize_t, recvmsg, (int fd, struct msghdr *m, int f), (fd, m, f), -1, ECONNRESET)
SYSTEM(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n), -1, EIO)
SYSTEM(ssize_t, pread, (int fd, void *p, size_t n, off_t o), (fd, p, n, o), -1, EIO)
SYSTEM(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n), -1, ENOSPC)
SYSTEM(off_t, lseek, (int fd, off_t o, int from), (fd, o, from), -1, EIO)
SYSTEM(int, fstat, (int fd, struct stat *st), (fd, st), -1, EIO)
SYSTEM(int, stat, (const char *path, struct stat *st), (path, st), -1, EIO)
SYSTEM(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms), -1, EINTR)
SYSTEM(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
SYSTEM(int, epoll_create1, (int flags), (flags), -1, EMFILE)

int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *ctx)
{
    NEXT(pthread_create);
    return fault_here(of_system, "pthread_create", CALLER) ? EAGAIN : next(t, a, run, ctx);
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        NEXT(name);                                                                                \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;                    \
        va_end(args);                                                                              \
        if (!fault_here(of_system, #name, CALLER))                                                 \
            return next(path, flags, mode);                                                        \
        errno = EMFILE;                                                                            \
        return -1;                                                                                 \
    }

OPEN(open)
OPEN(open64)

int fcntl(int fd, int command, ...)
{
    NEXT(fcntl);
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    if (!fault_here(of_system, "fcntl", CALLER))
        return next(fd, command, argument);
    errno = EMFILE;
    return -1;
}
