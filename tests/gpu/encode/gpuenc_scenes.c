/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pictures of gpuenc: built scenes or a clip, in memory of the host or of the device.
 */
#include "tests/gpu/encode/gpuenc.h"

#include "gpu/engine/arena.h"
#include "gpu/engine/host_buffer.h"
#include "gpu/engine/work.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void scenes_draw(struct shared *s)
{
    for (s->scene_count = 0; s->scene_count < SCENES; s->scene_count++) {
        struct scene *scene = &s->scenes[s->scene_count];
        scene_open(scene, s->width, s->height);
        scene->noise = 4;
        scene_draw(scene, (int)s->scene_count);
    }
}

static bool scene_read(struct scene *scene, FILE *in)
{
    char line[256];
    for (int c = 0; c < 3; c++) {
        size_t size = c ? (size_t)((scene->width + 1) / 2) * ((scene->height + 1) / 2)
                        : (size_t)scene->width * scene->height;
        if ((c == 0 && (!fgets(line, sizeof(line), in) || strncmp(line, "FRAME", 5) != 0)) ||
            fread(scene->plane[c], 1, size, in) != size)
            return false;
    }
    return true;
}

bool scenes_read(struct shared *s, const char *path)
{
    FILE *in = fopen(path, "rb");
    char line[256] = "", size[64];
    snprintf(size, sizeof(size), "YUV4MPEG2 W%u H%u ", s->width, s->height);
    if (in && fgets(line, sizeof(line), in) && strncmp(line, size, strlen(size)) == 0)
        while (s->scene_count < SCENES) {
            struct scene *scene = &s->scenes[s->scene_count];
            scene_open(scene, s->width, s->height);
            if (!scene_read(scene, in)) {
                scene_close(scene);
                break;
            }
            s->scene_count++;
        }
    if (in)
        fclose(in);
    return s->scene_count >= 2;
}

/* ---- scenes in memory of the device ---- */

struct pool_copy {
    struct gpu_host *to;
    const void *from; /* in an arena */
    uint64_t size;
};

static void pool_record(struct gpu *g, VkCommandBuffer commands, void *ctx)
{
    const struct pool_copy *c = ctx;
    struct gpu_place from;
    if (!gpu_arena_find(g, c->from, c->size, &from))
        abort();
    g->vk.vkCmdCopyBuffer(commands, from.buffer, gpu_host_buffer(c->to), 1,
                          &(VkBufferCopy){from.offset, 0, c->size});
}

/* Where the planes of each scene are; returns the bytes of all. */
static uint64_t pool_places(struct shared *s)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < s->scene_count; i++) {
        struct gpu_encode_source *p = &s->in_pool[i];
        *p = (struct gpu_encode_source){.width = s->width, .height = s->height};
        for (int c = 0; c < 3; c++) {
            p->offset[c] = at;
            p->stride[c] = ((c ? (s->width + 1) / 2 : s->width) + 3) / 4 * 4;
            at += (uint64_t)p->stride[c] * (c ? (s->height + 1) / 2 : s->height);
        }
    }
    return (at + 4095) / 4096 * 4096;
}

static void pool_fill(const struct shared *s, uint8_t *to)
{
    for (uint32_t i = 0; i < s->scene_count; i++) {
        struct decider_source from = scene_source(&s->scenes[i]);
        const struct gpu_encode_source *p = &s->in_pool[i];
        for (int c = 0; c < 3; c++)
            for (uint32_t y = 0; y < (c ? (s->height + 1) / 2 : s->height); y++)
                memcpy(to + p->offset[c] + (uint64_t)y * p->stride[c],
                       from.plane[c] + y * from.stride[c], c ? (s->width + 1) / 2 : s->width);
    }
}

int pool_open(struct shared *s, struct gpu *g)
{
    struct pool_copy copy = {.size = pool_places(s)};
    struct gpu_export exported = {.fd = -1};
    struct gpu_arena *arena = NULL;
    void *memory;
    int err = gpu_host_export(g, copy.size, &s->pool, &exported);
    if (err < 0)
        return err;
    close(exported.fd);
    err = gpu_arena_create(g, copy.size, &arena, &memory);
    if (err < 0)
        return err;
    copy.to = s->pool;
    copy.from = memory;
    pool_fill(s, memory);
    for (uint32_t i = 0; i < s->scene_count; i++)
        s->in_pool[i].host = s->pool;
    err = gpu_run(g, pool_record, &copy);
    gpu_arena_free(arena);
    return err;
}
