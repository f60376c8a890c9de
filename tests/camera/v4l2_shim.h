/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shared by the parts of the shim, which v4l2_shim.c describes.
 */
#ifndef V4L2_SHIM_H
#define V4L2_SHIM_H

#include <limits.h>
#include <linux/videodev2.h>
#include <stdbool.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

enum { BUFFERS = 8, PLANES = 3, DELAY = 2, CODED_BYTES = 1 << 20 };

struct shim_device {
    int fd, second, memory; /* second: of who opened it meanwhile; -1: nobody */
    bool locked;            /* by flock */
    char path[PATH_MAX];
    unsigned fourcc, memory_type, width, height, stride, timed_width, timed_height;
    bool automatic, subscribed, told;
    unsigned char *frames, *user[BUFFERS];
    size_t frame_bytes, plane_at[PLANES];
    unsigned count, queued[BUFFERS], n_queued, sequence;
    long stream_at;
    double exposure[DELAY + 1], gain[DELAY + 1]; /* of 100 us; 16 is one */
};
extern struct shim_device device;

bool has_changed(void); /* its size, while it streams */

/* v4l2_shim_file.c: what the description says, now. */
bool text_of_file(const char *path, const char *key, char *out, size_t size);
double number_of(const char *path, const char *key, double fallback);
void note(const char *path, const char *what, int value); /* in the file's log */
int fail(int error);                                      /* -1 */
double number(const char *key, double fallback);
bool lies(const char *about);
bool is_gone(const char *path);
bool is_multi(void);
/* The index-th format of the list, and of the rates beside it; 0: none. */
unsigned listed(unsigned index, double *fps);
double rate_of(unsigned fourcc);

/* v4l2_shim_draw.c */
bool is_coded(void);
bool is_apart(void); /* Cb and Cr, from each other */
unsigned stride_of(void);
unsigned stride_of_width(unsigned width); /* as described */
unsigned memory_planes(void);
size_t offset_of(void);             /* bytes before the picture, of each piece of memory */
size_t image_bytes(unsigned plane); /* of a piece of memory, without those */
size_t draw(unsigned char *memory); /* the next frame; bytes in its first piece of memory */

/* v4l2_shim_buffers.c: answers to ioctls */
int buffers_request(struct v4l2_requestbuffers *r);
int buffers_stream(bool on);
int buffer_query(struct v4l2_buffer *b);
int buffer_enqueue(const struct v4l2_buffer *b);
int buffer_dequeue(struct v4l2_buffer *b);

/* v4l2_shim_media.c: the media device of the video node, and its sub-devices. */
bool media_is_node(const char *real); /* by its name */
int media_open(const char *real);     /* a descriptor of its own */
bool media_owns(int fd);
void media_close(int fd);
int media_answer(int fd, unsigned long what, void *arg);
/* Whether the pipe gives frames of this size: its links are enabled, its pads agree. */
bool media_is_ready(unsigned width, unsigned height);
bool media_gives(unsigned code, unsigned fourcc);

#endif
