/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Frames as PNG or JPEG files, one file for each frame.
 */
#ifndef CLIENT_OUTPUT_IMAGE_H
#define CLIENT_OUTPUT_IMAGE_H

#include "client/output.h"

/* Writes the name of an image to buffer; number counts from 1. single: one image at most, which
 * needs no number. Returns an exit code. */
int output_images_name(const char *path, bool single, int number, char *buffer, size_t size,
                       struct failure *f);

/* The images are JPEG files: -f says so, or a name of image2 does. */
bool output_images_jpeg(const struct output_format *format, const char *path);
/* Quality as libjpeg counts it, of -q:v: its tables times a tenth of that. */
uint32_t output_images_quality(uint32_t q);

struct output_images;
int output_images_open(const struct output_params *params, struct output_images **out,
                       struct failure *f);
int output_images_frame(struct output_images *o, const AVFrame *frame, struct failure *f);
/* A file that is made already */
int output_images_file(struct output_images *o, const uint8_t *file, size_t size,
                       struct failure *f);
uint64_t output_images_bytes(const struct output_images *o);
void output_images_close(struct output_images *o); /* NULL allowed */

#endif
