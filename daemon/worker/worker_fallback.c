/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether libavcodec decodes in place of a device: see worker_fallback.h.
 *
 * To ask Vulkan for its devices loads all drivers, the software device's too. So the kernel's nodes
 * are looked at first: without one there is no GPU.
 */
#include "daemon/worker/worker_fallback.h"

#include "daemon/worker/source/lavc_decoder.h"
#include "gpu/engine/gpu.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* Render nodes, NVIDIA's, and those of WSL and of telephones' GPUs. */
static const char *const nodes[] = {"/dev/dri/*", "/dev/nvidia*", "/dev/dxg",
                                    "/dev/kgsl*", "/dev/mali*",   "/dev/pvr*"};

static bool has_node(void)
{
    bool found = false;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]) && !found; i++) {
        glob_t paths = {0};
        found = glob(nodes[i], 0, NULL, &paths) == 0 && paths.gl_pathc > 0;
        globfree(&paths);
    }
    return found;
}

static bool has_gpu(void)
{
    struct gpu_device_info *infos = NULL;
    size_t count = 0;
    bool found = false;
    if (!has_node() || gpu_list(&infos, &count) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        found |= infos[i].usable && !infos[i].software;
    free(infos);
    return found;
}

bool fallback_named(const char *device)
{
    return device && strcmp(device, FALLBACK_DEVICE) == 0;
}

bool fallback_chosen(const struct settings *settings, const char *device)
{
    bool any = !device || !*device || strcmp(device, "auto") == 0;
    if (!lavc_decoder_exists())
        return false;
    return fallback_named(device) || (any && settings->engine.libavcodec && !has_gpu());
}

void fallback_message(Pelton__Device *out)
{
    pelton__device__init(out);
    out->name = (char *)lavc_decoder_name();
    out->driver = "FFmpeg";
    out->software = out->usable = out->libavcodec = true;
}
