/* SPDX-License-Identifier: BSD-2-Clause
 *
 * SATD between the source and the prediction of a partition by a vector. encode_search.glsl comes
 * before.
 */
#ifndef PELTON_ENCODE_SATD_GLSL
#define PELTON_ENCODE_SATD_GLSL

/* Corner and size of partitions, in units of 8 samples */
const ivec4 part_places[ENC_PARTS] = ivec4[ENC_PARTS](
    ivec4(0, 0, 2, 2), ivec4(0, 0, 2, 1), ivec4(0, 1, 2, 1), ivec4(0, 0, 1, 2), ivec4(1, 0, 1, 2),
    ivec4(0, 0, 1, 1), ivec4(1, 0, 1, 1), ivec4(0, 1, 1, 1), ivec4(1, 1, 1, 1));

/* Where the sample at a position in half samples is */
int half_sample_at(uint set, ivec2 at)
{
    uint plane = uint(at.x & 1) + 2u * uint(at.y & 1);
    return int(plane_origin(set, plane)) + (at.y >> 1) * int(plane_stride(0u)) + (at.x >> 1);
}

/* The two samples whose mean is the one at a position in quarter samples (Table 8-12) */
ivec2 two_samples_at(uint set, ivec2 at)
{
    ivec2 low = at >> 1, high = (at + 1) >> 1;
    if ((at.x & at.y & 1) == 0)
        return ivec2(half_sample_at(set, low), half_sample_at(set, high));
    bool odd_x = (low.x & 1) != 0, odd_y = (low.y & 1) != 0;
    return ivec2(half_sample_at(set, ivec2(odd_x ? low.x : high.x, odd_y ? high.y : low.y)),
                 half_sample_at(set, ivec2(odd_x ? high.x : low.x, odd_y ? low.y : high.y)));
}

uint satd4(int source, ivec2 from)
{
    ivec4 v[4];
    int stride = int(plane_stride(0u));
    for (int y = 0; y < 4; y++) {
        ivec4 d;
        for (int x = 0; x < 4; x++) {
            int at = y * stride + x;
            int pred = (int(planes[from.x + at]) + int(planes[from.y + at]) + 1) >> 1;
            d[x] = int(planes[source + at]) - pred;
        }
        ivec2 s = d.xy + d.zw, t = d.xy - d.zw;
        v[y] = ivec4(s.x + s.y, s.x - s.y, t.x + t.y, t.x - t.y);
    }
    ivec4 a = v[0] + v[2], b = v[1] + v[3], c = v[0] - v[2], e = v[1] - v[3];
    ivec4 sum = abs(a + b) + abs(a - b) + abs(c + e) + abs(c - e);
    return uint(sum.x + sum.y + sum.z + sum.w);
}

uint part_satd(uint part, ivec2 mv)
{
    ivec4 place = part_places[part];
    ivec2 corner = 16 * mb_at + 8 * place.xy;
    int stride = int(plane_stride(0u));
    int source = int(plane_origin(pictures[picture].source, 0u)) + corner.y * stride + corner.x;
    ivec2 from = two_samples_at(uint(pictures[picture].reference[reference]), 4 * corner + mv);
    uint sum = 0u;
    for (int y = 0; y < 8 * place.w; y += 4)
        for (int x = 0; x < 8 * place.z; x += 4)
            sum += satd4(source + y * stride + x, from + y * stride + x);
    return sum / 2u;
}

#endif
