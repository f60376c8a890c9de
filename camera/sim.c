/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The simulated sensor: see sim.h. Photon noise is a normal deviate whose variance is the number of
 * electrons, which Poisson's is close to from some ten electrons on; deviates come from a table at
 * random places.
 */
#include "camera/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEVIATES = 1 << 16,
    WIDEST = 8192,
    SETTINGS = 2 /* frames from setting to effect */,
    ROW_SKEW_US = 10
};
#define UNIT_US 10000.0 /* at light 1 and gain 1 the scene's white is full scale */

struct sim {
    struct camera_params params;
    uint32_t row_bytes;
    /* where in a scene of the sensor's size a sensor pixel looks; x < 0: nowhere */
    double (*map)[2];
    uint16_t *pictures[32]; /* linear light under the filters, 65535 the scene's white */
    uint32_t n_pictures;
    float *deviates;
    uint16_t *row;
    uint64_t frame, random;
    struct ae_exposure queue[SETTINGS + 1]; /* [0]: of the next frame */
};

static uint64_t next_random(struct sim *sim)
{
    uint64_t x = sim->random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return sim->random = x;
}

static void fill_deviates(struct sim *sim)
{
    for (uint32_t i = 0; i < DEVIATES; i += 2) { /* Box, Muller 1958 */
        double u = ((double)(next_random(sim) >> 11) + 1) * 0x1p-53,
               v = (double)(next_random(sim) >> 11) * 0x1p-53;
        sim->deviates[i] = (float)(sqrt(-2 * log(u)) * cos(2 * M_PI * v));
        sim->deviates[i + 1] = (float)(sqrt(-2 * log(u)) * sin(2 * M_PI * v));
    }
    memcpy(sim->deviates + DEVIATES, sim->deviates, WIDEST * sizeof(*sim->deviates));
}

/* The lens shows at (x, y) what a straight camera with the same K shows at map. */
static void fill_map(struct sim *sim)
{
    const struct camera_params *p = &sim->params;
    for (uint32_t y = 0; y < p->height; y++)
        for (uint32_t x = 0; x < p->width; x++) {
            double *to = sim->map[(size_t)y * p->width + x];
            to[0] = x;
            to[1] = y;
            if (p->optics.lens.model != ISP_LENS_NONE &&
                !isp_lens_undistort(&p->optics.lens, &p->optics.lens.camera, x, y, &to[0], &to[1]))
                to[0] = -1;
        }
}

struct sim *sim_create(const struct camera_params *params)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    if (!sim)
        return NULL;
    sim->params = *params;
    const struct isp_params raw = {.width = params->width,
                                   .height = params->height,
                                   .packing = params->packing,
                                   .depth = params->depth};
    sim->row_bytes = isp_row_bytes(&raw);
    sim->random = params->sim.seed * 0x9e3779b97f4a7c15u | 1;
    sim->map = calloc((size_t)params->width * params->height, sizeof(*sim->map));
    sim->deviates = calloc(DEVIATES + WIDEST, sizeof(*sim->deviates));
    sim->row = calloc(params->width, sizeof(*sim->row));
    if (!sim->map || !sim->deviates || !sim->row) {
        sim_free(sim);
        return NULL;
    }
    fill_deviates(sim);
    fill_map(sim);
    for (int i = 0; i <= SETTINGS; i++)
        sim->queue[i] =
            (struct ae_exposure){params->exposure.time_us, params->exposure.analogue_gain, 1};
    return sim;
}

void sim_free(struct sim *sim)
{
    if (!sim)
        return;
    for (uint32_t i = 0; i < sim->n_pictures; i++)
        free(sim->pictures[i]);
    free(sim->map);
    free(sim->deviates);
    free(sim->row);
    free(sim);
}

/* ---- the scene ---- */

/* H.273 equations for the two matrices of television; the transfer function undone is that of sRGB,
 * close to what displays do. */
