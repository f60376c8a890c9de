/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Inside libpelton: a file that several devices decode.
 */
#ifndef LIBPELTON_SHARE_H
#define LIBPELTON_SHARE_H

#include "proto/libpelton_stream.h"

struct pelton_share;

/* True: the caller wants several devices, and the source can be shared. */
bool pelton_share_wanted(const struct pelton_open_params *params);
/* Starts one stream for each device. free() gives the share back, after pelton_share_close. */
int pelton_share_start(struct pelton *conn, const struct pelton_open_params *params,
                       struct pelton_share **out);
/* As the functions of a stream. */
int pelton_share_wait(struct pelton_share *share, int64_t deadline,
                      const struct pelton_info **info);
int pelton_share_next(struct pelton *conn, struct pelton_share *share, int64_t deadline,
                      struct pelton_frame *out);
void pelton_share_release(struct pelton_share *share, const struct pelton_frame *frame);
int pelton_share_stats(struct pelton_share *share, int64_t deadline, struct pelton_stats *out);
/* Ends its streams. */
void pelton_share_close(struct pelton_share *share);

#endif
