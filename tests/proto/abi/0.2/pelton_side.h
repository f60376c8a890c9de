/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Data beside the samples of a bitstream. Supplemental enhancement information (SEI, annex D of
 * H.264) comes with frames; usability information (VUI, annex E) belongs to a sequence. Names are
 * the standard's where it has one. pelton.h includes this header.
 */
#ifndef PELTON_SIDE_H
#define PELTON_SIDE_H

#include <stdbool.h>
#include <stdint.h>

/* The part of it that comes with frames (pelton_open_params.side_data). */
enum pelton_side_request {
    PELTON_SIDE_NONE,
    PELTON_SIDE_KNOWN, /* the members of pelton_side_data, and user data messages */
    PELTON_SIDE_ALL    /* and every other message as it came */
};

enum pelton_side_has {
    PELTON_SIDE_RECOVERY_POINT = 1,
    PELTON_SIDE_DELAYS = 2,
    PELTON_SIDE_PIC_STRUCT = 4,
    PELTON_SIDE_FRAME_PACKING = 8,
    PELTON_SIDE_DISPLAY_ORIENTATION = 16,
    PELTON_SIDE_MASTERING_DISPLAY = 32,
    PELTON_SIDE_CONTENT_LIGHT = 64,
    PELTON_SIDE_TRANSFER = 128,
    PELTON_SIDE_ACTIVE_FORMAT = 256
};

enum {
    PELTON_MAX_CLOCKS = 4,
    PELTON_SIDE_MAX_BYTES = 32768 /* bytes of payloads with one frame; further ones are left out */
};

struct pelton_clock_timestamp {
    uint8_t ct_type, counting_type;
    uint8_t parts; /* 1: seconds are given, 3: and minutes, 7: and hours */
    uint8_t hours, minutes, seconds, n_frames;
    bool nuit_field_based_flag, full_timestamp_flag, discontinuity_flag, cnt_dropped_flag;
    uint8_t reserved;
    int32_t time_offset;
};

struct pelton_frame_packing {
    uint32_t id, repetition_period;
    bool cancel_flag; /* ends the arrangement; then only id is set */
    /* 0 checkerboard, 1 columns, 2 rows, 3 side by side, 4 top-bottom, 5 temporal, 6 none, 7 tile
     */
    uint8_t type;
    uint8_t content_interpretation_type; /* 1: frame 0 is the left view, 2: the right one */
    bool quincunx_sampling_flag, spatial_flipping_flag, frame0_flipped_flag, field_views_flag;
    bool current_frame_is_frame0_flag, frame0_self_contained_flag, frame1_self_contained_flag;
    uint8_t grid_position[4]; /* x and y of frame 0, of frame 1 */
    uint8_t reserved[2];
};

struct pelton_sei_message {
    uint32_t type, size; /* payloadType, bytes of the payload; of type 5 the first 16 are a UUID */
    const uint8_t *bytes;
};

/* The messages that came with one frame. Some stay in force until another comes: those with a
 * repetition_period, and those of the display until the next IDR picture. Of a frame coded as two
 * fields, the first field's messages come first. */
struct pelton_side_data {
    uint32_t size; /* bytes of this structure that the library knows */
    uint32_t has;  /* enum pelton_side_has */
    struct {
        uint16_t recovery_frame_cnt;
        bool exact_match_flag, broken_link_flag;
        uint8_t changing_slice_group_idc;
        uint8_t reserved[3];
    } recovery_point;
    uint32_t cpb_removal_delay, dpb_output_delay;
    /* Table D-1: 0 frame, 1 top, 2 bottom, 3 top bottom, 4 bottom top; 5, 6: the first field again;
     * 7 doubled, 8 tripled */
    uint8_t pic_struct;
    uint8_t clocks;
    uint8_t preferred_transfer_characteristics;
    uint8_t active_format;
    struct pelton_clock_timestamp clock[PELTON_MAX_CLOCKS];
    struct pelton_frame_packing frame_packing;
    struct {
        bool cancel_flag, hor_flip, ver_flip, reserved;
        uint16_t anticlockwise_rotation; /* in units of 360 / 65536 degrees */
        uint16_t reserved_too;
        uint32_t repetition_period;
    } display_orientation;
    struct {
        uint16_t primaries[6]; /* x, y of green, blue, red, in units of 0.00002 */
        uint16_t white_point[2];
        uint32_t max_luminance, min_luminance; /* in units of 0.0001 cd/m2 */
    } mastering_display;
    struct {
        uint16_t max_content_light_level, max_pic_average_light_level; /* cd/m2 */
    } content_light;
    uint32_t captions_size;
    const uint8_t *captions; /* cc_data of ATSC A/53: three bytes each */
    uint32_t messages;
    uint32_t left_out; /* messages that were malformed or too large */
    const struct pelton_sei_message *message;
};

/* The VUI of the frame's sequence; all zero: it has none. */
enum pelton_overscan {
    PELTON_OVERSCAN_UNKNOWN,
    PELTON_OVERSCAN_NOT_APPROPRIATE,
    PELTON_OVERSCAN_APPROPRIATE
};
struct pelton_vui {
    bool present;
    bool fixed_frame_rate;
    bool hrd, pic_struct;   /* HRD parameters, pic_struct_present_flag */
    uint8_t video_format;   /* 0 component, 1 PAL, 2 NTSC, 3 SECAM, 4 MAC, 5 unspecified */
    uint8_t reorder_frames; /* max_num_reorder_frames, given or inferred */
    uint8_t reserved[2];
    enum pelton_overscan overscan;
    uint32_t num_units_in_tick, time_scale; /* of a field; 0: not given */
};

#endif
