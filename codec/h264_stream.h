/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Step 1: bytes of a stream to pictures with slice headers, reference lists and output order. One
 * thread at a time for each stream.
 */
#ifndef PELTON_H264_STREAM_H
#define PELTON_H264_STREAM_H

#include "codec/h264_error.h"
#include "codec/h264_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct h264_allocator;
struct h264_picture;
struct h264_sps;
struct h264_stream;

/* Tools that the consumer of the records can reconstruct. A slice that needs more is refused with
 * H264_ERR_UNSUPPORTED, and diag names the syntax element. */
struct h264_capabilities {
    uint8_t chroma_formats;   /* bit n: chroma_format_idc n */
    uint8_t max_bit_depth[2]; /* luma, chroma */
    bool interlaced;          /* fields and MBAFF frames */
    bool separate_planes;     /* separate_colour_plane_flag */
    bool switching;           /* SP and SI slices */
};

struct h264_stream_params {
    /* NULL: all of the standard; else outlives the stream */
    const struct h264_capabilities *capabilities;
    const struct h264_allocator *allocator; /* NULL: malloc; else outlives every picture */
    /* A picture is output as soon as max_num_reorder_frames allows. Else it may wait for a full
     * DPB. */
    bool low_delay_output;
    /* 2: the second view of multiview streams too; its pictures come in the same queues */
    unsigned views;
    /* Decoding starts at the first slice. Else it starts at an IDR picture or recovery point. */
    bool any_start;
    int strict; /* 1: refuses frame_num gaps that the SPS forbids. 0: conceals them. */
    /* The caller calls h264_picture_alloc before step 2 of each picture with slices. */
    bool late_arrays;
    /* Where pictures are less than a macroblock larger, they are cropped to this size, as FFmpeg
     * does it. 0: the SPS alone counts. */
    uint32_t container_width, container_height;
    struct h264_limits limits;
};

/* *out is the caller's, to free with h264_stream_free. params may go after the call. Returns
 * H264_ERR_NOMEM. */
int h264_stream_create(const struct h264_stream_params *params, struct h264_stream **out);
/* Pictures that were handed out stay valid. NULL is allowed. */
void h264_stream_free(struct h264_stream *s);

/* Parameter sets out of band: an avcC box, whose first byte is 1, or Annex B bytes. An avcC box
 * also sets the length size of NAL units. data may go after the call. */
int h264_stream_extradata(struct h264_stream *s, const uint8_t *data, size_t size,
                          struct h264_diag *diag);

/* Feeds bytes of the access unit `tag`: Annex B, or length-prefixed after an avcC box. The bytes
 * may hold several pictures, and a picture may span calls. A picture is complete when the next one
 * starts or when the tag changes. Drain both queues after each call. data may go after the call.
 * Returns the first error; everything usable was taken nevertheless. */
int h264_stream_feed(struct h264_stream *s, const uint8_t *data, size_t size, int64_t tag,
                     struct h264_diag *diag);
/* The access unit has no further bytes: its picture is complete now, not when the next one begins.
 * Two fields of a frame are two access units; their frame is complete with both, or when the next
 * picture begins. Drain the queues again afterwards. Does nothing in profiles with arbitrary slice
 * order, whose access units are often cut inside of pictures. */
int h264_stream_end_access_unit(struct h264_stream *s, struct h264_diag *diag);
/* End of the stream: the pictures that wait become available for output. */
int h264_stream_flush(struct h264_stream *s);

/* The next complete picture in decoding order, with one reference for the caller. NULL: none waits.
 * A non_existing picture comes too: its samples are a copy of refs_held[0], where there is one. */
struct h264_picture *h264_stream_next_decode(struct h264_stream *s);
/* The next picture in output order, with one reference for the caller. It may come before it is
 * decoded. The first field stands for a frame of two fields: its slot is complete when both are
 * decoded, if it is `paired`. */
struct h264_picture *h264_stream_next_output(struct h264_stream *s);

/* The active SPS, else the last one received, or NULL. Borrowed until the next call for s. */
const struct h264_sps *h264_stream_sps(const struct h264_stream *s);
/* Counters for statistics and tests. */
struct h264_stats {
    uint64_t access_units, nal_units, pictures, slices, errors, gaps, skipped_before_idr;
    uint64_t refused[H264_LIMITS]; /* by a limit */
};
void h264_stream_stats(const struct h264_stream *s, struct h264_stats *out);

#endif