static void linear_rgb(const struct sim_picture *p, const float curve[1024], uint32_t x, uint32_t y,
                       float rgb[3])
{
    float luma = p->plane[0][(size_t)y * p->stride[0] + x];
    size_t at = y >> p->shift_y;
    float cb = 0, cr = 0;
    if (p->plane[1]) {
        cb = (float)p->plane[1][at * p->stride[1] + (x >> p->shift_x)] - 128;
        cr = (float)p->plane[2][at * p->stride[2] + (x >> p->shift_x)] - 128;
    }
    luma = p->full_range ? luma / 255 : (luma - 16) / 219;
    cb /= p->full_range ? 255 : 224;
    cr /= p->full_range ? 255 : 224;
    float kr = p->bt709 ? 0.2126f : 0.299f, kb = p->bt709 ? 0.0722f : 0.114f;
    float r = luma + 2 * (1 - kr) * cr, b = luma + 2 * (1 - kb) * cb;
    float values[3] = {r, (luma - kr * r - kb * b) / (1 - kr - kb), b};
    for (int i = 0; i < 3; i++) {
        float v = values[i] < 0 ? 0 : values[i] > 1 ? 1 : values[i];
        rgb[i] = curve[(int)(v * 1023)];
    }
}

static void fill_curve(float curve[1024])
{
    for (int i = 0; i < 1024; i++) {
        double v = i / 1023.0;
        curve[i] = (float)(v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
    }
}

/* Which of R, G, B the filter over a sample lets through; 3: all. */
static int filter(uint32_t order, uint32_t x, uint32_t y)
{
    static const uint8_t colours[4][4] = {{0, 1, 1, 2}, {1, 0, 2, 1}, {1, 2, 0, 1}, {2, 1, 1, 0}};
    return order == ISP_MONO ? 3 : colours[order][y % 2 * 2 + x % 2];
}

static float through(const float rgb[3], int colour)
{
    return colour < 3 ? rgb[colour] : 0.2126f * rgb[0] + 0.7152f * rgb[1] + 0.0722f * rgb[2];
}

static float sample(const struct sim_picture *p, const float *light, double x, double y,
                    uint32_t colour)
{
    if (!(x > -0.5 && y > -0.5 && x < p->width - 0.5 && y < p->height - 0.5))
        return 0;
    x = x < 0 ? 0 : x > p->width - 1 ? p->width - 1 : x;
    y = y < 0 ? 0 : y > p->height - 1 ? p->height - 1 : y;
    uint32_t left = (uint32_t)x, top = (uint32_t)y;
    uint32_t right = left + 1 < p->width ? left + 1 : left,
             bottom = top + 1 < p->height ? top + 1 : top;
    float fx = (float)(x - left), fy = (float)(y - top), corner[4];
    const uint32_t at[4][2] = {{left, top}, {right, top}, {left, bottom}, {right, bottom}};
    for (int i = 0; i < 4; i++)
        corner[i] = through(light + 3 * ((size_t)at[i][1] * p->width + at[i][0]), (int)colour);
    return (corner[0] * (1 - fx) + corner[1] * fx) * (1 - fy) +
           (corner[2] * (1 - fx) + corner[3] * fx) * fy;
}

int sim_add_picture(struct sim *sim, const struct sim_picture *p)
{
    const struct camera_params *s = &sim->params;
    float curve[1024], *light = calloc((size_t)p->width * p->height, 3 * sizeof(*light));
    uint16_t *out = calloc((size_t)s->width * s->height, sizeof(*out));
    if (!light || !out || sim->n_pictures == 32) {
        free(light);
        free(out);
        return -1;
    }
    fill_curve(curve);
    for (uint32_t y = 0; y < p->height; y++)
        for (uint32_t x = 0; x < p->width; x++)
            linear_rgb(p, curve, x, y, light + 3 * ((size_t)y * p->width + x));
    double scale_x = (double)p->width / s->width, scale_y = (double)p->height / s->height;
    for (uint32_t y = 0; y < s->height; y++)
        for (uint32_t x = 0; x < s->width; x++) {
            const double *from = sim->map[(size_t)y * s->width + x];
            float v = from[0] <= -1 ? 0
                                    : sample(p, light, (from[0] + 0.5) * scale_x - 0.5,
                                             (from[1] + 0.5) * scale_y - 0.5,
                                             (uint32_t)filter(s->order, x, y));
            out[(size_t)y * s->width + x] = (uint16_t)(v * 65535 + 0.5f);
        }
    free(light);
    sim->pictures[sim->n_pictures++] = out;
    return 0;
}

/* ---- a frame ---- */

void sim_set(struct sim *sim, double time_us, double analogue)
{
    sim->queue[SETTINGS] = (struct ae_exposure){time_us, analogue, 1};
}

/* To and fro, so that nothing jumps but the light. */
static const uint16_t *picture_of(const struct sim *sim, uint64_t frame)
{
    uint64_t period = sim->n_pictures > 1 ? 2 * (uint64_t)sim->n_pictures - 2 : 1,
             at = frame % period;
    return sim->pictures[at < sim->n_pictures ? at : period - at];
}

static double light_of(const struct camera_params *p, uint64_t frame)
{
    double light = 1;
    for (uint32_t i = 0; i < p->sim.light_steps; i++)
        if (frame >= p->sim.light_from[i])
            light = p->sim.light[i];
    return light;
}

/* Mean of 1 + depth cos(w t) over the exposure of a row. */
static double lamps(const struct camera_params *p, uint64_t frame, uint32_t y, double time_us)
{
    if (p->sim.mains_hz <= 0 || p->sim.mains_depth <= 0)
        return 1;
    double w = 2 * M_PI * 2 * p->sim.mains_hz * 1e-6,
           start = (double)frame * 1e6 / p->fps + (double)y * ROW_SKEW_US;
    return 1 + p->sim.mains_depth * (sin(w * (start + time_us)) - sin(w * start)) / (w * time_us);
}

static void pack_row(const struct camera_params *p, const uint16_t *in, uint8_t *out)
{
    uint32_t n = p->width, low_bits = p->depth - 8;
    if (p->packing == ISP_UNPACKED) {
        for (uint32_t x = 0; x < n; x++) {
            if (p->depth == 8) {
                out[x] = (uint8_t)in[x];
            } else {
                out[2 * x] = (uint8_t)in[x];
                out[2 * x + 1] = (uint8_t)(in[x] >> 8);
            }
        }
        return;
    }
    for (uint32_t x = 0; p->depth == 12 && x + 2 <= n; x += 2, out += 3) {
        out[0] = (uint8_t)(in[x] >> 4);
        out[1] = (uint8_t)(in[x + 1] >> 4);
        out[2] = (uint8_t)((in[x] & 15) | in[x + 1] << 4);
    }
    if (p->depth == 12)
        return;
    /* CSI-2: the high bytes of a group, then its low bits, the first sample's lowest. */
    const uint32_t group = 4;
    for (uint32_t x = 0; x + group <= n; x += group) {
        uint32_t rest = 0;
        for (uint32_t i = 0; i < group; i++) {
            *out++ = (uint8_t)(in[x + i] >> low_bits);
            rest |= (in[x + i] & ((1u << low_bits) - 1)) << (i * low_bits);
        }
        for (uint32_t bits = 0; bits < group * low_bits; bits += 8)
            *out++ = (uint8_t)(rest >> bits);
    }
}

/* The deviates go on behind DEVIATES, so that a row reads them without a break: this loop becomes
 * vectors. */
static void expose_row(struct sim *sim, uint32_t y, const uint16_t *scene, double factor,
                       double gain)
{
    const struct camera_params *p = &sim->params;
    const float most = (float)(p->white ? p->white : (1u << p->depth) - 1);
    const float even = (float)p->black[y % 2 * 2], odd = (float)p->black[y % 2 * 2 + 1];
    const float scale = (float)(factor / 65535),
                shot = p->sim.electrons > 0 ? (float)(gain / p->sim.electrons) : 0,
                read = (float)(p->sim.noise * gain);
    const float *deviates = sim->deviates + (next_random(sim) >> 20) % DEVIATES;
    uint16_t *row = sim->row;
    for (uint32_t x = 0; x < p->width; x++) {
        float v = scene[x] * scale, sigma = sqrtf(v * shot + read * read),
              black = x & 1 ? odd : even;
        v = black + (most - black) * (v + sigma * deviates[x]) + 0.5f;
        v = v < 0 ? 0 : v;
        row[x] = (uint16_t)(int32_t)(v > most ? most : v);
    }
}

void sim_frame(struct sim *sim, uint8_t *raw, struct ae_exposure *in_effect)
{
    const struct camera_params *p = &sim->params;
    const uint16_t *scene = picture_of(sim, sim->frame);
    const struct ae_exposure e = sim->queue[0];
    double factor = light_of(p, sim->frame) * e.time_us / UNIT_US * e.analogue;
    for (uint32_t y = 0; y < p->height; y++) {
        expose_row(sim, y, scene + (size_t)y * p->width,
                   factor * lamps(p, sim->frame, y, e.time_us), e.analogue);
        pack_row(p, sim->row, raw + (size_t)y * sim->row_bytes);
    }
    *in_effect = e;
}

void sim_next(struct sim *sim)
{
    memmove(sim->queue, sim->queue + 1, SETTINGS * sizeof(*sim->queue));
    sim->frame++;
}
