/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of camera settings. See camera_params.h. A row is a key, its kind, its range and its
 * place.
 */
#include "camera/camera_params.h"
#include "camera/camera_values.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum kind {
    NUMBER,
    COUNT,
    BIG,
    FLAG,
    TIME_US,
    WORD,
    SIZE,
    FORMAT,
    LIGHT,
    LENS,
    MAINS,
    PATH,
    NAME,
    CONTROLS,
    BLACK,
    MATRIX,
    RECT,
    TABLE
};

#define AT(member) offsetof(struct camera_params, member)

static const char *const demosaics[] = {"bilinear", "malvar", "edge", NULL};
static const char *const tones[] = {"linear", "srgb", "bt709", "table", NULL};
static const char *const meterings[] = {"matrix", "centre", "spot", "region", NULL};
static const char *const matrices[] = {"bt709", "bt601", NULL};
static const char *const ranges[] = {"limited", "full", NULL};
static const char *const memories[] = {"auto", "mmap", "userptr", NULL};
static const char *const medias[] = {"auto", "off", "on", NULL};
static const char *const interpolations[] = {"bilinear", "bicubic", NULL};

static const struct row {
    const char *key;
    enum kind kind;
    size_t at;
    double least, most;
    const char *const *words;
    const char *help;
} rows[] = {
    {"size", SIZE, AT(width), 16, 8192, NULL, "WxH of the sensor, each from 16 to 8192"},
    {"format", FORMAT, 0, 0, 0, NULL,
     "S + order (RGGB GRBG GBRG BGGR) + depth (8 10 12 14 16), P for MIPI packing: SRGGB12P; "
     "Y8..Y16; V4L2: YUYV UYVY NV12 NV21 YU12 NM12 NM21 YM12 MJPG H264 too"},
    {"fps", NUMBER, AT(fps), 0.1, 1000, NULL, "frames per second"},
    {"black", BLACK, 0, 0, 65534, NULL,
     "black level in raw units, from 0 to 65534; or four, of the upper left 2x2 samples, row by "
     "row"},
    {"white", COUNT, AT(white), 1, 65535, NULL,
     "raw value that becomes full scale; without it the largest there is"},
    {"defect", COUNT, AT(defect), 0, 65535, NULL,
     "defect clamp: raw units that a sample may exceed its like neighbours by; 0 none"},
    {"realtime", FLAG, AT(realtime), 0, 0, NULL,
     "at the sensor's pace; no: as fast as frames are taken"},
    {"buffers", WORD, AT(device.buffers), 0, 0, memories, "V4L2: auto, mmap or userptr"},
    {"wait", FLAG, AT(device.wait), 0, 0, NULL,
     "V4L2: a device that is absent at the start is waited for; named sources always are"},
    {"media", WORD, AT(device.media), 0, 0, medias,
     "V4L2: links and pad formats of a media controller: auto (where the device asks for it), off "
     "or on"},
    {"sensor", NAME, AT(device.sensor), 0, CAMERA_ENTITY, NULL,
     "V4L2: name of the sensor in the media controller's graph; else the one that is connected"},
    {"controls", CONTROLS, AT(device.controls), 0, CAMERA_LISTED, NULL,
     "V4L2: NAME=NUMBER, several with commas, names as v4l2-ctl -L prints them"},
    {"loop", FLAG, AT(loop), 0, 0, NULL, "raw files: from the start again"},
    {"frames", BIG, AT(frames), 0, 1e15, NULL, "end after so many"},
    {"scene_frames", COUNT, AT(sim.scene_frames), 1, 32, NULL,
     "simulated: frames of the clip, played to and fro"},
    {"electrons", NUMBER, AT(sim.electrons), 0, 1e7, NULL,
     "simulated: full well, sets the photon noise; 0 none"},
    {"noise", NUMBER, AT(sim.noise), 0, 0.5, NULL,
     "simulated: read noise, share of the full scale"},
    {"mains_hz", NUMBER, AT(sim.mains_hz), 0, 1000, NULL,
     "simulated: mains frequency of the scene's lamps"},
    {"mains_depth", NUMBER, AT(sim.mains_depth), 0, 1, NULL,
     "simulated: how much the lamps flicker"},
    {"light", LIGHT, 0, 0, 0, NULL, "simulated: FACTOR@FRAME, several with commas"},
    {"seed", BIG, AT(sim.seed), 0, 1.8e19, NULL, "simulated: of the noise"},
    {"lost_at", BIG, AT(sim.lost_at), 0, 1e15, NULL,
     "simulated: unplugged for two seconds after so many frames"},
    {"lens", LENS, 0, 0, 0, NULL,
     "brown:fx,fy,cx,cy,k1,k2,p1,p2,k3,k4,k5,k6 or fisheye:fx,fy,cx,cy,k1,k2,k3,k4"},
    {"calibration", PATH, AT(optics.calibration), 0, 0, NULL,
     "file of ROS, OpenCV or Kalibr that says the lens"},
    {"rectify", FLAG, AT(optics.rectify), 0, 0, NULL, "straighten the lens"},
    {"rectify.alpha", NUMBER, AT(optics.alpha), 0, 1, NULL,
     "0: no black borders, 1: all that the sensor saw"},
    {"rectify.interpolation", WORD, AT(optics.interpolation), 0, 0, interpolations,
     "bilinear or bicubic"},
    {"ae.enable", FLAG, AT(exposure.ae_enable), 0, 0, NULL, "exposure control"},
    {"ae.target", NUMBER, AT(exposure.ae.target), 0.001, 0.9, NULL, "mean of linear luminance"},
    {"ae.ev", NUMBER, AT(exposure.ae.ev), -8, 8, NULL, "stops above the target"},
    {"ae.dead_band", NUMBER, AT(exposure.ae.dead_band), 0.001, 1, NULL, "stops"},
    {"ae.leave_band", NUMBER, AT(exposure.ae.leave_band), 0.001, 4, NULL, "stops"},
    {"ae.slew", NUMBER, AT(exposure.ae.slew), 0.05, 16, NULL, "stops a frame"},
    {"ae.flicker", MAINS, AT(exposure.ae.flicker_us), 0, 0, NULL, "50Hz, 60Hz or off"},
    {"ae.exposure_min", TIME_US, AT(exposure.ae.time_min), 1, 1e8, NULL, "as 100us or 20ms"},
    {"ae.exposure_max", TIME_US, AT(exposure.ae.time_max), 1, 1e8, NULL, "the same"},
    {"ae.gain_min", NUMBER, AT(exposure.ae.analogue_min), 1, 1000, NULL, "analogue"},
    {"ae.gain_max", NUMBER, AT(exposure.ae.analogue_max), 1, 1000, NULL, "analogue"},
    {"ae.digital_max", NUMBER, AT(exposure.ae.digital_max), 1, 64, NULL, "digital gain"},
    {"ae.metering", WORD, AT(exposure.metering), 0, 0, meterings,
     "matrix, centre, spot (the middle ninth) or region"},
    {"ae.region", RECT, AT(exposure.meter_region), 1, 8192, NULL,
     "x,y,w,h in the sensor's samples, sizes from 1 to 8192: what ae.metering=region looks at"},
    {"exposure", TIME_US, AT(exposure.time_us), 1, 1e8, NULL, "at the start"},
    {"gain", NUMBER, AT(exposure.analogue_gain), 1, 1000, NULL, "analogue, at the start"},
    {"awb", FLAG, AT(awb), 0, 0, NULL, "white balance of the grey world"},
    {"red_gain", NUMBER, AT(red_gain), 0.01, 64, NULL, "without awb"},
    {"blue_gain", NUMBER, AT(blue_gain), 0.01, 64, NULL, "without awb"},
    {"denoise", NUMBER, AT(denoise), 0, 1, NULL,
     "of luma; 1 expects the noise of a full well of 1000 electrons"},
    {"demosaic", WORD, AT(demosaic), 0, 0, demosaics, "bilinear, malvar or edge"},
    {"ccm", MATRIX, 0, -64, 64, NULL,
     "colour matrix, camera RGB to output RGB: nine numbers from -64 to 64, row by row"},
    {"tone", WORD, AT(tone), 0, 0, tones, "linear, srgb, bt709 or table"},
    {"tone_table", TABLE, AT(tone_table), 0, 0, NULL,
     "2 to 128 values from 0 to 65535 over equal steps of linear light, or a file of up to 65536"},
    {"region", RECT, AT(region), 1, 8192, NULL,
     "x,y,w,h of the straightened picture, sizes from 1 to 8192: what leaves"},
    {"output", SIZE, AT(out_width), 1, 8192, NULL,
     "size of the frames, WxH, each from 1 to 8192; even for 4:2:0"},
    {"range", WORD, AT(full_range), 0, 0, ranges, "of Y, Cb, Cr: limited or full"},
    {"matrix", WORD, AT(matrix), 0, 0, matrices, "of Y, Cb, Cr: bt709 or bt601"},
};
enum { ROWS = sizeof(rows) / sizeof(*rows) };

