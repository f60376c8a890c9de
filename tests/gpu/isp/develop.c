/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Sends raw frames in files through the camera pipeline, for comparisons with other programs.
 *
 *   isp_develop KEY=VALUE.. IN OUT [IN OUT ..]
 *     size=WxH order=rggb depth=8 mipi=0 black=0 demosaic=malvar gains=R,G,B
 *     calibration=FILE alpha=A cubic=1       without alpha the file's matrix is used
 *     out=WxH region=X,Y,W,H tone=linear format=rgb24 device=NAME
 *
 * Exit code 77 without a device.
 */
#include "camera/calibration.h"
#include "gpu/isp/isp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct job {
    struct isp_params params;
    float gain[3];
    const char *device, *calibration;
    double alpha; /* negative: not given */
};

static int choice(const char *value, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(value, words[i]))
            return i;
    return -1;
}

static bool apply(struct job *j, const char *key, const char *v)
{
    static const char *const orders[] = {"rggb", "grbg", "gbrg", "bggr", "mono", NULL},
                             *const demosaics[] = {"bilinear", "malvar", "edge", NULL};
    static const char *const tones[] = {"linear", "srgb", "bt709", NULL};
    static const char *const formats[] = {"i420",  "nv12", "p010",  "gray8",
                                          "rgb24", "rgba", "rgb48", NULL};
    struct isp_params *p = &j->params;
    struct isp_rect *r = &p->region;
    int n = -1;
    unsigned black;
    if (!strcmp(key, "size"))
        return sscanf(v, "%ux%u", &p->width, &p->height) == 2;
    if (!strcmp(key, "out"))
        return sscanf(v, "%ux%u", &p->out_width, &p->out_height) == 2;
    if (!strcmp(key, "region"))
        return sscanf(v, "%u,%u,%u,%u", &r->x, &r->y, &r->width, &r->height) == 4;
    if (!strcmp(key, "gains"))
        return sscanf(v, "%f,%f,%f", &j->gain[0], &j->gain[1], &j->gain[2]) == 3;
    if (!strcmp(key, "depth"))
        return sscanf(v, "%u", &p->depth) == 1;
    if (!strcmp(key, "alpha"))
        return sscanf(v, "%lf", &j->alpha) == 1;
    if (!strcmp(key, "black") && sscanf(v, "%u", &black) == 1 && black < 65536) {
        for (int i = 0; i < 4; i++)
            p->black[i] = (uint16_t)black;
        return true;
    }
    if (!strcmp(key, "device"))
        return (j->device = v) != NULL;
    if (!strcmp(key, "calibration"))
        return (j->calibration = v) != NULL;
    if (!strcmp(key, "order"))
        p->order = (enum isp_order)(n = choice(v, orders));
    else if (!strcmp(key, "demosaic"))
        p->demosaic = (enum isp_demosaic)(n = choice(v, demosaics));
    else if (!strcmp(key, "tone"))
        p->tone = (enum isp_tone)(n = choice(v, tones));
    else if (!strcmp(key, "format"))
        p->format = (enum isp_format)(n = choice(v, formats));
    else if (!strcmp(key, "cubic"))
        p->interpolation = (enum isp_interpolation)(n = atoi(v) != 0);
    else if (!strcmp(key, "mipi"))
        p->packing = (enum isp_packing)(n = atoi(v) != 0);
    return n >= 0;
}

static bool use_calibration(struct job *j)
{
    struct calibration c;
    char why[CALIBRATION_WHY];
    int err = calibration_load(j->calibration, 0, &c, why);
    if (err == CALIBRATION_OK)
        err = calibration_scale(&c, j->params.width, j->params.height, why);
    if (err < 0) {
        fprintf(stderr, "%s: %s\n", j->calibration, why);
        return false;
    }
    j->params.lens = c.lens;
    if (j->alpha >= 0)
        return isp_lens_new_camera(&c.lens, c.width, c.height, j->alpha, &j->params.camera);
    if (c.has_projection)
        j->params.camera = c.projection;
    return true;
}

static int develop_file(struct isp *isp, const struct job *j, struct isp_camera *camera,
                        struct gpu_host *host, const uint8_t *memory, const char *in,
                        const char *out)
{
    uint32_t row_bytes[3], rows[3], row = isp_row_bytes(&j->params),
                                    planes = isp_planes(&j->params, row_bytes, rows);
    size_t bytes = (size_t)row * j->params.height, at = 0;
    struct isp_frame frame = {.camera = camera, .raw_stride = row, .host = host};
    uint64_t ticket;
    uint8_t *raw = malloc(bytes);
    FILE *from = fopen(in, "rb"), *to = fopen(out, "wb");
    int failed = !raw || !from || !to || fread(raw, 1, bytes, from) != bytes;
    memcpy(frame.gain, j->gain, sizeof(frame.gain));
    frame.raw = raw;
    for (uint32_t i = 0; i < planes; i++) {
        frame.offset[i] = at;
        frame.stride[i] = row_bytes[i];
        at += (size_t)row_bytes[i] * rows[i];
    }
    failed = failed || isp_submit(isp, &frame, 1, &ticket) < 0 ||
             isp_wait(isp, ticket, UINT64_MAX) < 0 || fwrite(memory, 1, at, to) != at;
    if (from)
        fclose(from);
    if (to)
        failed |= fclose(to) != 0;
    free(raw);
    if (failed)
        fprintf(stderr, "%s, %s: cannot be read, developed or written\n", in, out);
    return failed;
}

static int develop(struct gpu *gpu, const struct job *j, char **files, int count)
{
    size_t size = 64u << 20;
    struct isp *isp = NULL;
    struct isp_camera *camera = NULL;
    struct gpu_host *host = NULL;
    char why[ISP_WHY] = "";
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    int failed = gpu_host_import(gpu, memory, size, &host) < 0 || isp_create(gpu, NULL, &isp) < 0 ||
                 isp_camera_create(isp, &j->params, &camera, why) < 0;
    if (failed)
        fprintf(stderr, "no camera: %s\n", why);
    for (int i = 0; i + 1 < count && !failed; i += 2)
        failed = develop_file(isp, j, camera, host, memory, files[i], files[i + 1]);
    isp_camera_free(camera);
    isp_free(isp);
    gpu_host_free(host);
    munmap(memory, size);
    return failed;
}

int main(int argc, char **argv)
{
    struct job j = {.params = {.depth = 8, .format = ISP_RGB24, .demosaic = ISP_MALVAR},
                    .alpha = -1,
                    .device = getenv("PELTON_DEVICE")};
    struct gpu *gpu = NULL;
    int i = 1;
    for (; i < argc && strchr(argv[i], '=') && argv[i][0] != '/'; i++) {
        char *value = strchr(argv[i], '=');
        *value++ = 0;
        if (!apply(&j, argv[i], value)) {
            fprintf(stderr, "isp_develop: %s=%s makes no sense\n", argv[i], value);
            return 2;
        }
    }
    if (j.calibration && !use_calibration(&j))
        return 1;
    struct gpu_params params = {.device = j.device};
    int err = gpu_open(&params, &gpu);
    if (err < 0)
        return err == GPU_ERR_NO_DEVICE ? 77 : 1;
    int failed = develop(gpu, &j, argv + i, argc - i);
    gpu_close(gpu);
    return failed;
}
