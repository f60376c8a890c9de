/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pass table of H.264 reconstruction: which shaders run in which order over which buffers.
 * recon.c executes it; recon_table.c fills it beside the shaders. Barriers follow from reads and
 * writes; none is typed by hand.
 */
#ifndef PELTON_RECON_TABLE_H
#define PELTON_RECON_TABLE_H

#include "gpu/h264/recon.h"
#include "gpu/shaders/lib/bindings.h"

/* The shape of a batch, for the functions below. */
struct recon_shape {
    uint32_t mb_width, mb_height; /* of one picture */
    uint32_t pictures;            /* in the batch */
    uint32_t mb_total;            /* macroblocks of all pictures */
    uint32_t coeff_block_total;   /* coefficient blocks of all pictures */
    uint32_t deliveries;
    bool whole_warps;                       /* subgroups are always of 32 threads */
    bool has_intra, has_inter, has_deblock; /* any picture of the batch */
    bool software;
    uint8_t wavefront;         /* 1 diagonal dispatches, 2 persistent */
    uint8_t chroma_format_idc; /* of the records */
    /* not progressive 8-bit 4:2:0: intra prediction and strengths have passes of their own */
    bool generic_format;
    bool has_mbaff;     /* any picture */
    bool has_switching; /* any slice is SP or SI; then generic_format is set too */
    bool has_packed;    /* any picture has packed levels */
    bool unfinished;    /* later rows of the picture follow: nothing is deblocked yet */
};

/* A device-local scratch buffer: size for a batch. Buffers 0..6, 12 and 13 are uploaded by
 * recon.c. */
struct recon_buffer {
    uint32_t binding;
    bool zero; /* cleared before the first pass of each batch */
    /* bytes, for the largest batch (coeff_block_total: worst case) */
    uint64_t (*size)(const struct recon_shape *worst);
};

#define RECON_B(binding) (1u << (binding))

struct recon_pass {
    const char *name;           /* debug label */
    enum recon_stage stage;     /* whose time it counts */
    const uint32_t *spirv;      /* embedded at build time */
    size_t spirv_size;          /* bytes */
    const uint32_t *spirv_wide; /* for samples of 16 bits; NULL: spirv */
    size_t spirv_wide_size;
    /* specialisation constants, ids 0..; those behind them are the store's */
    uint32_t constants[CONSTANT_CHROMA_FORMAT];
    uint32_t constant_count;
    /* its subgroups must be full; only wanted where the device says how large they are */
    bool whole_subgroups;
    uint32_t reads, writes;           /* RECON_B masks of bindings */
    uint32_t reads_more, writes_more; /* as well where chroma is not that of 4:2:0 */
    uint32_t param;                   /* recon_push.param */
    /* One of: an indirect dispatch of the arguments (3 uint) at byte offset indirect of
     * BIND_COUNTERS... */
    bool indirect;
    /* Passes with one number stand one after the other, and write disjoint parts of what they
     * write: there is no barrier between them. 0: a barrier as reads and writes say. */
    enum { RECON_NO_RUN, RECON_RUN_RESIDUAL, RECON_RUN_INTER } run;
    uint32_t indirect_offset;
    /* ...or steps dispatches, recon_push.step = 0.., with a barrier between them; groups() says how
     * many workgroups. */
    uint32_t (*steps)(const struct recon_shape *shape); /* NULL: 1; 0: the pass is skipped */
    void (*groups)(const struct recon_shape *shape, uint32_t step, uint32_t xyz[3]);
    bool (*wanted)(const struct recon_shape *shape); /* NULL: always */
};

extern const struct recon_buffer recon_buffers[];
extern const uint32_t recon_buffer_count;
extern const struct recon_pass recon_passes[];
extern const uint32_t recon_pass_count;

#endif
