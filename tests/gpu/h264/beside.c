/* SPDX-License-Identifier: BSD-2-Clause
 *
 * checkgpu --clip FILE --flow --beside N. A thread keeps N batches of entropy decoding of the
 * clip's pictures at work in the background. The output shows how entropy decoding and
 * reconstruction slow each other. Nothing is compared: --entropy does that.
 */
#include "codec/abi/entropy_abi.h"
#include "tests/gpu/h264/entropy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PICTURES 192 /* of a batch, as the worker has them */
#define BATCHES  8
#define LOOK_US  1000

struct check_beside {
    struct entropy stream;
    unsigned batches;
    pthread_t thread;
    atomic_bool stop;
    int error;                     /* the thread's */
    atomic_uint_fast64_t pictures; /* decoded, since the last question */
    double since;
};

static uint32_t count_decoded(const struct gpu_entropy_batch *batch)
{
    uint32_t decoded = 0, coeff_blocks;
    for (uint32_t i = 0; i < PICTURES; i++)
        decoded += gpu_entropy_picture_ok(batch, i, &coeff_blocks);
    return decoded;
}

static int keep_busy(struct check_beside *b)
{
    struct gpu_entropy_batch *batches[BATCHES] = {0};
    uint32_t first = 0;
    int err = 0;
    while (!atomic_load(&b->stop) && err == 0) {
        for (unsigned i = 0; i < b->batches && err == 0; i++) {
            if (batches[i] && (err = gpu_entropy_poll(batches[i])) != 0) {
                err = err < 0 ? err : 0;
                continue;
            }
            atomic_fetch_add(&b->pictures, batches[i] ? count_decoded(batches[i]) : 0);
            gpu_entropy_end(batches[i]);
            err = entropy_submit(&b->stream, first, PICTURES, &batches[i]);
            first += PICTURES / BATCHES; /* so that batches are not in step */
        }
        usleep(LOOK_US);
    }
    if (err)
        printf("checkgpu: beside: %s\n", gpu_error_text(err));
    for (unsigned i = 0; i < b->batches; i++)
        gpu_entropy_end(batches[i]);
    return err;
}

static void *beside_main(void *ctx)
{
    struct check_beside *b = ctx;
    b->error = keep_busy(b);
    return NULL;
}

static int open_stream(struct check_beside *b, const char *path)
{
    b->stream.scratch = h264_scratch_create();
    int err = b->stream.scratch ? entropy_read_stream(&b->stream, path) : GPU_ERR_NOMEM;
    for (uint32_t i = 0; i < b->stream.count && err == 0; i++)
        entropy_decode_cpu(&b->stream, b->stream.pictures[i]);
    if (err == 0 && !b->stream.count) {
        printf("checkgpu: there is no picture in %s whose entropy decoding the GPU could do\n",
               path);
        return GPU_ERR_INVALID;
    }
    return err ? err : entropy_open(&b->stream, b->batches, PICTURES);
}

int check_beside_start(struct check_env *env, const char *path, unsigned batches,
                       struct check_beside **out)
{
    struct check_beside *b = calloc(1, sizeof(*b));
    if (!b)
        return GPU_ERR_NOMEM;
    b->stream.env = env;
    b->stream.keep = true;
    b->stream.most = PICTURES;
    b->batches = batches < BATCHES ? batches : BATCHES;
    int err = open_stream(b, path);
    if (err == 0 && pthread_create(&b->thread, NULL, beside_main, b))
        err = GPU_ERR_NOMEM;
    if (err) {
        entropy_close(&b->stream);
        free(b);
        return err;
    }
    b->since = check_seconds();
    *out = b;
    return 0;
}

double check_beside_rate(struct check_beside *b)
{
    double now = check_seconds(),
           rate = (double)atomic_exchange(&b->pictures, 0) / (now - b->since);
    b->since = now;
    return rate;
}

int check_beside_stop(struct check_beside *b)
{
    if (!b)
        return 0;
    atomic_store(&b->stop, true);
    pthread_join(b->thread, NULL);
    int err = b->error;
    entropy_close(&b->stream);
    free(b);
    return err;
}
