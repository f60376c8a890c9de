/* SPDX-License-Identifier: BSD-2-Clause
 *
 * peltondec: decodes H.264 by a pelton daemon. Access units go there through a socket; frames come
 * back in shared memory, and a thread of the element gives them on.
 */
#ifndef PELTON_DECODER_ELEMENT_H
#define PELTON_DECODER_ELEMENT_H

#include <gst/video/gstvideodecoder.h>

G_DECLARE_FINAL_TYPE(PeltonDec, pelton_dec, PELTON, DEC, GstVideoDecoder)

#endif
