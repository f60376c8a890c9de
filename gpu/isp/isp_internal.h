/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The camera pipeline's own structures, shared by the isp*.c files.
 */
#ifndef PELTON_ISP_INTERNAL_H
#define PELTON_ISP_INTERNAL_H

#include "gpu/engine/arena.h"
#include "gpu/engine/buffers.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/pipeline.h"
#include "gpu/engine/work.h"
#include "gpu/isp/isp.h"
#include "gpu/shaders/lib/isp_args.h"

_Static_assert(sizeof(struct isp_args) == 4 * ISP_ARGS_WORDS, "C and GLSL agree");

#define ISP_MAX_FLIGHT 4
#define ISP_MAX_WIDTH  ISP_MOST_FRAMES
/* bytes at the start of a flight's upload: isp_args of its frames; then the raw samples */
#define ISP_ARGS_AREA 16384u
#define ISP_STAMPS    (2 * ISP_MAX_WIDTH + 3)

/* Resources of barriers: bindings, and the targets of a flight's results. */
#define ISP_BIT(resource) (1u << (resource))
#define ISP_RES_READBACK  6
#define ISP_RES_HOST      7
#define ISP_RES_BLUR      8
#define ISP_RES_FACTORS   9

struct isp_camera {
    struct isp *isp;
    struct isp_params params; /* tone_table is NULL */
    struct gpu_buffer table;
    VkDescriptorPool descriptors;
    VkDescriptorSet set;
    /* one pass from raw samples to the picture: develop only counts, finish does all the rest */
    bool fused;
    uint32_t rect;                 /* fused: isp_fuse_fill */
    VkPipeline develop[2], finish; /* without and with statistics */
    struct isp_args args;          /* the same for every frame */
    uint32_t planes, row_bytes[3], rows[3];
    uint32_t raw_stride, raw_bytes, out_bytes; /* of a frame on the device; multiples of 16 */
    uint32_t out_offset[3], out_stride[3];
    bool used; /* by a submission */
};

/* One frame of a submission: its place in the flight's buffers. */
struct isp_item {
    struct isp_frame frame;
    /* bytes, in the raw samples and in the output; pixels, in the developed frames */
    uint64_t raw_at, out_at, rgb_at;
    bool starts_group;      /* earlier developed frames have been read */
    struct gpu_place fetch; /* the arena that the device copies from; or no buffer */
};

/* The buffers of one submission in flight; all of it is reused for ever. */
struct isp_flight {
    struct gpu_submission *s; /* while it is being recorded */
    VkDescriptorSet set, blur_set;
    struct gpu_buffer staging, upload; /* unified: only staging, which the shaders read */
    struct gpu_buffer output, statistics, readback;
    VkBufferCopy *regions; /* while recording */
    size_t region_capacity;
    struct isp_item items[ISP_MAX_WIDTH];
    uint32_t count;
    bool measured;   /* any item wants statistics */
    uint64_t ticket; /* that ends with it, or 0 */
};

struct isp {
    struct gpu *g;
    uint32_t width, group, flight_count;
    bool fuse; /* cameras that can be */
    const struct gpu_layout *layout;
    VkDescriptorPool descriptors;
    struct gpu_buffer rgb; /* developed frames of one group, but for cameras that are fused */
    /* isp_blur of the frames of a batch; made for the first camera that is blurred */
    struct gpu_buffer blur;
    const struct gpu_layout *blur_layout;
    VkDescriptorPool blur_descriptors;
    VkPipeline blur_cells, blur_join;
    /* of denoise, for each pixel of rgb; made for the first camera that asks for it */
    struct gpu_buffer factors;
    VkBuffer factors_for; /* the rgb they belong to */
    const struct gpu_layout *denoise_layout;
    VkDescriptorPool denoise_descriptors;
    VkDescriptorSet denoise_set;
    VkPipeline denoise[2]; /* factors; applied */
    struct gpu_work *work;
    struct isp_flight flights[ISP_MAX_FLIGHT];
    uint64_t raw_size, out_size; /* capacities of a flight's buffers */
    uint64_t pixels; /* of the largest camera that is not fused; rgb holds `group` times as many */
    uint64_t submitted, done; /* tickets */
    struct isp_times times;
};

