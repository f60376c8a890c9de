/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What is known of a source before its first frame, from its container and its bitstream. pelton.h
 * includes this header.
 */
#ifndef PELTON_INFO_H
#define PELTON_INFO_H

#include "pelton_side.h"

#include <stdbool.h>
#include <stdint.h>

struct pelton_rational {
    int32_t num, den;
};

enum pelton_range { PELTON_RANGE_UNKNOWN, PELTON_RANGE_LIMITED, PELTON_RANGE_FULL };
/* Who says so. */
enum pelton_colour_source {
    PELTON_COLOUR_ASSUMED, /* nobody: it follows from the size */
    PELTON_COLOUR_BITSTREAM,
    PELTON_COLOUR_CONTAINER,
    PELTON_COLOUR_USER
};
struct pelton_colour {
    uint8_t primaries, transfer, matrix; /* numbers of H.264 annex E */
    uint8_t siting;                      /* chroma_sample_loc_type + 1; 0: unknown */
    enum pelton_range range;
    enum pelton_colour_source source;
};

/* How a picture must be turned and mirrored before it is shown, by the container's display matrix.
 * The numbers are Exif's. Frames leave unturned. */
enum pelton_orientation {
    PELTON_UPRIGHT = 1, /* so is 0 */
    PELTON_MIRRORED,    /* left and right change places */
    PELTON_TURNED_180,
    PELTON_UPSIDE_DOWN,    /* top and bottom change places */
    PELTON_TRANSPOSED,     /* rows become columns */
    PELTON_TURNED_90,      /* clockwise */
    PELTON_ANTITRANSPOSED, /* rows become columns, from the right and from below */
    PELTON_TURNED_270
};

enum pelton_video_flags {
    PELTON_VIDEO_DEFAULT = 1,  /* the container calls it so */
    PELTON_VIDEO_ATTACHED = 2, /* a cover or another still picture */
    PELTON_VIDEO_CHOSEN = 4
};
enum { PELTON_MAX_VIDEOS = 8 };
/* A video stream of a container. */
struct pelton_video {
    char codec[32];
    uint32_t width, height;
    uint32_t flags; /* enum pelton_video_flags */
};

/* From the container and the bitstream. */
struct pelton_info {
    char container[64], codec[32], profile[64], pix_fmt[32];
    int32_t level;
    uint32_t width, height, coded_width, coded_height; /* pixels */
    struct pelton_rational time_base, frame_rate /* as FFmpeg's r_frame_rate */, avg_frame_rate,
        sar;
    bool supported, reserved[3];
    int64_t start_pts;            /* in time_base; INT64_MIN: unknown */
    int64_t duration_us;          /* -1: unknown */
    int64_t frames;               /* -1: unknown */
    uint64_t bit_rate;            /* bits per second; 0: unknown */
    char unsupported_element[64]; /* the syntax element that is not supported, else empty */
    char unsupported_what[128];   /* the same in words */
    struct pelton_colour colour;
    struct pelton_vui vui;
    uint32_t orientation; /* enum pelton_orientation */
    uint32_t videos;      /* entries of video[] */
    struct pelton_video video[PELTON_MAX_VIDEOS];
    uint32_t sounds; /* audio streams of the container, which nobody reads */
    uint32_t reserved_end;
};

/* What the first access units of a stream carry beside their samples. */
enum { PELTON_MAX_SEI_TYPES = 32 };
struct pelton_probe_sei {
    uint32_t pictures; /* that were read */
    uint32_t types;    /* entries of type[] */
    struct {
        uint32_t type, count;
    } type[PELTON_MAX_SEI_TYPES]; /* payloadType, number of messages */
    /* The first message of each kind. The caller frees it by free(). NULL: none. */
    struct pelton_side_data *first;
};

#endif
