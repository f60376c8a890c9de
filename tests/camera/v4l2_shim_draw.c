/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pictures of the devices of v4l2_shim.c, and their layout in memory by format.
 */
#include "v4l2_shim.h"

#include <linux/videodev2.h>
#include <stdio.h>

static void put(unsigned char *row, unsigned x, unsigned value, unsigned depth, bool packed)
{
    if (depth == 8) {
        row[x] = (unsigned char)value;
    } else if (!packed) {
        row[2 * x] = (unsigned char)value;
        row[2 * x + 1] = (unsigned char)(value >> 8);
    } else { /* 10 bits: four high bytes, one of low bits */
        unsigned char *group = row + x / 4 * 5;
        group[x % 4] = (unsigned char)(value >> 2);
        group[4] = (unsigned char)((group[4] & ~(3u << x % 4 * 2)) | (value & 3) << x % 4 * 2);
    }
}

static void draw_raw(unsigned char *to, unsigned width, unsigned height, unsigned stride)
{
    unsigned depth = (unsigned)number("depth", 8), most = (1u << depth) - 1;
    bool packed = number("packed", 0) != 0;
    double full = number("light", 0.05) * device.exposure[0] / 10.0 * device.gain[0] / 16.0;
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            double v = full * (0.5 + x / (double)width) * most;
            put(to + (size_t)y * stride, x, v > most ? most : (unsigned)v, depth, packed);
        }
}

static bool is_one_of(const unsigned *list, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= list[i] == device.fourcc;
    return any;
}

static bool is_packed(void)
{
    return is_one_of((const unsigned[]){V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_UYVY}, 2);
}
bool is_apart(void)
{
    return is_one_of((const unsigned[]){V4L2_PIX_FMT_YUV420, V4L2_PIX_FMT_YUV420M}, 2);
}
static bool is_swapped(void)
{
    return is_one_of((const unsigned[]){V4L2_PIX_FMT_NV21, V4L2_PIX_FMT_NV21M}, 2);
}
static bool is_split(void)
{
    return is_one_of(
        (const unsigned[]){V4L2_PIX_FMT_NV12M, V4L2_PIX_FMT_NV21M, V4L2_PIX_FMT_YUV420M}, 3);
}
static bool is_planar(void)
{
    return is_apart() || is_swapped() ||
           is_one_of((const unsigned[]){V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_NV12M}, 2);
}
bool is_coded(void)
{
    return is_one_of((const unsigned[]){V4L2_PIX_FMT_MJPEG, V4L2_PIX_FMT_H264}, 2);
}

/* Luma rises to the right and downwards, chroma to the right and upwards; where there is one sample
 * for two rows, of the upper. */
static void draw_picture(unsigned char *const to[PLANES], unsigned width, unsigned height,
                         unsigned stride)
{
    bool yuyv = device.fourcc == V4L2_PIX_FMT_YUYV, uyvy = device.fourcc == V4L2_PIX_FMT_UYVY,
         swapped = is_swapped(), apart = is_apart();
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            unsigned luma = 16 + (x + 2 * y + device.sequence) % 220, up = height / 2 - 1 - y / 2,
                     chroma[2] = {64 + x / 2 % 128, 240 - up % 200};
            unsigned char *row = to[0] + (size_t)y * stride, c = (unsigned char)chroma[x & 1];
            row[yuyv ? 2 * x : uyvy ? 2 * x + 1 : x] = (unsigned char)luma;
            if (yuyv || uyvy)
                row[2 * x + yuyv] = c;
            else if (apart)
                to[1 + (x & 1)][y / 2 * (size_t)(stride / 2) + x / 2] = c;
            else
                to[1][y / 2 * (size_t)stride + (x ^ swapped)] = c;
        }
}

/* Bytes of the next frame of the stream. */
static size_t give_coded(unsigned char *to)
{
    char path[512];
    unsigned length = 0;
    FILE *f = text_of_file(device.path, "stream", path, sizeof(path)) ? fopen(path, "rb") : NULL;
    size_t got = 0;
    for (int turn = 0; f && got == 0 && turn < 2; turn++) {
        fseek(f, device.stream_at, SEEK_SET);
        if (fread(&length, 4, 1, f) == 1 && length <= CODED_BYTES)
            got = fread(to, 1, length, f);
        device.stream_at = got ? ftell(f) : 0;
    }
    if (f)
        fclose(f);
    return got;
}

unsigned stride_of_width(unsigned width)
{
    return is_coded() ? 0 : (unsigned)number("stride", width << is_packed());
}

unsigned stride_of(void)
{
    return device.stride;
}

unsigned memory_planes(void)
{
    return !is_split() ? 1 : is_apart() ? 3 : 2;
}

/* Of a piece of memory, without what comes before the picture. */
size_t image_bytes(unsigned plane)
{
    size_t bytes = (size_t)stride_of() * device.height;
    if (plane)
        return is_apart() ? bytes / 4 : bytes / 2;
    return is_coded() ? CODED_BYTES : is_planar() && !is_split() ? bytes / 2 * 3 : bytes;
}

size_t offset_of(void)
{
    return (size_t)number("offset", 0);
}

/* Bytes of the frame's first piece of memory. */
size_t draw(unsigned char *memory)
{
    unsigned width = device.width, height = device.height, stride = stride_of();
    unsigned char *to[PLANES] = {memory + offset_of()};
    for (unsigned k = 1; k < PLANES; k++)
        to[k] = is_split() ? memory + device.plane_at[k] + offset_of()
                           : to[k - 1] + (size_t)stride * height / (k > 1 ? 4 : 1);
    if (is_coded())
        return give_coded(to[0]);
    if (is_packed() || is_planar())
        draw_picture(to, width, height, stride);
    else
        draw_raw(to[0], width, height, stride);
    return image_bytes(0);
}
