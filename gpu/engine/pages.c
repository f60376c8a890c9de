/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pages of host memory, before a device sees them.
 *
 * The system holds the address space's lock during one call. Meanwhile nobody maps memory, the
 * driver neither, and behind a thread that waits to map no other thread may even take a page fault.
 * So the pages are made in small steps. Several threads clear them, as one clears 5 GB/s.
 */
#include "gpu/engine/gpu.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES_STEP    (2u << 20) /* bytes of one call: a huge page */
#define PAGES_THREAD  (8u << 20) /* bytes that are worth a thread */
#define PAGES_THREADS 4u

struct pages {
    uint8_t *memory;
    size_t size;
    const atomic_bool *stop;
    atomic_size_t next; /* bytes that somebody has taken */
    atomic_int error;   /* errno */
};

static void *pages_main(void *pages)
{
    struct pages *p = pages;
    size_t at;
    while ((at = atomic_fetch_add(&p->next, PAGES_STEP)) < p->size && !atomic_load(&p->error)) {
        size_t size = p->size - at < PAGES_STEP ? p->size - at : PAGES_STEP;
        if (p->stop && atomic_load(p->stop))
            break;
        if (madvise(p->memory + at, size, MADV_POPULATE_WRITE))
            atomic_store(&p->error, errno);
    }
    return NULL;
}

int gpu_pages_make(void *memory, size_t size, const atomic_bool *stop)
{
    struct pages p = {.memory = memory, .size = size, .stop = stop};
    pthread_t threads[PAGES_THREADS - 1];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned started = 0, most = cpus < (long)PAGES_THREADS ? (unsigned)cpus : PAGES_THREADS;
    while (started + 1 < most && (started + 1) * (size_t)PAGES_THREAD < size &&
           !pthread_create(&threads[started], NULL, pages_main, &p))
        started++;
    pages_main(&p);
    while (started)
        pthread_join(threads[--started], NULL);
    int error = atomic_load(&p.error);
    return error == 0 ? GPU_OK : error == EINVAL ? GPU_ERR_FEATURE : GPU_ERR_NOMEM;
}