static const struct row *row_find(const char *key)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (!strcmp(rows[i].key, key))
            return &rows[i];
    return NULL;
}

bool camera_params_known(const char *key)
{
    return row_find(key) != NULL;
}

const char *camera_params_key(unsigned index, const char **help)
{
    if (index >= ROWS)
        return NULL;
    *help = rows[index].help;
    return rows[index].key;
}

static bool row_parse(const struct row *row, const char *text, struct camera_params *p)
{
    void *at = (char *)p + row->at;
    switch (row->kind) {
    case NUMBER:
        return camera_parse_number(text, row->least, row->most, at);
    case COUNT:
        return camera_parse_count(text, row->least, row->most, at);
    case BIG:
        return camera_parse_big(text, row->most, at);
    case FLAG:
        return camera_parse_flag(text, at);
    case TIME_US:
        return camera_parse_time(text, row->least, row->most, at);
    case WORD:
        return camera_parse_word(text, row->words, at);
    case SIZE:
        return camera_parse_size(text, row->least, row->most, at);
    case FORMAT:
        return camera_parse_format(text, p);
    case LIGHT:
        return camera_parse_light(text, p);
    case LENS:
        return camera_parse_lens(text, p);
    case MAINS:
        return camera_parse_mains(text, at);
    case BLACK:
        return camera_parse_black(text, row->least, row->most, p);
    case MATRIX:
        return camera_parse_ccm(text, row->least, row->most, p);
    case RECT:
        return camera_parse_rect(text, row->least, row->most, at);
    case TABLE:
        return camera_parse_tone_table(text, p);
    case NAME:
        return *text && snprintf(at, (size_t)row->most, "%s", text) < (int)row->most;
    case CONTROLS:
        return camera_parse_controls(text, (size_t)row->most, at);
    case PATH:
        return *text && snprintf(at, CAMERA_PATH, "%s", text) < CAMERA_PATH;
    }
    return false;
}

int camera_params_set(struct camera_params *params, const char *key, const char *value,
                      char why[CAMERA_WHY])
{
    const struct row *row = row_find(key);
    if (!row) {
        snprintf(why, CAMERA_WHY, "%.60s: no such camera setting", key);
        return -1;
    }
    if (!row_parse(row, value, params)) {
        if (row->kind == NUMBER || row->kind == COUNT || row->kind == TIME_US)
            snprintf(why, CAMERA_WHY, "%s=%.60s: from %g to %g; %.80s", key, value, row->least,
                     row->most, row->help);
        else
            snprintf(why, CAMERA_WHY, "%s=%.30s: expected %.150s", key, value, row->help);
        return -1;
    }
    params->optics.rectify |= !strcmp(key, "rectify.alpha");
    params->exposure.ae_given |= !strcmp(key, "ae.enable");
    return 0;
}
