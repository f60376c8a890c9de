/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages, progress, interrupts, questions.
 */
#include "client/ui.h"
#include "client/exit_code.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static int ui_level = LOG_INFO;
static const char *ui_name = "pelton";
static volatile sig_atomic_t ui_signal;

void ui_init(int log_level)
{
    ui_level = log_level;
}

void ui_program(const char *name)
{
    ui_name = name;
}

bool ui_says(int level)
{
    return level <= ui_level;
}

void ui_log(int level, const char *text, ...)
{
    if (!ui_says(level))
        return;
    char line[1024];
    va_list args;
    va_start(args, text);
    vsnprintf(line, sizeof(line), text, args);
    va_end(args);
    if (level <= LOG_WARNING)
        fprintf(stderr, "%swarning:%s ", ui_paint(stderr, UI_YELLOW), ui_paint(stderr, UI_PLAIN));
    fprintf(stderr, "%s\n", line);
}

void ui_failure(const char *cause, const char *hint)
{
    const char *plain = ui_paint(stderr, UI_PLAIN);
    fprintf(stderr, "%s%s:%s %s\n", ui_paint(stderr, UI_RED), ui_name, plain, cause);
    fprintf(stderr, "%shint:%s %s\n", ui_paint(stderr, UI_CYAN), plain, hint);
}

const char *ui_plural(uint64_t n, const char *word)
{
    static char plural[32];
    snprintf(plural, sizeof(plural), "%s%s", word, n == 1 ? "" : "s");
    return plural;
}

/* no-color.org: any text in NO_COLOR counts. */
static bool ui_has_colours(FILE *file)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && no[0]) && term && term[0] && strcmp(term, "dumb") != 0 && isatty(fileno(file));
}

const char *ui_paint(FILE *file, enum ui_colour colour)
{
    static const char *const escapes[] = {"\033[0m",  "\033[31m", "\033[32m",
                                          "\033[33m", "\033[36m", "\033[1m"};
    return ui_has_colours(file) ? escapes[colour] : "";
}

unsigned ui_columns(FILE *file)
{
    struct winsize size;
    const char *env = getenv("COLUMNS");
    if (!isatty(fileno(file)))
        return 0;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    int columns = env ? atoi(env) : 0;
    return columns > 0 ? (unsigned)columns : 80;
}

int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_signal(int number)
{
    ui_signal = number;
}

