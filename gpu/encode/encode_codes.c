/* SPDX-License-Identifier: BSD-2-Clause
 *
 * See encode_codes.h.
 */
#include "gpu/encode/encode_codes.h"

#include "codec/cabac.h"
#include "codec/macroblock.h"
#include "codec/scan.h"
#include "encode/cavlc_writer.h"
#include "encode/reference/quantise.h"

#include <string.h>

static uint32_t code_of(struct cavlc_code code)
{
    return (uint32_t)code.length << 16 | code.bits;
}

static void fill_tokens(const struct cavlc_codes *from, struct enc_codes *out)
{
    for (unsigned class = 0; class < 6; class ++)
        for (unsigned total = 0; total < 17; total++)
            for (unsigned ones = 0; ones < 4; ones++)
                out->coeff_token[class][total][ones] =
                    code_of(from->coeff_token[class][total][ones]);
    for (unsigned nc = 0; nc < 17; nc++)
        out->nc_class[nc] = h264_cavlc_nc_class(nc);
    out->nc_class[ENC_NC_CHROMA_DC] = H264_NC_CHROMA_DC_420;
}

static void fill_runs(const struct cavlc_codes *from, struct enc_codes *out)
{
    for (unsigned total = 0; total < 15; total++)
        for (unsigned zeros = 0; zeros < 16; zeros++)
            out->total_zeros[0][total][zeros] = code_of(from->total_zeros[total][zeros]);
    for (unsigned total = 0; total < 3; total++)
        for (unsigned zeros = 0; zeros < 4; zeros++)
            out->total_zeros[1][total][zeros] = code_of(from->total_zeros_420[total][zeros]);
    for (unsigned left = 0; left < 7; left++)
        for (unsigned run = 0; run < 15; run++)
            out->run_before[left][run] = code_of(from->run_before[left][run]);
}

static void fill_patterns(const struct cavlc_codes *from, struct enc_codes *out)
{
    for (unsigned chroma = 0; chroma < 2; chroma++)
        for (unsigned inter = 0; inter < 2; inter++)
            for (unsigned cbp = 0; cbp < 48; cbp++)
                out->cbp[chroma][inter][cbp] = from->cbp[chroma][inter][cbp];
}

static void fill_orders(struct enc_codes *out)
{
    for (unsigned i = 0; i < 16; i++) {
        out->order[ENC_ORDER_4X4 + i] = h264_scan_4x4[0][i];
        out->order[ENC_ORDER_DC + i] = h264_scan_luma_dc[0][i];
    }
    for (unsigned i = 0; i < 64; i++)
        out->order[ENC_ORDER_8X8 + i] = h264_scan_8x8[0][i];
    for (unsigned i = 0; i < 4; i++)
        out->order[ENC_ORDER_RASTER + i] = i;
}

static void fill_contexts(struct enc_codes *out)
{
    for (unsigned category = 0; category < 6; category++) {
        out->cbf_base[category] = h264_cabac_cbf_base[category];
        out->sig_base[category] = h264_cabac_sig_base[0][category];
        out->last_base[category] = h264_cabac_last_base[0][category];
        out->abs_base[category] = h264_cabac_abs_base[category];
    }
    for (unsigned i = 0; i < 64; i++) {
        out->sig_8x8[i] = h264_cabac_sig_8x8[0][i];
        out->last_8x8[i] = h264_cabac_last_8x8[i];
    }
}

void encode_codes_fill(struct enc_codes *out)
{
    struct cavlc_codes codes;
    cavlc_codes_build(&codes);
    *out = (struct enc_codes){0};
    fill_tokens(&codes, out);
    fill_runs(&codes, out);
    fill_patterns(&codes, out);
    fill_orders(out);
    fill_contexts(out);
}

void encode_quantisers_fill(struct enc_quantiser out[6])
{
    for (int m = 0; m < 6; m++) {
        struct quantiser q = quantiser_at(m, 0, 0);
        memcpy(out[m].factor4, q.factor4, sizeof(q.factor4));
        memcpy(out[m].factor8, q.factor8, sizeof(q.factor8));
    }
}
