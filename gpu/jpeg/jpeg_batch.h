/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Batches of JPEG files, between their life (gpu_jpeg.c) and their recording (jpeg_record.c).
 */
#ifndef PELTON_JPEG_BATCH_H
#define PELTON_JPEG_BATCH_H

#include "gpu/engine/buffers.h"
#include "gpu/engine/descriptors.h"
#include "gpu/engine/work.h"
#include "gpu/jpeg/gpu_jpeg.h"
#include "gpu/jpeg/jpeg_passes.h"
#include "gpu/shaders/lib/jpeg_args.h"

#include <pthread.h>

/* Timestamps after those of passes */
enum { JPEG_STAMP_UP, JPEG_STAMP_DOWN, JPEG_COPIES };

struct jpeg_batch {
    bool busy;
    uint32_t count;
    struct gpu_queue *queue;
    struct gpu_work *work;
    struct gpu_buffer device[JPEG_BINDINGS];
    VkDescriptorSet set;
    struct gpu_buffer up, totals; /* of the host: tables and jobs; bytes of scans */
    struct gpu_point end;
    uint32_t *copied; /* by picture: bytes of its scan that are brought */
    uint32_t *blocks;
};

struct gpu_jpeg {
    struct gpu *g;
    struct gpu_jpeg_params params;
    uint32_t blocks, rows; /* of a picture at most */
    uint64_t frame_room;   /* of a picture in FRAMES */
    uint64_t file_room;    /* in FILES */
    uint64_t sizes[JPEG_BINDINGS];
    const struct gpu_layout *layout;
    VkPipeline pipelines[JPEG_PASSES];
    VkDescriptorPool descriptors;
    struct jpeg_batch batches[GPU_JPEG_FLIGHT];
    double block_bytes;   /* of the newest batch: of a scan */
    pthread_mutex_t lock; /* of recording, batches[].busy, block_bytes */
    pthread_mutex_t times_lock;
    double seconds[JPEG_PASSES + JPEG_COPIES];
};

bool jpeg_picture_valid(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p);
/* Bytes that a scan may have in its file */
uint64_t jpeg_scan_room(const struct gpu_jpeg *j, const struct gpu_jpeg_picture *p);

/* With the lock: b->count pictures. b->end is the end of all that was submitted. */
int jpeg_batch_submit(struct gpu_jpeg *j, struct jpeg_batch *b,
                      const struct gpu_jpeg_picture *pictures);
/* The same for the rest of scans that are longer than was expected; totals: their bytes. */
int jpeg_batch_submit_rest(struct gpu_jpeg *j, struct jpeg_batch *b,
                           const struct gpu_jpeg_picture *pictures, const uint32_t *totals);

#endif
