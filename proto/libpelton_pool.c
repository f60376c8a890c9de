/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The shared memory of one epoch: checked, mapped read-only, and turned into frames.
 *
 * The happy path is: map once for each FormatChanged, one frame for each FrameReady, unmap when a
 * newer epoch exists and nobody holds a frame. The failure modes are: numbers that contradict each
 * other, a memfd that could shrink (no seal), a memfd that is too small, no address space. The
 * daemon is not trusted: each number is compared before use. The driver that imports device memory
 * compares its size.
 */
#include "proto/libpelton_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SLOTS = 65536, MAX_SIDE = 65536, MAX_ROW = 1 << 24, MAX_SETS = 1 << 17 };
#define MAX_SLOT_SIZE ((uint64_t)1 << 40)

static bool plane_fits(const Pelton__Plane *p, uint64_t slot_size)
{
    if (p->width == 0 || p->height == 0 || p->width > MAX_ROW || p->height > MAX_SIDE ||
        p->stride < p->width || p->stride > 2 * MAX_ROW || p->offset > slot_size)
        return false;
    uint64_t bytes = (uint64_t)p->stride * (p->height - 1) + p->width;
    return bytes <= slot_size - p->offset;
}

static bool encoded_valid(const Pelton__FormatChanged *m)
{
    return m->memfd_size > 0 && m->slot_size <= UINT32_MAX && m->encoded->nal_length <= 4 &&
           m->encoded->parameter_sets.len <= MAX_SETS;
}

static bool format_valid(const Pelton__FormatChanged *m)
{
    if (m->n_planes > 4 || m->width > MAX_SIDE || m->height > MAX_SIDE || m->layout > PELTON_NHWC ||
        m->type > PELTON_F32 || m->channels > 4 || m->batch > PELTON_MOST_BATCH ||
        (m->encoded && !encoded_valid(m)))
        return false;
    if (m->memfd_size == 0)
        return true; /* no pool: nothing will be read */
    if ((m->n_planes == 0) != (m->encoded != NULL) || m->width == 0 || m->height == 0 ||
        m->slots == 0 || m->slots > MAX_SLOTS || m->slot_size == 0 ||
        m->slot_size > MAX_SLOT_SIZE || m->memfd_size / m->slots < m->slot_size ||
        m->memfd_size > SIZE_MAX)
        return false;
    for (size_t i = 0; i < m->n_planes; i++)
        if (!plane_fits(m->planes[i], m->slot_size))
            return false;
    return true;
}

/* Without F_SEAL_SHRINK a read could end in SIGBUS. Without the write seal another reader could
 * change the frame. */
static int memory_map(struct pelton_pool *pool, const Pelton__FormatChanged *m, int fd)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
    if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &st) < 0 || st.st_size < 0 ||
        (uint64_t)st.st_size < m->memfd_size)
        return PELTON_ERR_PROTOCOL;
    void *memory = mmap(NULL, (size_t)m->memfd_size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return errno == EACCES || errno == EPERM ? PELTON_ERR_PROTOCOL : PELTON_ERR_NOMEM;
    pool->memory = memory;
    pool->memory_size = (size_t)m->memfd_size;
    return PELTON_OK;
}

/* No seal holds for device memory, and nobody maps it here. */
static int memory_keep(struct pelton_pool *pool, const Pelton__FormatChanged *m, int fd)
{
    struct pelton_device_memory *d = &pool->device;
    if (wire_device_memory_to(m->device, d) < 0 || d->allocation_size < m->memfd_size) {
        d->handle_type = PELTON_HANDLE_NONE;
        return PELTON_ERR_PROTOCOL;
    }
    d->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (d->fd < 0) {
        d->handle_type = PELTON_HANDLE_NONE;
        return PELTON_ERR_NOMEM;
    }
    d->buffer_size = m->memfd_size;
    d->epoch = m->epoch;
    d->slots = m->slots;
    d->slot_size = m->slot_size;
    return PELTON_OK;
}

static int sets_keep(struct pelton_pool *pool, const Pelton__Encoded *m)
{
    pool->encoded = true;
    pool->nal_length = m->nal_length;
    if (!m->parameter_sets.len)
        return PELTON_OK;
    pool->sets = malloc(m->parameter_sets.len);
    if (!pool->sets)
        return PELTON_ERR_NOMEM;
    memcpy(pool->sets, m->parameter_sets.data, m->parameter_sets.len);
    pool->sets_size = (uint32_t)m->parameter_sets.len;
    return PELTON_OK;
}

static void pool_describe(struct pelton_pool *pool, const Pelton__FormatChanged *m)
{
    pool->epoch = m->epoch;
    pool->slots = m->slots;
    pool->width = m->width;
    pool->height = m->height;
    pool->planes = (uint32_t)m->n_planes;
    pool->slot_size = m->slot_size;
    wire_copy(pool->pix_fmt, sizeof(pool->pix_fmt), m->pix_fmt);
    for (size_t i = 0; i < m->n_planes; i++) {
        pool->plane_offset[i] = m->planes[i]->offset;
        pool->stride[i] = m->planes[i]->stride;
        pool->plane_width[i] = m->planes[i]->width;
        pool->plane_height[i] = m->planes[i]->height;
    }
    if (m->time_base)
        pool->time_base = (struct pelton_rational){m->time_base->num, m->time_base->den};
    if (m->sar)
        pool->sar = (struct pelton_rational){m->sar->num, m->sar->den};
    wire_colour_to(m->colour, &pool->colour);
    wire_vui_to(m->vui, &pool->vui);
    pool->orientation = m->orientation <= PELTON_TURNED_270 ? m->orientation : 0;
    pool->layout = m->layout;
    pool->type = m->type;
    pool->channels = m->channels;
    pool->batch = m->batch;
}

