/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Who turns the samples of pictures into records: the passes of encode/reference, or those on a
 * GPU. encoder.h does all the rest. A decider is of one stream. One thread at a time calls it, and
 * calls block; deciders of different streams are independent.
 */
#ifndef PELTON_ENCODE_DECIDER_H
#define PELTON_ENCODE_DECIDER_H

#include "encode/encoding.h"

struct rec_view;
struct gpu_encode_source;
struct slice_data;

/* A picture: samples of 8 bits, the size that is shown. chroma: NULL in 4:0:0. Borrowed for the
 * call */
struct decider_source {
    const uint8_t *plane[3];
    size_t stride[3];
    /* In place of planes: where they lie on the device, for deciders that read them there; else
     * NULL. It is theirs to define (gpu/encode/gpu_encode.h). */
    const struct gpu_encode_source *device;
    /* The picture that follows, if it is known: the decider may look at it ahead of time. Its
     * samples stay until it was analysed, or the decider has ended. NULL: not known */
    const struct decider_source *next;
};

/* How a picture is decided */
struct decider_wish {
    bool idr;  /* with I slices, else P slices */
    bool skip; /* all of it repeats the newest reference; an IDR picture cannot */
    int qp;    /* QPY */
    /* added to it by macroblock, and clipped to 0..51; NULL: none */
    const int8_t *qp_offsets;
};

/* Why a picture has no records */
enum decider_error {
    DECIDER_INVALID = -1, /* a bug: they are not valid */
    DECIDER_LOST = -2,    /* the device is lost, or its driver failed: another decider may do */
    DECIDER_NOMEM = -3    /* the device has no memory: another decider may do */
};

struct analysis_costs;

struct decider_calls {
    void *ctx;
    /* Costs of the next picture, and an offset of QP for each of its macroblocks: those of
     * encode/analysis.h. Once, before its first decide. Returns as decide does. NULL, or an error:
     * the caller makes them. */
    int (*analyse)(void *ctx, const struct decider_source *source, struct analysis_costs *costs,
                   int8_t *qp_offsets);
    /* Decides a picture. The records are valid until the next call. It may be decided again, with
     * another wish: nothing refers to it until accept. The first picture is IDR. Returns 0, or
     * enum decider_error. */
    int (*decide)(void *ctx, const struct decider_source *source, const struct decider_wish *wish,
                  struct rec_view *view);
    /* Data of the slices of the picture that was decided last (encode/slice_writer.h), of all that
     * its view has. They are valid as long as that. The view then has its head and slices alone.
     * NULL, or it returns NULL: the records are to be written. */
    const struct slice_data *(*data)(void *ctx);
    /* The picture that was decided last becomes the newest reference. */
    void (*accept)(void *ctx);
    void (*end)(void *ctx);
};

/* Makes a decider for settings that encoding_check has passed, with its limits. Both stay where
 * they are until the decider's end. 0, and *out; or -1, and why (ENCODING_WHY bytes). */
typedef int decider_begin(void *ctx, const struct encoding *e, const struct encoding_limits *limits,
                          struct decider_calls *out, char *why);

#endif
