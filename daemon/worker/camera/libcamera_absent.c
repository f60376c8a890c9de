/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources of libcamera in a build without it: each is refused in words.
 */
#include "daemon/worker/camera/camera_internal.h"

#include <stdio.h>
#include <stdlib.h>

static int open_absent(void *source, struct camera_params *p, struct pelton_failure *failure)
{
    *failure = (struct pelton_failure){.code = PELTON_ERR_UNSUPPORTED};
    snprintf(failure->cause, sizeof(failure->cause), "%.100s: this build has no libcamera",
             p->path);
    snprintf(failure->hint, sizeof(failure->hint),
             "libcamera 0.4 (Debian 13) adds it; or name the device: v4l2:///dev/video0");
    return failure->code;
}

static int read_absent(void *source, uint8_t *raw, struct source_frame *out,
                       struct pelton_failure *failure)
{
    return SOURCE_END;
}

static void set_absent(void *source, const struct ae_exposure *e)
{
}

static void close_absent(void *source)
{
}

void *libcamera_source_create(void)
{
    return malloc(1);
}

const struct source_ops libcamera_source_ops = {.open = open_absent,
                                                .read = read_absent,
                                                .set = set_absent,
                                                .close = close_absent,
                                                .free = free};
