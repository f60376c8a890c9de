/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pipelines of a frame store: the compilation for its sample size, with the constants of its
 * format.
 */
#include "gpu/h264/recon_internal.h"

#include "gpu/shaders/lib/cases.h"

#include <string.h>

static int make_pipeline(struct recon *r, const uint32_t *spirv, size_t spirv_size,
                         const uint32_t *constants, uint32_t constant_count, bool whole,
                         const char *name, VkPipeline *out)
{
    const struct recon_params *p = &r->params;
    uint32_t all[CONSTANT_COUNT] = {0};
    for (uint32_t i = 0; i < constant_count; i++)
        all[i] = constants[i];
    all[CONSTANT_CHROMA_FORMAT] = recon_chroma_format(p);
    all[CONSTANT_INTERLACED] = p->interlaced;
    if (!r->wants)
        return gpu_pipeline_get_whole(r->g, r->layout, spirv, spirv_size, all, CONSTANT_COUNT,
                                      whole, name, out);
    struct gpu_pipeline_want *w = r->want_count < RECON_WANTS ? &r->wants[r->want_count++] : NULL;
    if (w) {
        *w = (struct gpu_pipeline_want){.layout = r->layout,
                                        .spirv = spirv,
                                        .spirv_size = spirv_size,
                                        .constant_count = CONSTANT_COUNT,
                                        .whole = whole,
                                        .name = name};
        memcpy(w->constants, all, sizeof(all));
    }
    return GPU_OK;
}

int recon_pipeline(struct recon *r, const uint32_t *spirv, size_t spirv_size, const uint32_t *wide,
                   size_t wide_size, const uint32_t *constants, uint32_t constant_count,
                   const char *name, VkPipeline *out)
{
    if (r->wide && wide)
        return make_pipeline(r, wide, wide_size, constants, constant_count, false, name, out);
    return make_pipeline(r, spirv, spirv_size, constants, constant_count, false, name, out);
}

int recon_pass_pipeline(struct recon *r, uint32_t index)
{
    const struct recon_pass *p = &recon_passes[index];
    if (r->pipelines[index])
        return GPU_OK;
    if (p->whole_subgroups)
        return make_pipeline(r, p->spirv, p->spirv_size, p->constants, p->constant_count, true,
                             p->name, &r->pipelines[index]);
    return recon_pipeline(r, p->spirv, p->spirv_size, p->spirv_wide, p->spirv_wide_size,
                          p->constants, p->constant_count, p->name, &r->pipelines[index]);
}
