/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See hrd.h.
 */
#include "encode/hrd.h"

#include "encode/sei_writer.h"

enum { CLOCK = 90000, DELAY_BITS = 32, TICKS = 2 /* of a picture */, OFFSET_BITS = 24 };

void hrd_begin(struct hrd *h, const struct rate_control *rate, struct h264_vui *vui)
{
    const struct rate_settings *s = &rate->settings;
    *h = (struct hrd){.present = s->bit_rate && vui->timing_info_present};
    if (!h->present)
        return;
    h->bit_rate = s->bit_rate;
    h->buffer = s->buffer;
    h->rates.bit_rate_value[0] = (uint32_t)(h->bit_rate / HRD_RATE_STEP);
    h->rates.cpb_size_value[0] = (uint32_t)(h->buffer / HRD_BUFFER_STEP);
    h->rates.cbr_flags = s->mode == RATE_BITS;
    vui->nal_hrd_present = 1;
    vui->cpb_count[0] = 1;
    vui->initial_cpb_removal_delay_length = DELAY_BITS;
    vui->cpb_removal_delay_length = DELAY_BITS;
    vui->dpb_output_delay_length = DELAY_BITS;
    vui->time_offset_length = OFFSET_BITS; /* as without a buffer */
}

/* The bits that are there now came in at the bit rate; the whole buffer takes the sum of both. */
static void write_period(const struct hrd *h, const struct rate_control *rate,
                         const struct h264_vui *vui, struct bit_writer *unit)
{
    struct h264_buffering_period period = {.count = {1, 0}};
    struct bit_writer payload = {0};
    uint64_t whole = CLOCK * h->buffer / h->bit_rate, delay = CLOCK * rate->full / h->bit_rate;
    period.initial_cpb_removal_delay[0][0] = (uint32_t)delay;
    period.initial_cpb_removal_delay_offset[0][0] = (uint32_t)(whole - delay);
    sei_buffering_period(vui, &period, &payload);
    sei_payload(unit, 0, &payload);
}

void hrd_write(const struct hrd *h, const struct rate_control *rate, const struct h264_vui *vui,
               bool key, const struct h264_clock_timestamp *clock, struct bit_writer *unit)
{
    struct h264_pic_timing timing = {.cpb_removal_delay = TICKS * h->since_period,
                                     .clock_count = 1}; /* pic_struct 0 is a frame: Table D-1 */
    struct bit_writer payload = {0};
    if (!h->present && !vui->pic_struct_present)
        return;
    if (h->present && key)
        write_period(h, rate, vui, unit);
    if (clock)
        timing.clock[0] = *clock;
    sei_pic_timing(vui, &timing, &payload);
    sei_payload(unit, 1, &payload);
}

void hrd_done(struct hrd *h, bool key)
{
    h->since_period = key ? 1 : h->since_period + 1;
}
