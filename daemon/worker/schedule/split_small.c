/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Small pictures of many streams. Coders are done with all that waits before a batch of the GPU is,
 * so none of them would be in time (split.c). But no stream waits long for a small slice, and the
 * coders take the cores from those who open the streams and read them. So time does not matter: the
 * GPU takes what waits, and few coders work beside it.
 */
#include "daemon/worker/schedule/split.h"

bool split_is_small(const struct schedule *s)
{
    const struct entropy_queue *q = &s->entropy;
    bool joined = s->setting.entropy != ENGINE_ENTROPY_AUTO ||
                  s->split.cpu_spent >= SPLIT_SMALL_SECONDS * s->setting.coders;
    return joined && s->split.batch && !s->split.all && !s->setting.tuning.choice &&
           s->at_work_count > s->setting.coders &&
           q->weight <= q->count * (uint64_t)SPLIT_SMALL_WEIGHT;
}

bool split_small_enough(const struct schedule *s)
{
    uint32_t part = s->split.batch / SPLIT_SMALL_PART;
    return s->entropy.count >= (part < SPLIT_SMALL_LEAST ? part : SPLIT_SMALL_LEAST);
}

/* The more coders the more waits beyond the next batch: they help a slow GPU, too. */
bool split_leaves(const struct schedule *s, uint32_t others)
{
    uint64_t batch = s->split.batch, coders = s->setting.coders,
             more = s->entropy.count > batch ? s->entropy.count - batch : 0,
             least = (coders + SPLIT_SMALL_CODERS - 1) / SPLIT_SMALL_CODERS;
    if (!s->split.works || !split_is_small(s))
        return false;
    uint64_t most = coders * more / (SPLIT_SMALL_WAITS * batch);
    return others >= (most > least ? most : least);
}

/* As the edge TAKE_GPU has it, but cheap: it is asked of hundreds of pictures, every 2 ms. */
bool split_may_take(const struct picture *p)
{
    return p->stage == PICTURE_QUEUED && p->can & CAN_ENTROPY_GPU && p->records == LIVES_NOWHERE &&
           p->entropy.slices_left && !p->window->abort;
}
