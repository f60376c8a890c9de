/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Demosaic of a pixel from sums of its neighbours. Samples are 0..MOST; so are the results, not
 * rounded. The including shader defines MOST.
 *
 * DEMOSAIC 0: bilinear. 1: H. S. Malvar, L. He, R. Cutler, "High-quality linear interpolation for
 * demosaicing of Bayer-patterned color images", ICASSP 2004, figure 2, with coefficients over 16.
 */
float full(float v)
{
    return min(clamp(v, 0.0, 1.0), MOST);
}

/* c: the sample itself; sums of the two samples next to it in its column and row, of the two
 * beyond, and of the four at its corners. */
vec3 demosaic(bool red_column, bool red_row, float c, float ns, float we, float far_ns,
              float far_we, float corners)
{
    if (MONO)
        return vec3(c);
    if (red_column == red_row) {
        float green, other, far = far_ns + far_we;
        if (DEMOSAIC == 0u) {
            green = full((ns + we) * 0.25);
            other = full(corners * 0.25);
        } else {
            float middle = fma(far, -0.125, c * 0.5);
            green = full(fma(ns + we, 0.25, middle));
            other = full(fma(corners, 0.25, middle * 1.5));
        }
        return red_row ? vec3(c, green, other) : vec3(other, green, c);
    }
    float along, across; /* the colours of the row and of the column */
    if (DEMOSAIC == 0u) {
        along = full(we * 0.5);
        across = full(ns * 0.5);
    } else {
        float middle = fma(corners, -0.125, c * 0.625);
        along = full(fma(far_ns, 0.0625, fma(far_we, -0.125, fma(we, 0.5, middle))));
        across = full(fma(far_we, 0.0625, fma(far_ns, -0.125, fma(ns, 0.5, middle))));
    }
    return red_row ? vec3(along, c, across) : vec3(across, c, along);
}
