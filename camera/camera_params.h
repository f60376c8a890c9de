/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a camera is and how it is to be developed: one table of keys for addresses
 * (`sim://clip.mp4?size=640x480&ae.target=0.2`) and for the configuration file (nested keys become
 * `ae.target`). Plain C, no I/O.
 *
 *   sim://CLIP           the simulated sensor; CLIP is a path as it would be after a shell
 *   v4l2://DEVICE        a V4L2 capture device, v4l2:///dev/video0
 *   libcamera://NAME     a camera of libcamera by its identity, model or number
 *   bayer://FILE         raw frames one after the other in a file
 *
 * In an address %XX stands for a byte, so that paths may hold '?'.
 */
#ifndef PELTON_CAMERA_PARAMS_H
#define PELTON_CAMERA_PARAMS_H

#include "camera/ae.h"
#include "gpu/isp/isp.h"

enum {
    CAMERA_PATH = 1024,
    CAMERA_WHY = 200,
    CAMERA_ADDRESS = 4096,
    CAMERA_LIGHT_STEPS = 16,
    CAMERA_ENTITY = 64,
    CAMERA_LISTED = 512,
    CAMERA_LISTED_NAME = 40,
    CAMERA_TONE_LISTED = 128
};

/* How a device's frames come: as samples, or coded. */
enum camera_coding { CAMERA_SAMPLES, CAMERA_MJPEG, CAMERA_H264 };

enum camera_buffers { CAMERA_BUFFERS_AUTO, CAMERA_BUFFERS_MMAP, CAMERA_BUFFERS_USERPTR };

/* Behind a media controller: auto where the device asks for it. */
enum camera_media { CAMERA_MEDIA_AUTO, CAMERA_MEDIA_OFF, CAMERA_MEDIA_ON };

enum camera_kind { CAMERA_SIM, CAMERA_V4L2, CAMERA_BAYER, CAMERA_LIBCAMERA };

/* What of the picture sets the exposure. Spot: the middle ninth. Region: meter_region. */
enum camera_metering {
    CAMERA_METER_MATRIX,
    CAMERA_METER_CENTRE,
    CAMERA_METER_SPOT,
    CAMERA_METER_REGION
};

/* The simulated sensor. */
struct camera_sim {
    uint32_t scene_frames;        /* of the clip, played to and fro */
    double electrons;             /* a full well, which sets the photon noise; 0: none */
    double noise;                 /* read noise, share of the full scale */
    double mains_hz, mains_depth; /* the light's flicker: twice the frequency, share of the mean */
    uint32_t light_steps;         /* the scene's light: light[i] from frame light_from[i] on */
    double light[CAMERA_LIGHT_STEPS];
    uint64_t light_from[CAMERA_LIGHT_STEPS];
    uint64_t seed;
    uint64_t lost_at; /* unplugged after so many frames, for two seconds; 0: never */
};

/* A V4L2 device beyond its format. */
struct camera_device {
    uint32_t buffers;             /* enum camera_buffers */
    uint32_t media;               /* enum camera_media */
    char sensor[CAMERA_ENTITY];   /* its entity's name; empty: the one that is connected */
    char controls[CAMERA_LISTED]; /* NAME=NUMBER,...: set when it is opened */
    bool wait;                    /* one that is absent at the start is waited for */
};

/* The lens: of the simulated sensor, and straightened where rectify is set. */
struct camera_optics {
    struct isp_lens lens;
    char
        calibration[CAMERA_PATH]; /* a file that says the lens, scaled to the frames; empty: none */
    bool rectify;
    double alpha;
    uint32_t interpolation; /* enum isp_interpolation */
};

/* Exposure control, and exposure without it. */
struct camera_exposure {
    bool ae_enable;
    bool ae_given; /* ae.enable was set */
    struct ae_params ae;
    double time_us, analogue_gain; /* at the start */
    uint32_t metering;             /* enum camera_metering */
    struct isp_rect meter_region;  /* of the sensor's samples; width 0: none */
};

struct camera_params {
    enum camera_kind kind;
    char path[CAMERA_PATH];
    uint32_t width, height; /* of the sensor; 0: the source's choice */
    double fps;
    uint32_t order, packing, depth; /* enum isp_order, enum isp_packing */
    /* enum camera_coding: MJPEG becomes ISP_PLANES_422, H.264 goes to a decoding session */
    uint32_t coding;
    /* of memory that a frame comes in, 2 or 3 (V4L2's NV12M, ...); 0: one, or as many as the device
     * has */
    uint32_t pieces;
    bool format_given;
    uint32_t black[4]; /* raw units, of the upper left 2x2 samples, row by row */
    uint32_t white;    /* raw units; 0: the largest of depth */
    uint32_t defect;   /* raw units; 0: no clamp */
    bool realtime;     /* else as fast as possible; sim and bayer */
    bool loop;         /* bayer: from the start again */
    uint64_t frames;   /* ends after so many; 0: never */

    struct camera_device device;
    struct camera_sim sim;
    struct camera_optics optics;
    struct camera_exposure exposure;

    /* white balance, development */
    bool awb;
    double red_gain, blue_gain; /* without awb */
    double denoise;             /* of luma, 0 none */
    uint32_t demosaic, tone;    /* enum isp_demosaic, enum isp_tone */
    /* a file, or values with commas between; empty: none. camera_tone_listed */
    char tone_table[CAMERA_PATH];
    double ccm[9];                  /* camera RGB to output RGB, row by row; all zero: none */
    struct isp_rect region;         /* of the straight picture; width 0: all */
    uint32_t out_width, out_height; /* 0: the region's */
    uint32_t matrix, full_range;    /* enum isp_matrix; 1: full */
};

/* Whether an address names a camera at all. */
bool camera_address(const char *uri);
/* The schemes of cameras without "://", one at a time, NULL at the end. */
const char *camera_scheme(unsigned index);
/* 0, or -1 with one line that names the key and its value. */
int camera_params_parse(const char *uri, struct camera_params *out, char why[CAMERA_WHY]);
/* One key; value as in an address, unescaped. 0, or -1 with the line. */
int camera_params_set(struct camera_params *params, const char *key, const char *value,
                      char why[CAMERA_WHY]);
bool camera_params_known(const char *key);
/* The values of a tone table that is a list: their number, 0 where the text is none (it is a file's
 * name then). */
uint32_t camera_tone_listed(const char *text, uint16_t out[CAMERA_TONE_LISTED]);
/* The next of device.controls, which *text passes; false: none is left, or it is none. Names are as
 * v4l2-ctl prints them. */
bool camera_listed_control(const char **text, char name[CAMERA_LISTED_NAME], int64_t *value);
/* Appends `key=value` to an address of CAMERA_ADDRESS bytes, escaped; false where it is full. */
bool camera_address_append(char *address, const char *key, const char *value);
/* Their format's name, as in the setting. */
void camera_format_name(const struct camera_params *params, char out[12]);
/* All keys for documentation: one at a time, NULL at the end. */
const char *camera_params_key(unsigned index, const char **help);

#endif
