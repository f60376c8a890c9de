/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Rights that a process gives up for good: system calls by seccomp, files and networks by Landlock.
 * Children inherit what is given up.
 *
 * The failure modes are a kernel without one of the two, and a caller that may not. The process
 * goes on with what it has; sandbox_tell says so. A refused call fails with EPERM, or EACCES
 * for a file. Thread: the main one, before others exist, except where it is said otherwise.
 */
#ifndef PELTON_SANDBOX_H
#define PELTON_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sanitizers look at their own process with calls that a sandbox refuses. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_PRESET 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_PRESET 0
#endif
#endif
#ifndef SANDBOX_PRESET
#define SANDBOX_PRESET 1
#endif

/* ---- sandbox_calls.c ---- */

struct sandbox_filter; /* under construction */

/* All calls are refused but those that are allowed, or the other way about. debug: each refusal
 * becomes a line of the log. NULL: seccomp cannot be had. */
struct sandbox_filter *sandbox_filter_new(bool allow, bool debug);
/* Names end with NULL. A name that this architecture does not have is left out. */
void sandbox_filter_calls(struct sandbox_filter *f, const char *const *names);
/* The call where its argument (from 0) has all bits of value, or is value. */
void sandbox_filter_bits(struct sandbox_filter *f, const char *name, unsigned arg, uint64_t bits);
void sandbox_filter_value(struct sandbox_filter *f, const char *name, unsigned arg, uint64_t value);
/* The call is answered with ENOSYS, as by an older kernel. */
void sandbox_filter_unknown(struct sandbox_filter *f, const char *name);
/* Installs it for all threads of the process, and frees it; f may be NULL. True: it holds. */
bool sandbox_filter_install(struct sandbox_filter *f);

/* ---- sandbox_paths.c ---- */

/* What may be done below a folder that the rules name; elsewhere none of it. Reading is free. */
enum sandbox_access {
    SANDBOX_WRITE = 1,  /* files that are there, and requests to devices */
    SANDBOX_MAKE = 2,   /* files and folders: make, rename, remove */
    SANDBOX_REMOVE = 4, /* files alone */
    SANDBOX_RUN = 8
};

struct sandbox_path {
    const char *path; /* one that is not there is left out */
    unsigned access;
};

enum sandbox_network { SANDBOX_NO_TCP, SANDBOX_CONNECT };

/* For this thread and those that it makes. outside: processes outside may be sent signals, and
 * reached by abstract sockets. The version of Landlock that holds; 0: none. */
int sandbox_paths(const struct sandbox_path *paths, size_t n, enum sandbox_network network,
                  bool outside);

/* One line of the log: how much holds. Returns it: enum pelton_sandbox. */
uint32_t sandbox_tell(bool filter, int landlock);

#endif
