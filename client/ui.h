/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the command says while it works: messages by level, progress, interrupts, questions. All of
 * it on stderr.
 */
#ifndef CLIENT_UI_H
#define CLIENT_UI_H

#include "client/options.h"

void ui_init(int log_level);
bool ui_says(int level);
void ui_log(int level, const char *text, ...) __attribute__((format(printf, 2, 3)));

int64_t now_ns(void); /* CLOCK_MONOTONIC */

/* From the first SIGINT or SIGTERM on interrupted() gives 130 or 143, else 0; the second one ends
 * the program at once. */
void interrupts_catch(void);
int interrupted(void);

/* "Overwrite? [y/N]" on the terminal; false where there is none. */
bool ui_ask_overwrite(const char *path);

struct progress {
    enum progress_kind kind; /* PROGRESS_AUTO: the slow lines */
    int64_t start_ns, next_ns;
    double total_frames, total_s; /* 0: unknown */
    bool drawn;
};

struct progress_state {
    uint64_t frames, dropped, bytes;
    double media_s;
};

void progress_start(struct progress *p, enum progress_kind kind);
void progress_update(struct progress *p, const struct progress_state *s);
void progress_end(struct progress *p, const struct progress_state *s);

#endif