/* The demosaic that has a shader of its own, tiles of 32 samples. */
static inline bool isp_edge_directed(const struct isp_params *p)
{
    return p->demosaic == ISP_EDGE && p->order < ISP_MONO;
}

/* Pixels of isp.rgb that one frame needs */
static inline uint64_t isp_developed_pixels(const struct isp_camera *c)
{
    return c->fused ? 0 : (uint64_t)c->params.width * c->params.height;
}

/* isp_table.c */
/* All nine zero: no matrix. */
bool isp_has_matrix(const struct isp_params *p);
/* The sampling of the finish pass; a function of the parameters. */
uint32_t isp_sampling(const struct isp_params *p);
/* The camera's table: its length; sets where its parts lie. isp_table_args comes before. */
uint64_t isp_table_words(const struct isp_params *p, bool fused, struct isp_args *args);
/* rect: a constant of the fused pass about its tiles. False: the camera cannot be fused. */
bool isp_table_fill(const struct isp_params *p, bool fused, const struct isp_args *args,
                    uint32_t *table, uint32_t *rect);
void isp_table_args(const struct isp_params *p, struct isp_args *args);
/* The sources of output pixels */
struct isp_source {
    const struct isp_params *params;
    struct isp_rect region, out;
    struct isp_pinhole straight;
};
void isp_source_begin(const struct isp_params *p, struct isp_source *out);
/* 1/32 pixel of the sensor's picture; false: from nowhere. */
bool isp_source_at(const struct isp_source *s, uint32_t x, uint32_t y, int32_t at[2]);

/* isp_fuse.c */
bool isp_may_fuse(const struct isp_params *p); /* but for the size of its tiles */
uint64_t isp_fuse_words(const struct isp_params *p, struct isp_args *args);
/* rect: columns, rows << 8 of the largest rectangle, loads << 16 */
bool isp_fuse_fill(const struct isp_params *p, const struct isp_args *args, uint32_t *table,
                   uint32_t *rect);

/* isp_statistics.c */
void isp_statistics_read(const uint32_t *words, struct isp_statistics *out, uint32_t width,
                         uint32_t height);
void isp_zones(uint32_t width, uint32_t height, uint32_t *columns, uint32_t *rows);

/* isp_create.c */
/* Make all buffers hold at least one frame of so many bytes and pixels, and a batch's or group's
 * worth where the device allows. */
int isp_reserve(struct isp *isp, uint64_t raw_bytes, uint64_t out_bytes, uint64_t pixels);

/* isp_camera.c */
int isp_camera_pipelines(struct isp_camera *camera, bool statistics);

/* isp_record.c */
int isp_record(struct isp *isp, struct isp_flight *f);
void isp_times_add(struct isp *isp, const struct gpu_submission *s);

/* isp_denoise.c */
/* After each isp_reserve: what denoise keeps beside rgb, once any camera wants it. */
int isp_denoise_prepare(struct isp *isp, bool wanted);
void isp_denoise_free(struct isp *isp);
/* Over the developed frames [begin, end) of a group. */
void isp_denoise_record(struct isp *isp, struct isp_flight *f, uint32_t begin, uint32_t end);

/* isp_blur.c */
/* For the first camera that is blurred. */
int isp_blur_prepare(struct isp *isp);
void isp_blur_free(struct isp *isp);
/* Over the pictures of a batch, before they are copied into the readers' memory. */
void isp_blur_record(struct isp *isp, struct isp_flight *f);

/* isp.c: gpu_work's done() */
void isp_submission_done(void *ctx, const struct gpu_submission *s);

#endif
