/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Talking to the user, on stderr: messages by level, progress, interrupts, questions.
 */
#ifndef CLIENT_UI_H
#define CLIENT_UI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* FFmpeg's numbers */
enum log_level {
    LOG_QUIET = -8,
    LOG_PANIC = 0,
    LOG_FATAL = 8,
    LOG_ERROR = 16,
    LOG_WARNING = 24,
    LOG_INFO = 32,
    LOG_VERBOSE = 40,
    LOG_DEBUG = 48,
    LOG_TRACE = 56
};

enum progress_kind { PROGRESS_AUTO, PROGRESS_NONE, PROGRESS_BAR, PROGRESS_KV };

void ui_init(int log_level);
void ui_program(const char *name); /* of messages; else pelton */
bool ui_says(int level);
void ui_log(int level, const char *text, ...) __attribute__((format(printf, 2, 3)));

/* The word for n things: "frame" or "frames". */
const char *ui_plural(uint64_t n, const char *word);
/* Prints "PROGRAM: CAUSE" and "hint: HINT". */
void ui_failure(const char *cause, const char *hint);

enum ui_colour { UI_PLAIN, UI_RED, UI_GREEN, UI_YELLOW, UI_CYAN, UI_BOLD };
/* The escape sequence of a colour; empty where the file is no terminal, or NO_COLOR is set. */
const char *ui_paint(FILE *file, enum ui_colour colour);
/* The columns of the terminal that shows the file; 0: none does. */
unsigned ui_columns(FILE *file);

int64_t now_ns(void); /* CLOCK_MONOTONIC */

/* After the first SIGINT or SIGTERM interrupted() gives 130 or 143; before it gives 0. The second
 * signal ends the program at once. */
void interrupts_catch(void);
int interrupted(void);

/* Asks "Overwrite? [y/N]" on the terminal. Returns false where there is no terminal. */
bool ui_ask_overwrite(const char *path);

struct progress {
    enum progress_kind kind; /* PROGRESS_AUTO: the slow lines */
    int64_t start_ns, next_ns;
    double total_frames, total_s; /* 0: unknown */
    bool drawn;
    FILE *file; /* of the lines of PROGRESS_KV */
};

struct progress_state {
    uint64_t frames, dropped, bytes;
    double media_s;
};

/* file: of the lines of PROGRESS_KV; it stays the caller's. */
void progress_start(struct progress *p, enum progress_kind kind, FILE *file);
void progress_update(struct progress *p, const struct progress_state *s);
void progress_end(struct progress *p, const struct progress_state *s);

#endif
