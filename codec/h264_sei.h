/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Supplemental enhancement information (7.3.2.3, annex D). The messages of an access unit go with
 * the picture that they precede (h264_picture.sei), as received. The functions here read one
 * message each. No message changes samples.
 *
 * Readers return H264_OK, H264_ERR_TRUNCATED where the payload ends too early, or H264_ERR_DATA
 * where a value is out of range; then *out is untouched. Any thread.
 */
#ifndef PELTON_H264_SEI_H
#define PELTON_H264_SEI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct h264_sps;

/* payloadType (D.1.1) of those read here; others are kept all the same. */
enum h264_sei_type {
    H264_SEI_BUFFERING_PERIOD = 0,
    H264_SEI_PIC_TIMING = 1,
    H264_SEI_REGISTERED = 4,   /* user_data_registered_itu_t_t35 */
    H264_SEI_UNREGISTERED = 5, /* user_data_unregistered */
    H264_SEI_RECOVERY_POINT = 6,
    H264_SEI_FRAME_PACKING = 45,
    H264_SEI_DISPLAY_ORIENTATION = 47,
    H264_SEI_MASTERING_DISPLAY = 137,
    H264_SEI_CONTENT_LIGHT = 144,
    H264_SEI_ALTERNATIVE_TRANSFER = 147
};

#define H264_SEI_MAX_MESSAGES 64         /* of a picture; more are counted and left out */
#define H264_SEI_MAX_BYTES    (64 << 10) /* of their payloads together */

struct h264_sei_message {
    uint32_t type; /* payloadType */
    uint32_t size;
    const uint8_t *bytes; /* sei_payload(), unescaped; H264_BITS_PADDING readable bytes follow */
};

/* The messages of one access unit in order of arrival. */
struct h264_sei {
    struct h264_sei *next; /* of a frame coded as two fields: those of the second one; else NULL */
    uint32_t count, left_out; /* left_out: malformed ones, and those beyond the limits */
    struct h264_sei_message messages[];
};

/* The first message of this type, NULL where there is none; sei may be NULL. */
const struct h264_sei_message *h264_sei_find(const struct h264_sei *sei, uint32_t type);

struct h264_recovery_point { /* D.1.8 */
    bool present;
    uint16_t recovery_frame_cnt; /* in frame_num increments */
    bool exact_match_flag, broken_link_flag;
    uint8_t changing_slice_group_idc;
};
int h264_sei_recovery_point(const struct h264_sei_message *m, struct h264_recovery_point *out);

struct h264_clock_timestamp { /* D.1.3 */
    bool present;
    uint8_t ct_type; /* 0 progressive, 1 interlaced, 2 unknown */
    bool nuit_field_based_flag, full_timestamp_flag, discontinuity_flag, cnt_dropped_flag;
    uint8_t counting_type, n_frames;
    bool has_seconds, has_minutes, has_hours;
    uint8_t seconds, minutes, hours;
    int32_t time_offset;
};

struct h264_pic_timing { /* D.1.3 */
    bool has_delays;     /* CpbDpbDelaysPresentFlag */
    uint32_t cpb_removal_delay, dpb_output_delay;
    bool has_pic_struct;
    uint8_t pic_struct;  /* Table D-1; 9 to 15 are reserved and carry no clock */
    uint8_t clock_count; /* NumClockTS */
    struct h264_clock_timestamp clock[3];
};
/* sps: the active one, whose VUI says which elements are there. */
int h264_sei_pic_timing(const struct h264_sei_message *m, const struct h264_sps *sps,
                        struct h264_pic_timing *out);

struct h264_buffering_period { /* D.1.2 */
    uint8_t seq_parameter_set_id;
    uint8_t count[2]; /* [NAL, VCL]: schedules given */
    uint32_t initial_cpb_removal_delay[2][32], initial_cpb_removal_delay_offset[2][32];
};
/* H264_ERR_DATA also where the message names another SPS than this one. */
int h264_sei_buffering_period(const struct h264_sei_message *m, const struct h264_sps *sps,
                              struct h264_buffering_period *out);

struct h264_frame_packing { /* D.1.26 */
    uint32_t frame_packing_arrangement_id;
    bool cancel_flag; /* nothing else is set then */
    /* 0 checkerboard, 1 columns, 2 rows, 3 side by side, 4 top-bottom, 5 temporal, 6 2D, 7 tile */
    uint8_t type;
    bool quincunx_sampling_flag;
    uint8_t content_interpretation_type; /* 1: frame 0 is the left view, 2: the right one */
    bool spatial_flipping_flag, frame0_flipped_flag, field_views_flag, current_frame_is_frame0_flag;
    bool frame0_self_contained_flag, frame1_self_contained_flag;
    uint8_t grid_position[2][2]; /* [frame][x, y] */
    uint32_t repetition_period;
};
int h264_sei_frame_packing(const struct h264_sei_message *m, struct h264_frame_packing *out);

struct h264_display_orientation { /* D.1.27 */
    bool cancel_flag;             /* nothing else is set then */
    bool hor_flip, ver_flip;
    uint16_t anticlockwise_rotation; /* in units of 360 / 65536 degrees */
    uint32_t repetition_period;
};
int h264_sei_display_orientation(const struct h264_sei_message *m,
                                 struct h264_display_orientation *out);

struct h264_mastering_display { /* D.1.29 */
    /* green, blue, red as in the standard's example; x, y in units of 0.00002 */
    uint16_t primaries[3][2];
    uint16_t white_point[2];
    uint32_t max_luminance, min_luminance; /* in units of 0.0001 candela per square metre */
};
int h264_sei_mastering_display(const struct h264_sei_message *m,
                               struct h264_mastering_display *out);

struct h264_content_light {                                        /* D.1.31 */
    uint16_t max_content_light_level, max_pic_average_light_level; /* candela per square metre */
};
int h264_sei_content_light(const struct h264_sei_message *m, struct h264_content_light *out);

/* preferred_transfer_characteristics (D.1.32) */
int h264_sei_alternative_transfer(const struct h264_sei_message *m, uint8_t *out);

/* cc_data of ATSC A/53 part 4 (6.2.3): a registered message of the United States, provider ATSC,
 * "GA94", type 3. *triplets points into the message; 3 * *count bytes. H264_ERR_DATA: another kind
 * of user data. */
int h264_sei_captions(const struct h264_sei_message *m, const uint8_t **triplets, unsigned *count);
/* active_format of ATSC A/53 part 4 (6.2.4): "DTG1"; H264_ERR_DATA: another kind of user data, or
 * none given. */
int h264_sei_active_format(const struct h264_sei_message *m, uint8_t *out);

#endif
