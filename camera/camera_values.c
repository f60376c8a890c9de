/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Values of camera settings as text. See camera_values.h.
 */
#include "camera/camera_values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

bool camera_parse_number(const char *text, double least, double most, double *out)
{
    const char *end;
    double value;
    if (!parse_double(text, &end, &value) || *end || value < least || value > most)
        return false;
    *out = value;
    return true;
}

bool camera_parse_time(const char *text, double least, double most, double *out)
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

bool camera_parse_flag(const char *text, bool *out)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};
    for (unsigned i = 0; i < 8; i++)
        if (!strcasecmp(text, words[i])) {
            *out = i % 2;
            return true;
        }
    return false;
}

bool camera_parse_word(const char *text, const char *const *words, uint32_t *out)
{
    for (uint32_t i = 0; words[i]; i++)
        if (!strcasecmp(text, words[i])) {
            *out = i;
            return true;
        }
    return false;
}

/* Two neighbours: width, height. */
bool camera_parse_size(const char *text, double least, double most, uint32_t *out)
{
    unsigned width, height;
    int used = 0;
    if (!isdigit((unsigned char)*text) || sscanf(text, "%5ux%5u%n", &width, &height, &used) != 2 ||
        text[used] || width < least || height < least || width > most || height > most)
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

bool camera_parse_black(const char *text, double least, double most, struct camera_params *p)
{
    double values[4];
    uint32_t n = parse_list(text, least, most, values, 4);
    if (n != 1 && n != 4)
        return false;
    for (uint32_t i = 0; i < 4; i++)
        p->black[i] = (uint32_t)values[n == 1 ? 0 : i];
    return true;
}

bool camera_parse_ccm(const char *text, double least, double most, struct camera_params *p)
{
    double values[9];
    if (parse_list(text, least, most, values, 9) != 9)
        return false;
    memcpy(p->ccm, values, sizeof(values));
    return true;
}

bool camera_parse_rect(const char *text, double least, double most, struct isp_rect *out)
{
    double v[4];
    if (parse_list(text, 0, most, v, 4) != 4 || v[2] < least || v[3] < least)
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

bool camera_parse_tone_table(const char *text, struct camera_params *p)
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

bool camera_parse_light(const char *text, struct camera_params *p)
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

bool camera_parse_lens(const char *text, struct camera_params *p)
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

bool camera_parse_mains(const char *text, double *out)
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

bool camera_parse_big(const char *text, double most, uint64_t *out)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || (double)value > most)
        return false;
    *out = value;
    return true;
}

bool camera_parse_count(const char *text, double least, double most, uint32_t *out)
{
    uint64_t value;
    if (!camera_parse_big(text, most, &value) || (double)value < least)
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

bool camera_parse_controls(const char *text, size_t room, char *out)
{
    char name[CAMERA_LISTED_NAME];
    int64_t value;
    const char *at = text;
    while (camera_listed_control(&at, name, &value) && *at)
        ;
    if (at == text || *at || at[-1] == ',' || strlen(text) >= room)
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

/* ---- formats ---- */

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
bool camera_parse_format(const char *text, struct camera_params *p)
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
