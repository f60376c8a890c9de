/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slice groups (8.2.2): the map of types 0 to 6 from map units, then from macroblock addresses, to
 * groups.
 */
#include "codec/slice_groups.h"

#include <string.h>

struct group_shape {
    uint32_t width, height, size; /* PicWidthInMbs, PicHeightInMapUnits, PicSizeInMapUnits */
};

/* 8.2.2.1 */
static void interleaved(const struct group_shape *s, const struct h264_pps *pps, uint8_t *map)
{
    uint32_t i = 0;
    for (unsigned group = 0; i < s->size; group = (group + 1) % pps->num_slice_groups)
        for (uint32_t end = i + pps->run_length[group]; i < end && i < s->size; i++)
            map[i] = (uint8_t)group;
}

/* 8.2.2.2 */
static void dispersed(const struct group_shape *s, const struct h264_pps *pps, uint8_t *map)
{
    uint32_t n = pps->num_slice_groups;
    for (uint32_t i = 0; i < s->size; i++)
        map[i] = (uint8_t)((i % s->width + i / s->width * n / 2) % n);
}

/* 8.2.2.3: lower groups lie over higher ones, the last is the background. */
static void foreground(const struct group_shape *s, const struct h264_pps *pps, uint8_t *map)
{
    unsigned groups = pps->num_slice_groups;
    memset(map, (int)groups - 1, s->size);
    for (unsigned group = groups - 1; group-- > 0;) {
        uint32_t left = pps->top_left[group] % s->width, top = pps->top_left[group] / s->width;
        uint32_t right = pps->bottom_right[group] % s->width,
                 bottom = pps->bottom_right[group] / s->width;
        for (uint32_t y = top; y <= bottom && y < s->height; y++)
            for (uint32_t x = left; x <= right; x++)
                map[y * s->width + x] = (uint8_t)group;
    }
}

/* 8.2.2.4: a spiral from the middle */
static void box_out(const struct group_shape *s, int dir, uint32_t units0, uint8_t *map)
{
    int w = (int)s->width, h = (int)s->height, x = (w - dir) / 2, y = (h - dir) / 2;
    int left = x, right = x, top = y, bottom = y, x_dir = dir - 1, y_dir = dir;
    memset(map, 1, s->size);
    for (uint32_t k = 0; k < units0;) {
        k += map[y * w + x];
        map[y * w + x] = 0;
        if (x_dir == -1 && x == left) {
            x = left = left > 0 ? left - 1 : 0;
            x_dir = 0;
            y_dir = 2 * dir - 1;
        } else if (x_dir == 1 && x == right) {
            x = right = right < w - 1 ? right + 1 : w - 1;
            x_dir = 0;
            y_dir = 1 - 2 * dir;
        } else if (y_dir == -1 && y == top) {
            y = top = top > 0 ? top - 1 : 0;
            x_dir = 1 - 2 * dir;
            y_dir = 0;
        } else if (y_dir == 1 && y == bottom) {
            y = bottom = bottom < h - 1 ? bottom + 1 : h - 1;
            x_dir = 2 * dir - 1;
            y_dir = 0;
        } else {
            x += x_dir;
            y += y_dir;
        }
    }
}

/* 8.2.2.5, 8.2.2.6: raster scan, and columns from the left */
static void split(const struct group_shape *s, unsigned type, unsigned dir, uint32_t upper_left,
                  uint8_t *map)
{
    for (uint32_t i = 0; i < s->size; i++) {
        uint32_t k = type == 4 ? i : i % s->width * s->height + i / s->width;
        map[i] = (uint8_t)(k < upper_left ? dir : 1 - dir);
    }
}

/* mapUnitToSliceGroupMap */
static void map_units(const struct group_shape *s, const struct h264_pps *pps,
                      const struct h264_slice_header *h, uint8_t *map)
{
    unsigned type = pps->slice_group_map_type, dir = pps->slice_group_change_direction_flag;
    uint64_t changed = (uint64_t)h->slice_group_change_cycle * pps->slice_group_change_rate;
    uint32_t units0 = changed < s->size ? (uint32_t)changed : s->size; /* mapUnitsInSliceGroup0 */
    switch (type) {
    case 0:
        interleaved(s, pps, map);
        break;
    case 1:
        dispersed(s, pps, map);
        break;
    case 2:
        foreground(s, pps, map);
        break;
    case 3:
        box_out(s, (int)dir, units0, map);
        break;
    case 4:
    case 5:
        split(s, type, dir, dir ? s->size - units0 : units0, map);
        break;
    default: /* 8.2.2.7 */
        for (uint32_t i = 0; i < s->size; i++)
            map[i] = i < pps->pic_size_in_map_units ? pps->slice_group_id[i] : 0;
    }
}

void h264_slice_group_map(const struct h264_sps *sps, const struct h264_pps *pps,
                          const struct h264_slice_header *h, uint8_t *map)
{
    struct group_shape s = {sps->mb_width, sps->map_height,
                            (uint32_t)sps->mb_width * sps->map_height};
    map_units(&s, pps, h, map);
    if (sps->frame_mbs_only_flag || h->field_pic_flag)
        return;
    /* 8.2.2.8: two macroblocks of a frame share a map unit. From the end, as each unit stands
     * before its macroblocks. */
    for (uint32_t i = 2 * s.size; i-- > 0;)
        map[i] = map[sps->mb_adaptive_frame_field_flag ? i / 2
                                                       : i / (2 * s.width) * s.width + i % s.width];
}
