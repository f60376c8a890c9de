/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The scan: levels to Huffman codes (F.1.2), with a restart marker after each row of MCUs. So rows
 * do not depend on each other.
 */
#include "jpeg/jpeg_blocks.h"

#include <string.h>

struct scan_writer {
    uint8_t *out;
    size_t size, room; /* size goes on where there is no room */
    uint64_t bits;
    uint32_t count; /* of bits that are not written */
    struct jpeg_huffman huffman;
};

static void scan_byte(struct scan_writer *w, uint32_t v)
{
    if (w->size < w->room)
        w->out[w->size] = (uint8_t)v;
    w->size++;
}

/* At most 32 bits. A byte 0xff is followed by 0 (B.1.1.5). */
static void scan_bits(struct scan_writer *w, uint32_t bits, uint32_t count)
{
    w->bits = w->bits << count | bits;
    for (w->count += count; w->count >= 8; w->count -= 8) {
        uint32_t byte = w->bits >> (w->count - 8) & 0xff;
        scan_byte(w, byte);
        if (byte == 0xff)
            scan_byte(w, 0);
    }
}

/* Ones up to the end of a byte */
static void scan_align(struct scan_writer *w)
{
    uint32_t missing = (8 - w->count) % 8;
    scan_bits(w, (1u << missing) - 1, missing);
}

/* Bits of a magnitude. F.1.2.1.1 */
static uint32_t category(int32_t v)
{
    uint32_t n = 0;
    for (uint32_t m = (uint32_t)(v < 0 ? -v : v); m; m >>= 1)
        n++;
    return n;
}

/* A code, then the bits of the value: a negative one is less by one. */
static void scan_code(struct scan_writer *w, uint32_t code, int32_t v, uint32_t bits)
{
    uint32_t low = (uint32_t)(v < 0 ? v - 1 : v) & ((1u << bits) - 1);
    scan_bits(w, (code & 0xffff) << bits | low, (code >> 16) + bits);
}

static void scan_block(struct scan_writer *w, const int16_t levels[64], int32_t dc_before,
                       uint32_t table)
{
    const uint32_t *ac = w->huffman.ac[table];
    int32_t dc = levels[0] - dc_before;
    uint32_t run = 0;
    scan_code(w, w->huffman.dc[table][category(dc)], dc, category(dc));
    for (int k = 1; k < 64; k++) {
        if (!levels[k]) {
            run++;
            continue;
        }
        for (; run > 15; run -= 16)
            scan_code(w, ac[0xf0], 0, 0);
        scan_code(w, ac[run << 4 | category(levels[k])], levels[k], category(levels[k]));
        run = 0;
    }
    if (run)
        scan_code(w, ac[0], 0, 0);
}

size_t jpeg_encode(const struct jpeg_settings *s, const struct jpeg_planes *planes, uint8_t *out,
                   size_t room)
{
    struct scan_writer w = {.out = out, .room = room};
    struct jpeg_shape shape;
    uint16_t quantiser[2][64];
    uint8_t header[JPEG_HEADER];
    w.size = jpeg_header(s, header);
    if (w.size > room)
        return 0;
    memcpy(out, header, w.size);
    jpeg_shape_of(s, &shape);
    jpeg_quantiser_fill(s->quality, quantiser);
    jpeg_huffman_fill(&w.huffman);
    for (uint32_t y = 0; y < shape.mcus[1]; y++) {
        int32_t dc[3] = {0};
        for (uint32_t i = 0; i < shape.mcus[0] * shape.mcu_blocks; i++) {
            struct jpeg_place place =
                jpeg_place_of(&shape, i / shape.mcu_blocks, y, i % shape.mcu_blocks);
            int16_t levels[64];
            jpeg_block_levels(s, &shape, planes, quantiser, place, levels);
            scan_block(&w, levels, dc[place.component], place.component > 0);
            dc[place.component] = levels[0];
        }
        scan_align(&w);
        scan_byte(&w, 0xff); /* RSTm, or EOI after the last row */
        scan_byte(&w, y + 1 < shape.mcus[1] ? 0xd0 + y % 8 : 0xd9);
    }
    return w.size <= room ? w.size : 0;
}
