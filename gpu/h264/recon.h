/* SPDX-License-Identifier: BSD-2-Clause
 *
 * H.264 reconstruction (step 4) and delivery (step 5) in batches.
 *
 * A recon owns the frame store of one picture format. It has `slots` filtered layers, which
 * references and output read, and `width` unfiltered layers, which a picture needs only while its
 * batch runs (the ping-pong pair of the deblocking filter). Batches execute in the order of
 * submission. The caller chooses the slots, and relies on that order alone when it reuses one.
 *
 * Thread: one at a time for each recon; recon_done, recon_wait and recon_times: any, beside it.
 * Other threads may use the struct gpu meanwhile.
 */
#ifndef PELTON_RECON_H
#define PELTON_RECON_H

#include "codec/abi/records.h"
#include "gpu/engine/gpu.h"

struct recon;
struct conversion; /* convert/conversion.h */

struct recon_params {
    uint32_t mb_width, mb_height; /* frame, in macroblocks */
    uint8_t chroma_format_idc;    /* 0..3 */
    uint8_t bit_depth[2]; /* 8..14. Where either is more than 8 frames have samples of 16 bits */
    bool interlaced;      /* field pictures and MBAFF frames may come too; mb_height is even */
    /* of 4:4:4: pictures are one plane each (rec_picture.colour_plane), with records of 4:0:0 */
    bool separate_planes;
    uint32_t slots;  /* frame slots */
    uint32_t width;  /* most pictures of one batch */
    uint32_t flight; /* batches in flight, 2..4; 0 = 3 */
    /* 0 = chosen by device, 1 = one dispatch per diagonal, 2 = persistent with tickets */
    uint8_t wavefront;
    /* 0 = chosen by device, 1 = by shaders, 2 = by the queue's copies where no sample has to be
     * moved by itself */
    uint8_t delivery;
    bool needed; /* even beyond the bound of gpu_memory_limit */
};

/* Planes Y, Cb, Cr; Y and CbCr; Y. Samples are those of the frame store, of 8 bits or of 16, little
 * endian. 4:2:0 stores give I420, NV12 (8 bits), 4:2:2 ones I422, 4:4:4 ones I444, all GRAY. */
enum recon_format { RECON_I420, RECON_NV12, RECON_GRAY, RECON_I422, RECON_I444 };

#define RECON_BLURS 16

struct recon_rect {
    uint32_t x, y, width, height; /* luma samples of the picture that leaves */
};

/* Write the frame in slot, cropped, to host memory. Strides and offsets are multiples of 4, of 8
 * for samples of 16 bits; widths are in luma samples. */
struct recon_delivery {
    uint32_t slot;
    struct gpu_host *host;
    uint64_t offset[3]; /* of each plane in host, bytes */
    uint32_t stride[3]; /* bytes */
    /* luma samples; even where chroma is subsampled; the last column and row may be odd-sized
     * chroma-rounded up */
    uint32_t crop_x, crop_y, width, height;
    enum recon_format format;
    /* Of the picture that crop and size cut out, in the store's own format; stays until the batch
     * is submitted. offset and stride are those of its output's planes, multiples of 4; of pixels
     * offset[0] and stride[0] alone count, and planes follow each other. NULL: none. */
    const struct conversion *conversion;
    /* 0: all rows; REC_TOP, REC_BOTTOM: those of a field, which crop_y and height count */
    uint8_t structure;
    /* rectangles that are blurred; each must touch the picture, and is cut off at its edges.
     * Chroma samples that belong to any luma sample inside count as inside. Slots keep their
     * samples. */
    uint32_t blur_count;
    struct recon_rect blur[RECON_BLURS];
};

enum recon_stage {
    RECON_UPLOAD,
    RECON_CLASSIFY,
    RECON_RESIDUAL,
    RECON_INTER,
    RECON_INTRA,
    RECON_DEBLOCK,
    RECON_DELIVER,
    RECON_STAGES
};

int recon_create(struct gpu *g, const struct recon_params *params, struct recon **out);
/* Begins to make the pipelines of such a recon, in threads, before there is one. */
int recon_warm_up(struct gpu *g, const struct recon_params *params);
void recon_free(struct recon *r);
/* The most pictures of one submission: params.width, or less where a buffer would exceed the
 * device's limits. recon_submit splits longer calls. */
uint32_t recon_width(const struct recon *r);
uint64_t recon_memory(const struct recon *r); /* device bytes it holds */
/* About the device bytes of such a recon: its room, and uploads of one picture for each flight,
 * which it is sure of. Larger uploads take what is left, or a batch is split. */
