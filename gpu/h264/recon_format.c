/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Numbers that follow from the format of a frame store or of a delivery.
 */
#include "gpu/h264/recon_internal.h"

/* 16 of luma and those of two chroma planes (Table 6-1) */
uint64_t recon_coeff_blocks_per_mb(const struct recon_params *p)
{
    static const uint8_t coeff_blocks[4] = {16, 24, 32, 48};
    return coeff_blocks[recon_chroma_format(p)];
}

uint8_t recon_chroma_depth(const struct recon_params *p)
{
    return p->bit_depth[p->separate_planes ? 0 : 1];
}

uint8_t recon_chroma_format(const struct recon_params *p)
{
    return p->separate_planes ? 0 : p->chroma_format_idc;
}

uint32_t recon_shift_x(enum recon_format format)
{
    return format == RECON_I444 || format == RECON_GRAY ? 0 : 1;
}

uint32_t recon_shift_y(enum recon_format format)
{
    return format == RECON_I420 || format == RECON_NV12 ? 1 : 0;
}
