/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of camera settings. See camera_params.h. A row is a key, its kind, its range and its
 * place.
 */
#include "camera/camera_params.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
    {"size", SIZE, AT(width), 16, 8192, NULL, "of the sensor, WxH, each from 16 to 8192"},
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

static bool parse_double(const char *text, const char **end, double *out)
{
    char *stop;
    double value = strtod(text, &stop);
    if (stop == text || !isfinite(value))
        return false;
    *end = stop;
    *out = value;
    return true;
}

static bool parse_number(const char *text, double least, double most, double *out)
{
    const char *end;
    double value;
    if (!parse_double(text, &end, &value) || *end || value < least || value > most)
        return false;
    *out = value;
    return true;
}

static bool parse_time(const char *text, double least, double most, double *out)
{
    const char *end;
    double value;
    if (!parse_double(text, &end, &value))
        return false;
    value *= !strcmp(end, "ms")            ? 1e3
             : !strcmp(end, "s")           ? 1e6
             : !strcmp(end, "us") || !*end ? 1
                                           : NAN;
    if (!(value >= least && value <= most))
        return false;
    *out = value;
    return true;
}

static bool parse_flag(const char *text, bool *out)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};
    for (unsigned i = 0; i < 8; i++)
        if (!strcasecmp(text, words[i])) {
            *out = i % 2;
            return true;
        }
    return false;
}

static bool parse_word(const char *text, const char *const *words, uint32_t *out)
{
    for (uint32_t i = 0; words[i]; i++)
        if (!strcasecmp(text, words[i])) {
            *out = i;
            return true;
        }
    return false;
}

/* Two neighbours: width, height. */
static bool parse_size(const char *text, const struct row *row, uint32_t *out)
{
    unsigned width, height;
    int used = 0;
    if (!isdigit((unsigned char)*text) || sscanf(text, "%5ux%5u%n", &width, &height, &used) != 2 ||
        text[used] || width < row->least || height < row->least || width > row->most ||
        height > row->most)
        return false;
    out[0] = width;
    out[1] = height;
    return true;
}

/* Numbers with commas between; how many there are, 0 where one is wrong or there are more than
 * most_numbers. */
static uint32_t parse_list(const char *text, double least, double most, double *out,
                           uint32_t most_numbers)
{
    for (uint32_t n = 0; n < most_numbers; text++) {
        if (!parse_double(text, &text, &out[n]) || out[n] < least || out[n] > most)
            return 0;
        n++;
        if (!*text)
            return n;
        if (*text != ',')
            return 0;
    }
    return 0;
}

static bool parse_black(const char *text, const struct row *row, struct camera_params *p)
{
    double values[4];
    uint32_t n = parse_list(text, row->least, row->most, values, 4);
    if (n != 1 && n != 4)
        return false;
    for (uint32_t i = 0; i < 4; i++)
        p->black[i] = (uint32_t)values[n == 1 ? 0 : i];
    return true;
}

static bool parse_ccm(const char *text, const struct row *row, struct camera_params *p)
{
    double values[9];
    if (parse_list(text, row->least, row->most, values, 9) != 9)
        return false;
    memcpy(p->ccm, values, sizeof(values));
    return true;
}

static bool parse_rect(const char *text, const struct row *row, struct isp_rect *out)
{
    double v[4];
    if (parse_list(text, 0, row->most, v, 4) != 4 || v[2] < row->least || v[3] < row->least)
        return false;
    for (int i = 0; i < 4; i++)
        if (v[i] != floor(v[i]))
            return false;
    *out = (struct isp_rect){(uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2], (uint32_t)v[3]};
    return true;
}

uint32_t camera_tone_listed(const char *text, uint16_t out[CAMERA_TONE_LISTED])
{
    double values[CAMERA_TONE_LISTED];
    uint32_t n = parse_list(text, 0, 65535, values, CAMERA_TONE_LISTED);
    if (n < 2)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        out[i] = (uint16_t)values[i];
    return n;
}

static bool parse_tone_table(const char *text, struct camera_params *p)
{
    uint16_t values[CAMERA_TONE_LISTED];
    bool list = strspn(text, "0123456789.,-+eE ") == strlen(text);
    if (!*text || strlen(text) >= sizeof(p->tone_table) ||
        (list && !camera_tone_listed(text, values)))
        return false;
    snprintf(p->tone_table, sizeof(p->tone_table), "%s", text);
    p->tone = ISP_TONE_TABLE;
    return true;
}

