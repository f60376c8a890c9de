/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Syntax of parameter sets (7.3.2.1, 7.3.2.2, E.1.1).
 */
#include "gen.h"

/* Rates that go up (E.2.2), and what bitstream_restriction says */
static void write_sps(struct gen *g, unsigned profile_idc, struct bit_writer *s)
{
    struct hrd_rates rates = {.bit_rate_scale = 2, .cpb_size_scale = 3, .cbr_flags = 0xaaaaaaaa};
    struct sps_details details = {.lists = &g->sps_lists, .hrd = &rates, .log2_max_mv_length = 16};
    struct h264_sps sps = g->sps;
    for (unsigned i = 0; i < 32; i++) {
        rates.bit_rate_value[i] = 5001 + 1000 * i;
        rates.cpb_size_value[i] = 9001 - 100 * i;
    }
    sps.profile_idc = (uint8_t)profile_idc;
    sps.vui.bitstream_restriction_flag = 1;
    sps.vui.max_num_reorder_frames = sps.reorder_frames;
    sps.vui.max_dec_frame_buffering = sps.max_dpb_frames;
    if (sps.vui_present)
        g->used |= g->on & F_VUI;
    write_sps_data(&sps, &details, s);
}

static void write_pps(struct gen *g, unsigned i)
{
    const struct h264_pps *pps = &g->pps[i];
    struct bit_writer s = {0};
    bit_writer_u(&s, 8, 0x68);
    write_pps_data(&g->sps, pps, &g->pps_lists[i], &s);
    bit_writer_trailing(&s);
    bit_writer_nal(&g->out, &s);
    bit_writer_free(&s);
}

/* subset_seq_parameter_set_rbsp() of a stereo stream (H.7.3.2.1.4): how the second view may refer
 * to the first. */
static void write_subset(struct gen *g)
{
    struct bit_writer s = {0};
    bit_writer_u(&s, 8, 0x6f);
    write_sps(g, 128, &s);
    bit_writer_u(&s, 1, 1); /* bit_equal_to_one */
    bit_writer_ue(&s, 1);   /* num_views_minus1 */
    bit_writer_ue(&s, 0);
    bit_writer_ue(&s, SECOND_VIEW_ID);
    for (unsigned anchor = 2; anchor-- > 0;)
        for (unsigned list = 0; list < 2; list++) { /* no reference, or one: the base view */
            bit_writer_ue(&s, g->view_refs[anchor] >> list & 1);
            if (g->view_refs[anchor] >> list & 1)
                bit_writer_ue(&s, 0);
        }
    bit_writer_ue(&s, 0); /* num_level_values_signalled_minus1 */
    bit_writer_u(&s, 8, g->sps.level_idc);
    bit_writer_ue(&s, 0);   /* num_applicable_ops_minus1 */
    bit_writer_u(&s, 3, 0); /* applicable_op_temporal_id */
    bit_writer_ue(&s, 1);   /* applicable_op_num_target_views_minus1 */
    bit_writer_ue(&s, 0);
    bit_writer_ue(&s, SECOND_VIEW_ID);
    bit_writer_ue(&s, 1);   /* applicable_op_num_views_minus1 */
    bit_writer_u(&s, 1, 0); /* mvc_vui_parameters_present_flag */
    bit_writer_u(&s, 1, 0); /* additional_extension2_flag */
    bit_writer_trailing(&s);
    bit_writer_nal(&g->out, &s);
    bit_writer_free(&s);
}

void sets_write(struct gen *g)
{
    struct bit_writer s = {0};
    bit_writer_u(&s, 8, 0x67);
    write_sps(g, gen_has(g, F_MVC) ? 100 : g->sps.profile_idc, &s);
    bit_writer_trailing(&s);
    bit_writer_nal(&g->out, &s);
    bit_writer_free(&s);
    if (gen_has(g, F_MVC))
        write_subset(g);
    for (unsigned i = 0; i < g->pps_count; i++)
        write_pps(g, i);
}