struct recon_bytes {
    uint64_t room, uploads;
};
int recon_bytes(struct gpu *g, const struct recon_params *params, struct recon_bytes *out);

/* Other numbers of slots and of pictures of a batch. recon_growth_create makes the memory, which
 * takes long. Thread: any, beside all others. recon_grow waits for what is in flight, copies the
 * frames of `count` slots, and frees growth; after an error r is as it was. */
struct recon_growth;
int recon_growth_create(const struct recon *r, uint32_t slots, uint32_t width,
                        struct recon_growth **out);
int recon_grow(struct recon *r, struct recon_growth *growth, const uint32_t *frames,
               uint32_t count);
void recon_growth_free(struct recon_growth *growth); /* NULL allowed */

/* One picture of a batch: its records, or a copy of another slot (for a missing or lost picture). A
 * copy takes the frame, or one field of it, or some planes; a field may come from the same slot. */
struct recon_picture {
    /* NULL: copy copy_from to slot; copy_from 0xffffffff: fill with mid-grey */
    const struct rec_view *view;
    uint32_t slot, copy_from;
    uint8_t rows, rows_from; /* of a copy: 0 for whole frames, else REC_TOP or REC_BOTTOM each */
    uint8_t planes;          /* of a copy: bit i for plane i; 0: all */
    /* Rows of macroblocks of a picture that is alone in its call, where recon_takes_rows. end_row
     * not 0: those before it alone, unfiltered. A later call does the rest, and its deliveries are
     * right. first_row: that end_row of the call before, which need not be done again. It is done
     * again where another batch came between. Its records are in host memory. */
    uint32_t first_row, end_row;
};

/* Whether pictures with these records may come in rows. */
bool recon_takes_rows(const struct recon *r, const struct rec_view *view);

/* Pack the records, upload, reconstruct pictures[0..n), then write deliveries[0..m) (of these or of
 * earlier pictures). Pictures of one call must not refer to each other. Records must be validated.
 * Macroblocks, motion and coefficients that lie in a gpu_arena must stay until the batch is done;
 * everything else may be reused when the call returns. Coefficients in a device arena must have no
 * more blocks than the macroblocks can have. After an error no part of the call is read any more.
 * Blocks while `flight` batches are in flight. *ticket counts up from 1. */
int recon_submit(struct recon *r, const struct recon_picture *pictures, uint32_t n,
                 const struct recon_delivery *deliveries, uint32_t m, uint64_t *ticket);
/* What recon_submit does, one after the other. */
enum recon_step {
    RECON_STEP_BEGIN,   /* a flight is free; what is done is noted */
    RECON_STEP_PREPARE, /* planned; pipelines and room are made */
    RECON_STEP_PACK,    /* records that lie in no arena go to staging */
    RECON_STEP_RECORD,  /* as data */
    RECON_STEP_PLAY,    /* commands are recorded and submitted */
    RECON_STEPS
};
/* Adds the seconds of each step since the last call. Thread: that of recon_submit. */
void recon_step_seconds(struct recon *r, double seconds[RECON_STEPS]);
/* Highest ticket whose batch has finished (frames readable by host, slots reusable); never blocks.
 * Thread: any. */
uint64_t recon_done(struct recon *r);
/* Wait until ticket is done; timeout_ns ~0 = for ever. 0, 1 on timeout, or an error. Thread: any.
 */
int recon_wait(struct recon *r, uint64_t ticket, uint64_t timeout_ns);

/* GPU seconds spent per stage since creation, from timestamps, and pictures counted; zeros without
 * gpu_params.timestamps. Thread: any. */
struct recon_times {
    double seconds[RECON_STAGES];
    uint64_t pictures, batches, deliveries;
    uint64_t upload_bytes, deliver_bytes;
};
void recon_times(struct recon *r, struct recon_times *out);

/* Copy a slot's filtered frame to memory (tests): luma of mb_width*16 x mb_height*16 samples, and
 * the planes of the chroma format, in the store's sample size. 4:0:0 leaves cb and cr alone. Waits.
 */
int recon_read_slot(struct recon *r, uint32_t slot, void *y, void *cb, void *cr);
/* The same for the unfiltered layer of picture i of the last batch (tests). A field has the upper
 * half of its rows. */
int recon_read_work(struct recon *r, uint32_t layer, void *y, void *cb, void *cr);

#endif
