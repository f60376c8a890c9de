/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Between gpu_thread.c and session_tend.c. All of the GPU thread, with the lock.
 */
#ifndef PELTON_WORKER_GPU_THREAD_H
#define PELTON_WORKER_GPU_THREAD_H

#include "daemon/worker/engine_internal.h"

/* every session fails with it; lost, the device is not asked again */
void gpu_failed(struct engine *e, int error);
void job_done(struct job *job); /* its samples exist, or nobody wants them */

/* All that a session has to have done for it in a round; drops the lock on the way. True: something
 * changed. */
bool session_tend(struct engine *e, struct session *s);

#endif
