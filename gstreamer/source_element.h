/* SPDX-License-Identifier: BSD-2-Clause
 *
 * peltonsrc: frames of a daemon's source, or of a file that a daemon decodes.
 *
 * A source of the configuration is live: time stamps are those of the capture, by the pipeline's
 * clock, and the newest frame comes first. A file has its own times, every frame comes, and it can
 * be sought in. What the next element wants otherwise (format, size, fewer frames a second), the
 * daemon makes.
 */
#ifndef PELTON_SOURCE_ELEMENT_H
#define PELTON_SOURCE_ELEMENT_H

#include <gst/base/gstpushsrc.h>

G_DECLARE_FINAL_TYPE(PeltonSrc, pelton_src, PELTON, SRC, GstPushSrc)

#endif
