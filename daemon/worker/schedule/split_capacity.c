/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How much of a device entropy decoding takes: batches, and what each of them holds.
 */
#include "daemon/worker/schedule/split.h"

/* Other devices may be too slow for one slice, and would be waited for before that is measured. */
static bool split_allowed(const struct schedule_setting *set, bool background)
{
    bool able = set->device_memory >= SPLIT_LEAST_MEMORY && background;
    if (set->entropy == ENGINE_ENTROPY_AUTO)
        return set->discrete && able;
    if (set->entropy == ENGINE_ENTROPY_BOTH)
        return set->software || able;
    return set->entropy == ENGINE_ENTROPY_GPU;
}

bool split_is_short(uint64_t bytes, unsigned coders)
{
    return bytes && (double)bytes * SPLIT_CPU_SECONDS < SPLIT_AUTO_SECONDS * coders;
}

uint32_t split_words(uint32_t mbs, uint32_t bytes)
{
    return mbs + (uint32_t)((uint64_t)bytes * SPLIT_WORDS_PER_4_BYTES / 4);
}

/* Of the device's memory for a batch, for each picture of 1920x1088. */
static uint64_t picture_bytes(uint32_t blocks)
{
    return SPLIT_HD_MBS * (SPLIT_MB_BYTES + blocks * SPLIT_BLOCK_BYTES) + SPLIT_PICTURE_BYTES +
           4ull * split_words(SPLIT_HD_MBS, SPLIT_PICTURE_BYTES);
}

static uint32_t batch_pictures(const struct schedule_setting *set)
{
    return set->software ? SPLIT_SOFTWARE_PICTURES
                         : tuned(set->tuning.pictures, SPLIT_PICTURES_WIDE);
}

/* Pictures of a batch that counts as whole */
static uint32_t whole_batch(const struct schedule_setting *set)
{
    uint32_t pictures = batch_pictures(set);
    return pictures < SPLIT_PICTURES_WHOLE ? pictures : SPLIT_PICTURES_WHOLE;
}

/* There is memory for so many whole batches. */
static bool batches_fit(const struct schedule_setting *set, uint32_t batches)
{
    uint64_t fit = set->device_memory / SPLIT_MEMORY_PART / picture_bytes(SPLIT_BATCH_BLOCKS);
    return fit >= (uint64_t)batches * whole_batch(set);
}

static uint32_t most_batches(const struct schedule_setting *set)
{
    bool wide = batches_fit(set, SPLIT_BATCHES);
    if (set->software)
        return SPLIT_SOFTWARE_BATCHES;
    return set->entropy == ENGINE_ENTROPY_GPU
               ? SPLIT_BATCHES
               : tuned(set->tuning.batches, wide ? SPLIT_BATCHES : SPLIT_BATCHES_NARROW);
}

/* Where memory is short, small pictures alone fill a batch: the coders decode more of the others.
 */
struct split_capacity split_capacity_of(const struct schedule_setting *set, bool background)
{
    const struct split_tuning *t = &set->tuning;
    struct split_capacity c = {0};
    uint32_t blocks = tuned(t->blocks, SPLIT_BATCH_BLOCKS);
    uint32_t most = most_batches(set);
    uint32_t part = batches_fit(set, most) ? SPLIT_MEMORY_PART : SPLIT_MEMORY_PART_NARROW;
    uint64_t room = set->device_memory / tuned(t->part, part);
    if (!split_allowed(set, background))
        return c;
    c.batches = most;
    c.pictures = batch_pictures(set);
    if (room / picture_bytes(blocks) < (uint64_t)c.batches * whole_batch(set) && !t->blocks)
        blocks = SPLIT_NARROW_BLOCKS;
    uint64_t fit = room / picture_bytes(blocks);
    if (fit < (uint64_t)c.batches * c.pictures)
        c.pictures = fit < c.batches ? 1 : (uint32_t)(fit / c.batches);
    c.mbs = c.pictures * SPLIT_HD_MBS;
    c.coeff_blocks = c.mbs * (c.pictures < SPLIT_LEAST_SHARED ? SPLIT_MB_BLOCKS : blocks);
    c.picture_blocks = c.coeff_blocks / c.pictures;
    c.bytes = c.pictures * SPLIT_PICTURE_BYTES;
    c.packed_words = split_words(c.mbs, c.bytes);
    c.slices = c.pictures * SPLIT_PICTURE_SLICES;
    return c;
}

