/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Transcodings: access units of what a session decodes, encoded anew with the settings of their
 * reader. The frames stay in the device's memory: the session delivers them there, and the encoder
 * takes them from there.
 *
 * Life: transcoding_open - on_info, on_format, on_frame.. - on_end, once, which frees it. The
 * session in it is a reader's as any other. A thread of its own encodes, and waits for room where
 * its reader is slow: then the session's pool is full, and the source waits, or leaves frames out
 * as the reader's policy says. So no unit is dropped.
 */
#ifndef PELTON_TRANSCODING_H
#define PELTON_TRANSCODING_H

#include "daemon/worker/encoding/frame_source.h"

struct transcodings; /* all of a worker */
struct transcoding;

/* All functions: loop thread. */

int transcodings_create(uv_loop_t *loop, struct engine *engine, struct gpu *gpu,
                        struct transcodings **out);
/* Before the engine is closed: all are closed. NULL is allowed. */
void transcodings_stop(struct transcodings *all);
/* After transcodings_stop, once the engine is closed: those that have not ended yet end. */
void transcodings_close(struct transcodings *all, void (*closed)(void *ctx), void *ctx);

struct encoding_usage; /* camera_encodings.h */
/* Of all that there were: H.264, and JPEG files. missed: frames that a slow reader left out */
void transcodings_usage(struct transcodings *all, struct encoding_usage *h264,
                        struct encoding_usage *jpeg);

/* params->encode says how; as session_open or camera_open else. Cameras give JPEG files alone. */
int transcoding_open(struct transcodings *all, const struct pelton_open_params *params,
                     const struct frame_wish *wish, const struct feed_callbacks *callbacks,
                     void *ctx, struct transcoding **out, struct pelton_failure *failure);
void transcoding_release(struct transcoding *t, uint32_t epoch, uint32_t slot, uint32_t generation);
void transcoding_stats(struct transcoding *t, struct pelton_stats *out);
/* on_end follows. */
void transcoding_close(struct transcoding *t);

#endif
