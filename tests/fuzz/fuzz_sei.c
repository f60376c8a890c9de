/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libFuzzer target: SEI messages up to the bytes that a reader gets. The input is six bytes that
 * choose the contents of the VUI, and one or two NAL units. These belong to a frame, or to both
 * fields.
 */
#include "codec/h264.h"
#include "codec/sei.h"
#include "daemon/worker/source/side_data.h"
#include "proto/wire_side.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void choose_vui(const uint8_t *c, struct h264_sps *sps)
{
    struct h264_vui *v = &sps->vui;
    sps->vui_present = c[0] & 1;
    v->nal_hrd_present = c[0] >> 1 & 1;
    v->vcl_hrd_present = c[0] >> 2 & 1;
    v->pic_struct_present = c[0] >> 3 & 1;
    v->cpb_count[0] = (uint8_t)(c[1] % 32 + 1);
    v->cpb_count[1] = (uint8_t)(c[1] / 32 + 1);
    v->initial_cpb_removal_delay_length = (uint8_t)(c[2] % 32 + 1);
    v->cpb_removal_delay_length = (uint8_t)(c[3] % 32 + 1);
    v->dpb_output_delay_length = (uint8_t)(c[4] % 32 + 1);
    v->time_offset_length = c[5] % 32;
}

static struct h264_sei *collect(const uint8_t *rbsp, size_t size)
{
    struct h264_sei_inbox inbox = {0};
    struct h264_sei *sei = NULL;
    struct h264_buffering_period period;
    struct h264_sps sps = {.vui_present = 1,
                           .vui = {.nal_hrd_present = 1,
                                   .cpb_count = {32, 1},
                                   .initial_cpb_removal_delay_length = 32}};
    uint8_t *exact = malloc(size ? size : 1); /* so that a byte too far is seen */
    if (exact) {
        memcpy(exact, rbsp, size);
        h264_sei_collect(&inbox, exact, size);
        h264_sei_take(&inbox, &sei);
    }
    free(exact);
    h264_sei_inbox_free(&inbox);
    const struct h264_sei_message *m = h264_sei_find(sei, H264_SEI_BUFFERING_PERIOD);
    if (m)
        h264_sei_buffering_period(m, &sps, &period);
    return sei;
}

/* What goes over the wire comes back the same. */
static void travel(const struct pelton_side_data *side)
{
    struct pelton_side_data *back = NULL;
    size_t size, again_size;
    uint8_t *bytes = wire_side_pack(side, &size), *again;
    assert(bytes && size < 64 << 10);
    assert(wire_side_unpack(bytes, size, &back) == 0);
    again = wire_side_pack(back, &again_size);
    assert(again && again_size == size && !memcmp(again, bytes, size));
    free(again);
    free(back);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct h264_sps sps = {0};
    struct h264_picture pic = {.sps = &sps};
    struct side_probe probe = {0};
    size_t first;
    if (size < 8)
        return 0;
    choose_vui(data, &sps);
    first = data[6] % 2 ? (size - 7) / 2 : size - 7;
    pic.sei = collect(data + 7, first);
    if (pic.sei && first < size - 7)
        pic.sei->next = collect(data + 7 + first, size - 7 - first);
    for (unsigned request = PELTON_SIDE_NONE; request <= PELTON_SIDE_ALL; request++) {
        struct pelton_side_data *side = side_data_of(&pic, (enum pelton_side_request)request);
        assert(request != PELTON_SIDE_NONE || !side);
        if (side)
            travel(side);
        free(side);
    }
    atomic_init(&pic.refs, 100); /* side_probe holds and drops it; it is not on the heap */
    side_probe_add(&probe, &pic);
    side_probe_end(&probe);
    assert(atomic_load(&pic.refs) == 100);
    if (probe.out.first)
        travel(probe.out.first);
    free(probe.out.first);
    h264_sei_free(pic.sei);
    return 0;
}