struct split_capacity split_part(const struct split_capacity *c, uint32_t pictures)
{
    struct split_capacity part = *c;
    uint64_t all = c->pictures;
    if (pictures >= all)
        return part;
    part.pictures = pictures;
    part.mbs = (uint32_t)(c->mbs * (uint64_t)pictures / all);
    part.coeff_blocks = (uint32_t)(c->coeff_blocks * (uint64_t)pictures / all);
    part.bytes = (uint32_t)(c->bytes * (uint64_t)pictures / all);
    part.packed_words = (uint32_t)(c->packed_words * (uint64_t)pictures / all);
    part.slices = (uint32_t)(c->slices * (uint64_t)pictures / all);
    return part;
}

/* One stream gives the GPU less to choose from, and gains nothing by wider batches. */
uint32_t split_room(const struct schedule *s, const struct split_capacity *c)
{
    bool alone = s->at_work_count < 2 && !s->split.all;
    return alone && c->pictures > SPLIT_PICTURES_WHOLE ? SPLIT_PICTURES_WHOLE : c->pictures;
}

uint64_t split_batch_bytes(const struct split_capacity *c)
{
    return (uint64_t)c->mbs * SPLIT_MB_BYTES + (uint64_t)c->coeff_blocks * SPLIT_BLOCK_BYTES +
           c->bytes + 4ull * c->packed_words;
}

uint32_t split_batch_pictures(const struct split_capacity *c, uint32_t mb_count)
{
    uint32_t fit = c->mbs / (mb_count ? mb_count : 1);
    return fit < c->pictures ? fit : c->pictures;
}

/* By its bytes, as a large picture of few bits has few blocks. A small one may have them all: at
 * low rates a byte is two blocks and more, as each has a level or two. */
uint32_t split_blocks(const struct split_capacity *c, const struct picture *p)
{
    const struct h264_picture *pic = p->pic;
    uint64_t a_mb = pic->sps->chroma_format_idc ? SPLIT_MB_BLOCKS : SPLIT_MB_BLOCKS_GREY;
    uint64_t most = pic->mb_count * a_mb;
    if (most <= c->picture_blocks)
        return (uint32_t)most;
    uint64_t blocks = (uint64_t)pic->bytes_size * SPLIT_BLOCKS_PER_5_BYTES / 5 +
                      (uint64_t)pic->slice_count * SPLIT_SLICE_BLOCKS;
    blocks <<= p->window->few_blocks;
    return (uint32_t)(blocks < most ? blocks : most);
}

void split_note_full(struct picture *p)
{
    struct window *w = p->window;
    w->few_blocks += w->few_blocks < SPLIT_FEW_BLOCKS;
}

uint32_t split_coder_blocks(const struct h264_picture *pic)
{
    uint64_t step = (uint64_t)pic->mb_count * SPLIT_BLOCKS_STEP;
    uint64_t blocks = (uint64_t)pic->bytes_size * SPLIT_CODER_BLOCKS_PER_4_BYTES / 4 + 1;
    blocks = (blocks + step - 1) / step * step;
    return blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
}

uint32_t split_coder_words(const struct h264_picture *pic)
{
    uint64_t step = (uint64_t)pic->mb_count * SPLIT_WORDS_STEP;
    uint64_t words = (uint64_t)pic->bytes_size * SPLIT_CODER_WORDS_PER_BYTE + 1;
    words = (words + step - 1) / step * step;
    return words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
}

uint64_t split_resident_limit(const struct schedule_setting *set)
{
    bool wide = batches_fit(set, SPLIT_BATCHES);
    uint32_t preset = wide ? SPLIT_RESIDENT_PART : SPLIT_RESIDENT_PART_NARROW;
    uint64_t part = set->device_memory / tuned(set->tuning.results, preset);
    return set->software && part > SPLIT_SOFTWARE_RESIDENT ? SPLIT_SOFTWARE_RESIDENT : part;
}