/* What needs no development, by V4L2's names. */
static const struct {
    const char *name;
    uint32_t packing, coding, pieces;
} pictures[] = {
    {"YUYV", ISP_YUYV, CAMERA_SAMPLES, 0},       {"UYVY", ISP_UYVY, CAMERA_SAMPLES, 0},
    {"NV12", ISP_PAIRS_CBCR, CAMERA_SAMPLES, 0}, {"NV21", ISP_PAIRS_CRCB, CAMERA_SAMPLES, 0},
    {"YU12", ISP_PLANES_420, CAMERA_SAMPLES, 0}, {"NM12", ISP_PAIRS_CBCR, CAMERA_SAMPLES, 2},
    {"NM21", ISP_PAIRS_CRCB, CAMERA_SAMPLES, 2}, {"YM12", ISP_PLANES_420, CAMERA_SAMPLES, 3},
    {"MJPG", ISP_PLANES_422, CAMERA_MJPEG, 0},   {"H264", ISP_PLANES_420, CAMERA_H264, 0},
};
enum { PICTURES = sizeof(pictures) / sizeof(*pictures) };

static const char *const orders[] = {"SRGGB", "SGRBG", "SGBRG", "SBGGR", "Y"};

void camera_format_name(const struct camera_params *p, char out[12])
{
    if (p->order != ISP_YUV) {
        snprintf(out, 12, "%s%u%s", orders[p->order], p->depth & 31,
                 p->packing == ISP_MIPI ? "P" : "");
        return;
    }
    for (int i = 0; i < PICTURES; i++)
        if (pictures[i].packing == p->packing && pictures[i].coding == p->coding &&
            pictures[i].pieces == p->pieces)
            snprintf(out, 12, "%s", pictures[i].name);
}

static bool parse_picture(const char *text, struct camera_params *p)
{
    for (int i = 0; i < PICTURES; i++)
        if (!strcasecmp(text, pictures[i].name)) {
            p->order = ISP_YUV;
            p->depth = 8;
            p->packing = pictures[i].packing;
            p->coding = pictures[i].coding;
            p->pieces = pictures[i].pieces;
            p->format_given = true;
            return true;
        }
    return false;
}

/* V4L2's names: SRGGB12P, Y10. */
static bool parse_format(const char *text, struct camera_params *p)
{
    if (parse_picture(text, p))
        return true;
    for (uint32_t i = 0; i < 5; i++) {
        size_t length = strlen(orders[i]);
        if (strncasecmp(text, orders[i], length))
            continue;
        unsigned depth;
        int used = 0;
        const char *rest = text + length;
        if (!isdigit((unsigned char)*rest) || sscanf(rest, "%2u%n", &depth, &used) != 1)
            return false;
        bool packed = !strcasecmp(rest + used, "P");
        if ((rest[used] && !packed) || depth < 8 || depth > 16 || depth % 2 ||
            (packed && (depth == 8 || depth == 16)))
            return false;
        p->order = i;
        p->depth = depth;
        p->packing = packed ? ISP_MIPI : ISP_UNPACKED;
        p->coding = CAMERA_SAMPLES;
        p->pieces = 0;
        p->format_given = true;
        return true;
    }
    return false;
}

static bool parse_light(const char *text, struct camera_params *p)
{
    uint32_t n = 0;
    double light[CAMERA_LIGHT_STEPS], from[CAMERA_LIGHT_STEPS];
    for (;;) {
        const char *end;
        if (n == CAMERA_LIGHT_STEPS || !parse_double(text, &end, &light[n]) || light[n] < 0 ||
            light[n] > 1e6)
            return false;
        from[n] = 0;
        if (*end == '@' &&
            (!parse_double(end + 1, &end, &from[n]) || from[n] < 0 || from[n] > 1e15))
            return false;
        n++;
        if (!*end)
            break;
        if (*end != ',')
            return false;
        text = end + 1;
    }
    for (uint32_t i = 0; i < n; i++) {
        p->sim.light[i] = light[i];
        p->sim.light_from[i] = (uint64_t)from[i];
    }
    p->sim.light_steps = n;
    return true;
}

