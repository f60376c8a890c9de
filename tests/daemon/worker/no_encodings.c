/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker that encodes no camera: there is none.
 */
#include "daemon/worker/encoding/camera_encodings.h"

#include <stdlib.h>

struct camera_encoding *camera_encoding_start(struct camera_encodings *all, const char *address,
                                              const struct pelton_open_params *params)
{
    return NULL;
}

/* Nothing below is reached. */

int camera_encoding_next(struct camera_encoding *e, AVPacket *unit, struct encoding_news *news,
                         struct pelton_failure *failure)
{
    abort();
}

void camera_encoding_ask_for_key(struct camera_encoding *e)
{
    abort();
}

void camera_encoding_leave(struct camera_encoding *e)
{
}
