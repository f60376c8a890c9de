/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Addresses of cameras, scheme://path?key=value&..., read into settings and checked as a whole; see
 * params.h.
 */
#include "camera/camera_params.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *scheme;
    enum camera_kind kind;
} schemes[] = {{"sim", "sim://", CAMERA_SIM},
               {"v4l2", "v4l2://", CAMERA_V4L2},
               {"bayer", "bayer://", CAMERA_BAYER},
               {"libcamera", "libcamera://", CAMERA_LIBCAMERA}};

static const char *rest_of_address(const char *uri, enum camera_kind *kind)
{
    for (unsigned i = 0; i < sizeof(schemes) / sizeof(*schemes); i++)
        if (!strncmp(uri, schemes[i].scheme, strlen(schemes[i].scheme))) {
            *kind = schemes[i].kind;
            return uri + strlen(schemes[i].scheme);
        }
    return NULL;
}

const char *camera_scheme(unsigned index)
{
    return index < sizeof(schemes) / sizeof(*schemes) ? schemes[index].name : NULL;
}

bool camera_address(const char *uri)
{
    enum camera_kind kind;
    return uri && rest_of_address(uri, &kind);
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Up to a byte of `until`; false where it does not fit or an escape is bad. */
static bool unescape(const char **text, const char *until, char *out, size_t size)
{
    const char *at = *text;
    size_t n = 0;
    for (; *at && !strchr(until, *at); at++) {
        int c = (unsigned char)*at;
        if (c == '%') {
            if (hex(at[1]) < 0 || hex(at[2]) < 0)
                return false;
            c = 16 * hex(at[1]) + hex(at[2]);
            at += 2;
        }
        if (n + 1 >= size || c == 0)
            return false;
        out[n++] = (char)c;
    }
    out[n] = 0;
    *text = at;
    return true;
}

static void set_defaults(struct camera_params *p)
{
    *p = (struct camera_params){
        .fps = 30,
        .order = ISP_RGGB,
        .depth = 12,
        .packing = ISP_MIPI,
        .realtime = true,
        .sim = {.scene_frames = 8,
                .electrons = 10000,
                .noise = 0.001,
                .light_steps = 1,
                .light = {1},
                .seed = 1},
        .exposure = {.ae_enable = true, .time_us = 10000, .analogue_gain = 1},
        .red_gain = 1,
        .blue_gain = 1,
        .demosaic = ISP_MALVAR,
        .tone = ISP_TONE_SRGB};
    ae_defaults(&p->exposure.ae);
}

static bool inside(const struct isp_rect *r, const struct camera_params *p)
{
    return !r->width || !p->width ||
           (r->width <= p->width && r->height <= p->height && r->x <= p->width - r->width &&
            r->y <= p->height - r->height);
}

/* Where the sensor's size and depth are not given, the rest is found out when it is open. */
static const char *check_picture(const struct camera_params *p)
{
    uint32_t white = p->white ? p->white : p->format_given ? (1u << p->depth) - 1 : 65535;
    if (p->format_given && white >= 1u << p->depth)
        return "white is more than the samples' bits hold";
    for (int i = 0; i < 4; i++)
        if (p->black[i] >= white)
            return "black is not less than white";
    if (!inside(&p->region, p))
        return "region lies outside the sensor's size";
    if (!inside(&p->exposure.meter_region, p))
        return "ae.region lies outside the sensor's size";
    if (p->exposure.metering == CAMERA_METER_REGION && !p->exposure.meter_region.width)
        return "ae.metering=region without ae.region";
    if (p->tone == ISP_TONE_TABLE && !p->tone_table[0])
        return "tone=table without tone_table";
    return NULL;
}

/* What single keys cannot know. */
static int check_whole(struct camera_params *p, char why[CAMERA_WHY])
{
    const char *text = ae_check(&p->exposure.ae);
    text = text ? text : check_picture(p);
    if (!p->path[0])
        text = "the address names no file or device";
    else if (p->kind == CAMERA_BAYER && !p->width)
        text = "size is missing: a raw file does not say it";
    else if (p->kind == CAMERA_SIM && p->order == ISP_YUV)
        text = "format: the simulated sensor has raw ones";
    else if (p->kind == CAMERA_BAYER &&
             (p->coding != CAMERA_SAMPLES || p->packing >= ISP_PLANES_420 || p->pieces))
        text = "format: files hold raw samples, YUYV, UYVY, NV12 or NV21";
    else if (p->width % 2 || p->height % 2)
        text = "the sensor's size is odd";
    else if (p->optics.rectify && p->optics.lens.model == ISP_LENS_NONE &&
             !p->optics.calibration[0])
        text = "rectify without lens or calibration";
    if (text)
        snprintf(why, CAMERA_WHY, "%s", text);
    return text ? -1 : 0;
}

int camera_params_parse(const char *uri, struct camera_params *out, char why[CAMERA_WHY])
{
    struct camera_params p;
    enum camera_kind kind;
    const char *at = rest_of_address(uri, &kind);
    if (!at) {
        snprintf(why, CAMERA_WHY, "not the address of a camera");
        return -1;
    }
    set_defaults(&p);
    p.kind = kind;
    if (!unescape(&at, "?", p.path, sizeof(p.path))) {
        snprintf(why, CAMERA_WHY, "the path is too long, or holds a bad %% escape");
        return -1;
    }
    at += *at == '?';
    while (*at) {
        char key[64], value[512];
        if (!unescape(&at, "=&", key, sizeof(key)) || *at++ != '=' ||
            !unescape(&at, "&", value, sizeof(value))) {
            snprintf(why, CAMERA_WHY, "expected key=value after '?' and '&'");
            return -1;
        }
        if (camera_params_set(&p, key, value, why) < 0)
            return -1;
        at += *at == '&';
    }
    if (check_whole(&p, why) < 0)
        return -1;
    *out = p;
    return 0;
}

bool camera_address_append(char *address, const char *key, const char *value)
{
    size_t n = strlen(address);
    int put =
        snprintf(address + n, CAMERA_ADDRESS - n, "%c%s=", strchr(address, '?') ? '&' : '?', key);
    if (put < 0 || (size_t)put >= CAMERA_ADDRESS - n) {
        address[n] = 0;
        return false;
    }
    size_t end = n + (size_t)put;
    for (; *value; value++) {
        bool plain = isalnum((unsigned char)*value) || strchr("-_.,:@/+", *value);
        put = snprintf(address + end, CAMERA_ADDRESS - end, plain ? "%c" : "%%%02X",
                       (unsigned char)*value);
        if (put < 0 || (size_t)put >= CAMERA_ADDRESS - end) {
            address[n] = 0;
            return false;
        }
        end += (size_t)put;
    }
    return true;
}
