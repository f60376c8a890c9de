/* SPDX-License-Identifier: BSD-2-Clause
 *
 * System calls, by seccomp: see sandbox.h.
 *
 * With debug a refused call raises SIGSYS. The handler writes its name and answers EPERM, as the
 * kernel does without debug.
 */
#include "daemon/sandbox.h"

#include <errno.h>

#ifdef PELTON_SECCOMP
#include "daemon/log.h"

#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { NAMES = 512 };

/* Names are looked up before: a handler may not allocate. */
static char *call_names[NAMES];

struct sandbox_filter {
    scmp_filter_ctx ctx;
    uint32_t action; /* of a call that is named */
    bool debug;
};

#if defined(__x86_64__)
static void answer_set(ucontext_t *context, long value)
{
    context->uc_mcontext.gregs[REG_RAX] = value;
}
#elif defined(__aarch64__)
static void answer_set(ucontext_t *context, long value)
{
    context->uc_mcontext.regs[0] = (unsigned long)value;
}
#endif

#if defined(__x86_64__) || defined(__aarch64__)
static void on_refused(int signum, siginfo_t *info, void *context)
{
    int number = info->si_syscall, error = errno;
    const char *name = number >= 0 && number < NAMES ? call_names[number] : NULL;
    answer_set(context, -EPERM);
    log_line(LOG_LEVEL_DEBUG, "sandbox: refused system call %d, %s", number, name ? name : "?");
    errno = error;
}

static bool debug_prepare(void)
{
    struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_NODEFER};
    for (int i = 0; i < NAMES; i++)
        if (!call_names[i])
            call_names[i] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, i);
    return sigaction(SIGSYS, &action, NULL) == 0;
}
#else
static bool debug_prepare(void)
{
    return false;
}
#endif

struct sandbox_filter *sandbox_filter_new(bool allow, bool debug)
{
    struct sandbox_filter *f = malloc(sizeof(*f));
    if (!f)
        return NULL;
    uint32_t refuse = debug && debug_prepare() ? SCMP_ACT_TRAP : SCMP_ACT_ERRNO(EPERM);
    f->action = allow ? SCMP_ACT_ALLOW : refuse;
    f->ctx = seccomp_init(allow ? refuse : SCMP_ACT_ALLOW);
    if (f->ctx && seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_TSYNC, 1) == 0) {
        seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree; libseccomp 2.5 */
        return f;
    }
    seccomp_release(f->ctx);
    free(f);
    return NULL;
}

static int call_number(const struct sandbox_filter *f, const char *name)
{
    int number = f ? seccomp_syscall_resolve_name(name) : __NR_SCMP_ERROR;
    return number == __NR_SCMP_ERROR || number < 0 ? -1 : number;
}

void sandbox_filter_calls(struct sandbox_filter *f, const char *const *names)
{
    for (; *names; names++) {
        int number = call_number(f, *names);
        if (number >= 0)
            seccomp_rule_add(f->ctx, f->action, number, 0);
    }
}

void sandbox_filter_bits(struct sandbox_filter *f, const char *name, unsigned arg, uint64_t bits)
{
    int number = call_number(f, name);
    if (number >= 0)
        seccomp_rule_add(f->ctx, f->action, number, 1,
                         SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bits, bits));
}

void sandbox_filter_value(struct sandbox_filter *f, const char *name, unsigned arg, uint64_t value)
{
    int number = call_number(f, name);
    if (number >= 0)
        seccomp_rule_add(f->ctx, f->action, number, 1, SCMP_CMP(arg, SCMP_CMP_EQ, value));
}

void sandbox_filter_unknown(struct sandbox_filter *f, const char *name)
{
    int number = call_number(f, name);
    if (number >= 0)
        seccomp_rule_add(f->ctx, SCMP_ACT_ERRNO(ENOSYS), number, 0);
}

bool sandbox_filter_install(struct sandbox_filter *f)
{
    bool good = f && seccomp_load(f->ctx) == 0;
    if (f)
        seccomp_release(f->ctx);
    free(f);
    return good;
}

#else

struct sandbox_filter *sandbox_filter_new(bool allow, bool debug)
{
    return NULL;
}

void sandbox_filter_calls(struct sandbox_filter *f, const char *const *names)
{
}

void sandbox_filter_bits(struct sandbox_filter *f, const char *name, unsigned arg, uint64_t bits)
{
}

void sandbox_filter_value(struct sandbox_filter *f, const char *name, unsigned arg, uint64_t value)
{
}

void sandbox_filter_unknown(struct sandbox_filter *f, const char *name)
{
}

bool sandbox_filter_install(struct sandbox_filter *f)
{
    return false;
}
#endif