int pelton_pool_map(const Pelton__FormatChanged *m, int fd, enum pelton_pool_kind kind,
                    struct pelton_pool **out)
{
    if (!format_valid(m) || (m->memfd_size > 0) != (fd >= 0) ||
        (m->device != NULL) != (kind == POOL_DEVICE && fd >= 0) ||
        (m->encoded != NULL) != (kind == POOL_UNITS))
        return PELTON_ERR_PROTOCOL;
    struct pelton_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return PELTON_ERR_NOMEM;
    pool_describe(pool, m);
    int rc = m->encoded ? sets_keep(pool, m->encoded) : PELTON_OK;
    if (fd >= 0 && rc == PELTON_OK)
        rc = m->device ? memory_keep(pool, m, fd) : memory_map(pool, m, fd);
    if (rc < 0) {
        free(pool->sets);
        free(pool);
        return rc;
    }
    *out = pool;
    return PELTON_OK;
}

void pelton_pool_unmap(struct pelton_pool *pool)
{
    if (!pool)
        return;
    if (pool->memory)
        munmap((void *)pool->memory, pool->memory_size);
    if (pool->device.handle_type)
        close(pool->device.fd);
    free(pool->sets);
    free(pool);
}

bool pelton_pool_device(const struct pelton_pool *pool, uint32_t slot,
                        struct pelton_device_memory *out)
{
    if (!pool->device.handle_type || slot >= pool->slots)
        return false;
    *out = pool->device;
    for (uint32_t i = 0; i < pool->planes; i++)
        out->offset[i] = slot * pool->slot_size + pool->plane_offset[i];
    return true;
}

/* The whole access unit is one row. */
static void unit_give(const struct pelton_pool *pool, const Pelton__FrameReady *m,
                      struct pelton_frame *out)
{
    out->planes = 1;
    out->data[0] = pool->memory + (uint64_t)m->slot * pool->slot_size;
    out->stride[0] = out->plane_width[0] = (uint32_t)m->bytes;
    out->plane_height[0] = 1;
    out->parameter_sets = pool->sets;
    out->parameter_sets_size = pool->sets_size;
    out->nal_length = pool->nal_length;
}

bool pelton_pool_frame(const struct pelton_pool *pool, const Pelton__FrameReady *m,
                       struct pelton_frame *out)
{
    if ((!pool->memory && !pool->device.handle_type) || m->slot >= pool->slots ||
        (pool->encoded && m->bytes > pool->slot_size))
        return false;
    *out = (struct pelton_frame){
        .sequence = m->sequence,
        .number = m->number,
        .epoch = m->epoch,
        .slot = m->slot,
        .generation = m->generation,
        .view = m->view,
        .width = pool->width,
        .height = pool->height,
        .planes = pool->planes,
        .tensor = {.layout = (enum pelton_layout)pool->layout,
                   .type = (enum pelton_type)pool->type,
                   .channels = pool->channels,
                   .batch = pool->batch},
        .pts = m->pts,
        .dts = m->dts,
        .duration = m->duration,
        .time_base = pool->time_base,
        .sar = pool->sar,
        .flags = m->flags,
        .field_order = m->field_order <= PELTON_BOTTOM_FIELD
                           ? (enum pelton_field_order)m->field_order
                           : PELTON_PROGRESSIVE,
        .colour = pool->colour,
        .vui = pool->vui,
        .orientation = pool->orientation,
        .received_ns = m->received_ns,
        .decoded_ns = m->decoded_ns,
        .dropped_source = m->dropped_source,
        .dropped_decoder = m->dropped_decoder,
        .dropped_client = m->dropped_client,
    };
    for (size_t i = 0; i < m->n_trace_ns && i < PELTON_TRACE_POINTS; i++)
        out->trace_ns[i] = m->trace_ns[i];
    wire_camera_to(m->camera, &out->camera);
    wire_exposure_to(m->exposure, &out->exposure);
    wire_copy(out->pix_fmt, sizeof(out->pix_fmt), pool->pix_fmt);
    const uint8_t *slot = pool->memory ? pool->memory + (uint64_t)m->slot * pool->slot_size : NULL;
    for (uint32_t i = 0; i < pool->planes; i++) {
        out->data[i] = slot ? slot + pool->plane_offset[i] : NULL;
        out->stride[i] = pool->stride[i];
        out->plane_width[i] = pool->plane_width[i];
        out->plane_height[i] = pool->plane_height[i];
    }
    if (pool->encoded)
        unit_give(pool, m, out);
    return true;
}
