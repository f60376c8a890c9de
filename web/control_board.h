/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The controls of cameras as they were last told, for everybody who follows events. Each change has
 * a number; numbers only grow.
 *
 * Thread: any.
 */
#ifndef PELTON_CONTROL_BOARD_H
#define PELTON_CONTROL_BOARD_H

#include "proto/json.h"
#include "proto/pelton.h"

struct control_board;

struct control_list {
    char source[128];
    uint64_t change;
    struct pelton_control control[PELTON_MAX_CONTROLS];
    uint32_t n;
};

struct control_board *control_board_new(void); /* NULL: no memory */
void control_board_free(struct control_board *b);
/* As the daemon tells a change. */
void control_board_put(struct control_board *b, const struct control_list *list);
/* As the daemon answered a question, which may be older than its last change: it counts where
 * nothing is known of the source. */
void control_board_offer(struct control_board *b, const struct control_list *list);
/* Exposure and gains in effect for the last frame, where exposure control moves them and the
 * source's controls are known. */
void control_board_follow(struct control_board *b, const char *source,
                          const struct pelton_camera *camera);
/* The source does not run: nobody knows what it will have. */
void control_board_forget(struct control_board *b, const char *source);
/* The list with the lowest number above `seen`. False: there is none. */
bool control_board_next(struct control_board *b, uint64_t seen, struct control_list *out);
/* The number of the last change. */
uint64_t control_board_newest(struct control_board *b);

/* The array "controls", into an object that is open. */
void control_list_write(struct json *j, const struct control_list *list);

#endif
