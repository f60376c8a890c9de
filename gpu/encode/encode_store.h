/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Buffers of streams of one size, and the batches that their pictures form. A stream's thread hands
 * in a job and waits. The first one that finds no batch running takes all jobs that wait, and runs
 * them: so batches are as wide as there is work. While a batch runs, a quarter of the streams may
 * begin another one. So the device has work while the host records, and while streams write bits.
 */
#ifndef PELTON_ENCODE_STORE_H
#define PELTON_ENCODE_STORE_H

#include "gpu/encode/gpu_encode.h"
#include "gpu/encode/gpu_encoder.h"

#include <stdbool.h>

struct encode_store;

struct encode_store_params {
    uint32_t mb_width, mb_height;
    uint8_t chroma_format_idc, references;
    uint32_t streams, pictures;
};

int encode_store_create(struct gpu *g, const struct encode_store_params *params,
                        struct encode_store **out);
void encode_store_free(struct encode_store *s); /* NULL is allowed */
bool encode_store_fits(const struct encode_store *s, const struct encode_store_params *params);

/* A stream's number in the store; false: it is full. Thread: any. */
bool encode_store_enter(struct encode_store *s, uint32_t *stream);
void encode_store_leave(struct encode_store *s, uint32_t stream);

/* Where a stream's reconstructions lie: turns of slots, as records name references, and of sets of
 * planes. There is one more than references: that of the picture that is decided. */
uint32_t encode_store_slot(const struct encode_store *s, uint32_t stream, uint32_t turn);
uint32_t encode_store_set(const struct encode_store *s, uint32_t stream, uint32_t turn);

/* A picture of a stream's thread, in a batch with those of others. Both wait until it is done.
 * Return enum gpu_error. Thread: any. */
int encode_store_analyse(struct encode_store *s, const struct gpu_encode_look *look);
int encode_store_decide(struct encode_store *s, struct gpu_encode_decision *decision);

/* Waits for what was looked at ahead with the stream's last job. */
int encode_store_wait(struct encode_store *s, uint32_t stream);

/* Adds what the store has done to *sums. Thread: any. */
void encode_store_count(struct encode_store *s, struct gpu_encoder_counts *sums);

#endif