static bool parse_lens(const char *text, struct camera_params *p)
{
    struct isp_lens lens = {0};
    double values[12] = {0};
    const char *colon = strchr(text, ':');
    uint32_t most, n = 0;
    if (!strcasecmp(text, "none")) {
        p->optics.lens = lens;
        return true;
    }
    if (!strncasecmp(text, "brown:", 6)) {
        lens.model = ISP_LENS_BROWN_CONRADY;
        most = 12;
    } else if (!strncasecmp(text, "fisheye:", 8)) {
        lens.model = ISP_LENS_FISHEYE;
        most = 8;
    } else {
        return false;
    }
    for (text = colon + 1;; text++) {
        if (n == most || !parse_double(text, &text, &values[n++]))
            return false;
        if (!*text)
            break;
        if (*text != ',')
            return false;
    }
    if (n < 4 || !(values[0] > 0) || !(values[1] > 0))
        return false;
    lens.camera = (struct isp_pinhole){values[0], values[1], values[2], values[3]};
    memcpy(lens.coefficients, values + 4, sizeof(lens.coefficients));
    p->optics.lens = lens;
    return true;
}

static bool parse_mains(const char *text, double *out)
{
    double hz;
    const char *end;
    if (!strcasecmp(text, "off")) {
        *out = 0;
        return true;
    }
    if (!parse_double(text, &end, &hz) || strcasecmp(end, "Hz") || hz < 10 || hz > 1000)
        return false;
    *out = 5e5 / hz;
    return true;
}

static bool parse_big(const char *text, const struct row *row, uint64_t *out)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || (double)value > row->most)
        return false;
    *out = value;
    return true;
}

static bool parse_count(const char *text, const struct row *row, uint32_t *out)
{
    uint64_t value;
    if (!parse_big(text, row, &value) || (double)value < row->least)
        return false;
    *out = (uint32_t)value;
    return true;
}

bool camera_listed_control(const char **text, char name[CAMERA_LISTED_NAME], int64_t *value)
{
    const char *at = *text;
    char *end;
    size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (!n || n >= CAMERA_LISTED_NAME || at[n] != '=')
        return false;
    const char *digits = at + n + 1;
    errno = 0;
    long long number = strtoll(digits, &end, 0);
    if (!isdigit((unsigned char)digits[*digits == '-']) || errno || (*end && *end != ','))
        return false;
    memcpy(name, at, n);
    name[n] = 0;
    *value = number;
    *text = end + (*end == ',');
    return true;
}

static bool parse_controls(const char *text, const struct row *row, char *out)
{
    char name[CAMERA_LISTED_NAME];
    int64_t value;
    const char *at = text;
    while (camera_listed_control(&at, name, &value) && *at)
        ;
    if (at == text || *at || at[-1] == ',')
        return false;
    return snprintf(out, (size_t)row->most, "%s", text) < (int)row->most;
}

static bool parse(const struct row *row, const char *text, struct camera_params *p)
{
    void *at = (char *)p + row->at;
    switch (row->kind) {
    case NUMBER:
        return parse_number(text, row->least, row->most, at);
    case COUNT:
        return parse_count(text, row, at);
    case BIG:
        return parse_big(text, row, at);
    case FLAG:
        return parse_flag(text, at);
    case TIME_US:
        return parse_time(text, row->least, row->most, at);
    case WORD:
        return parse_word(text, row->words, at);
    case SIZE:
        return parse_size(text, row, at);
    case FORMAT:
        return parse_format(text, p);
    case LIGHT:
        return parse_light(text, p);
    case LENS:
        return parse_lens(text, p);
    case MAINS:
        return parse_mains(text, at);
    case BLACK:
        return parse_black(text, row, p);
    case MATRIX:
        return parse_ccm(text, row, p);
    case RECT:
        return parse_rect(text, row, at);
    case TABLE:
        return parse_tone_table(text, p);
    case NAME:
        return *text && snprintf(at, (size_t)row->most, "%s", text) < (int)row->most;
    case CONTROLS:
        return parse_controls(text, row, at);
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
    if (!parse(row, value, params)) {
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
