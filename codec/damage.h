/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Damage of pictures, by number: see struct h264_damage. Damage ends at IDR pictures and at
 * recovery points (D.2.8).
 */
#ifndef PELTON_CODEC_DAMAGE_H
#define PELTON_CODEC_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct h264_picture;
struct h264_slice_header;

/* The first slices of the last pictures since an IDR picture, to know one that comes again. */
struct h264_recent {
    struct {
        int32_t low, high;   /* POC of its frame, as far as that has come */
        uint32_t size, hash; /* of the slice */
        uint8_t structure;   /* of the picture; 0: none */
        bool reference;
    } at[16];
    unsigned next;
};

/* The damage that pictures of a stream have before them. */
struct h264_recovery_state {
    /* Damage counts from `clean` on in pictures at or after clean_poc, from clean_before on in
     * those before. */
    uint32_t clean, clean_before;
    int32_t clean_poc;
    /* not 0: started without an IDR picture, and the recovery point is still to come: what missing
     * references do */
    uint32_t lost;
    bool leading; /* pictures before leading_poc (INT32_MAX: it is not known yet) lack references */
    bool hide;    /* because decoding started there: they are not for output */
    int32_t leading_poc;
    /* a recovery point was announced by picture from_id: it comes frame_cnt after from_frame_num */
    bool pending;
    uint32_t from_id, from_frame_num, frame_cnt;
    bool from_idr; /* an IDR picture began all that is there: no reference may be missing */
    /* What a reference name means is doubtful since picture doubt_id: pictures before it bring the
     * damage `doubt`. 0: nothing is. */
    uint32_t doubt, doubt_id;
    bool doubt_next;  /* from the next picture on */
    uint32_t foreign; /* not 0: the damage of pictures under a sequence that no IDR picture began */
    bool foreign_next;
    struct h264_recent recent;
};

/* Breaches of the standard that tell of lost or foreign data. They count until the next IDR picture
 * or recovery point. */
enum h264_breach {
    H264_BREACH_ORDER,     /* pictures are missing, or stand where they do not belong */
    H264_BREACH_REFERENCE, /* a reference is named that is not there; counts since an IDR picture */
    H264_BREACH_SEQUENCE   /* other sequence parameters without an IDR picture: nothing holds */
};

struct h264_stream;

/* The number of damage that happens in picture `id`; above 1. */
uint32_t h264_damage_of(uint32_t id);
/* The picture that h begins, whose numbers are known: sets its damage and follows recovery. */
void h264_recovery_begin(struct h264_stream *s, const struct h264_slice_header *h,
                         struct h264_picture *pic);
/* Before the next picture begins. */
void h264_recovery_breach(struct h264_stream *s, enum h264_breach breach);
/* In the current picture, which it reaches too. */
void h264_recovery_breach_now(struct h264_stream *s, struct h264_picture *pic);
/* After memory_management_control_operation 5 in a picture of this frame_num, which is 0 now. */
void h264_recovery_reset(struct h264_stream *s, uint32_t frame_num);

#endif
