/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sessions whose stream thread makes the frames (session.lavc): their pools and their end.
 *
 * Thread: the stream thread, with the lock, which is dropped meanwhile.
 */
#ifndef PELTON_THREAD_FRAMES_H
#define PELTON_THREAD_FRAMES_H

#include "daemon/worker/engine/session_internal.h"

/* The session ends; its cause names it. */
void thread_frames_fail(struct session *s, int code, const char *what);
/* The pool of the next epoch, now. Without memory for it the session has failed. */
void thread_frames_replace(struct session *s, const struct feed_format *format,
                           enum recon_format delivered);
/* Once the reader has been told everything, the pools are given up. */
void thread_frames_end(struct session *s);

#endif