void interrupts_catch(void)
{
    struct sigaction once = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&once.sa_mask);
    sigaction(SIGINT, &once, NULL);
    sigaction(SIGTERM, &once, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int interrupted(void)
{
    return ui_signal == 0 ? 0 : ui_signal == SIGINT ? X_SIGINT : X_SIGTERM;
}

bool ui_ask_overwrite(const char *path)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return false;
    fprintf(stderr, "File '%s' already exists. Overwrite? [y/N] ", path);
    char answer[16];
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

/* ---- progress ---- */

enum { BAR_NS = 100000000, KV_NS = 500000000 };
#define LINE_NS 10000000000LL

static int64_t interval_ns(const struct progress *p)
{
    return p->kind == PROGRESS_BAR ? BAR_NS : p->kind == PROGRESS_KV ? KV_NS : LINE_NS;
}

void progress_start(struct progress *p, enum progress_kind kind, FILE *file)
{
    if (kind == PROGRESS_AUTO && isatty(STDERR_FILENO))
        kind = PROGRESS_BAR;
    if (kind != PROGRESS_KV && !ui_says(LOG_INFO))
        kind = PROGRESS_NONE;
    *p = (struct progress){.kind = kind, .start_ns = now_ns(), .file = file};
    p->next_ns = p->start_ns + interval_ns(p);
}

static double seconds_since(int64_t start_ns)
{
    double s = (double)(now_ns() - start_ns) * 1e-9;
    return s > 1e-9 ? s : 1e-9;
}

/* Between 0 and 1; negative: the end is unknown. */
static double share_done(const struct progress *p, const struct progress_state *s)
{
    double share = p->total_frames > 0 ? (double)s->frames / p->total_frames
                   : p->total_s > 0    ? s->media_s / p->total_s
                                       : -1;
    return share > 1 ? 1 : share;
}

static void clock_text(double seconds, char *out, size_t size)
{
    unsigned t = seconds < 0 ? 0 : seconds > 359999 ? 359999 : (unsigned)seconds;
    snprintf(out, size, "%02u:%02u:%02u", t / 3600, t / 60 % 60, t % 60);
}

static void print_bar(struct progress *p, const struct progress_state *s)
{
    double elapsed = seconds_since(p->start_ns), share = share_done(p, s);
    char bar[21], eta[32] = "";
    int filled = share < 0 ? 0 : (int)(share * 20);
    memset(bar, '.', 20);
    memset(bar, '#', (size_t)filled);
    bar[20] = 0;
    if (share > 0) {
        char clock[24];
        clock_text(elapsed * (1 - share) / share, clock, sizeof(clock));
        snprintf(eta, sizeof(eta), "  ETA %s", clock);
    }
    fprintf(stderr, "\r[%s] ", bar);
    if (share >= 0)
        fprintf(stderr, "%3.0f%%  ", share * 100);
    fprintf(stderr, "%llu %s  %.1f fps  %.2fx%s\033[K", (unsigned long long)s->frames,
            ui_plural(s->frames, "frame"), (double)s->frames / elapsed, s->media_s / elapsed, eta);
    p->drawn = true;
}

static void print_line(const struct progress *p, const struct progress_state *s)
{
    double elapsed = seconds_since(p->start_ns), share = share_done(p, s);
    char percent[16] = "";
    if (share >= 0)
        snprintf(percent, sizeof(percent), "%.0f%%, ", share * 100);
    fprintf(stderr, "%s%llu %s, %.1f fps, %.2fx\n", percent, (unsigned long long)s->frames,
            ui_plural(s->frames, "frame"), (double)s->frames / elapsed, s->media_s / elapsed);
}

/* Prints the keys of ffmpeg -progress, in its order. */
static void print_kv(const struct progress *p, const struct progress_state *s, bool last)
{
    double elapsed = seconds_since(p->start_ns);
    char clock[24];
    clock_text(s->media_s, clock, sizeof(clock));
    long long us = (long long)(s->media_s * 1e6);
    fprintf(p->file, "frame=%llu\nfps=%.2f\n", (unsigned long long)s->frames,
            (double)s->frames / elapsed);
    if (s->media_s > 0 && s->bytes > 0)
        fprintf(p->file, "bitrate=%6.1fkbits/s\n", (double)s->bytes * 8 / s->media_s / 1000);
    else
        fprintf(p->file, "bitrate=N/A\n");
    fprintf(p->file, "total_size=%llu\nout_time_us=%lld\nout_time_ms=%lld\nout_time=%s.%06lld\n",
            (unsigned long long)s->bytes, us, us, clock, us % 1000000);
    fprintf(p->file, "dup_frames=0\ndrop_frames=%llu\nspeed=%.3gx\nprogress=%s\n",
            (unsigned long long)s->dropped, s->media_s / elapsed, last ? "end" : "continue");
    fflush(p->file);
}

void progress_update(struct progress *p, const struct progress_state *s)
{
    int64_t now = now_ns();
    if (p->kind == PROGRESS_NONE || now < p->next_ns)
        return;
    p->next_ns = now + interval_ns(p);
    switch (p->kind) {
    case PROGRESS_BAR:
        print_bar(p, s);
        break;
    case PROGRESS_KV:
        print_kv(p, s, false);
        break;
    default:
        print_line(p, s);
        break;
    }
}

void progress_end(struct progress *p, const struct progress_state *s)
{
    if (p->kind == PROGRESS_KV)
        print_kv(p, s, true);
    else if (p->drawn)
        fputs("\r\033[K", stderr);
}
