/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Half floats in whole numbers, the same on every device.
 */
#ifndef PELTON_HALF_GLSL
#define PELTON_HALF_GLSL

/* The nearest one's bits, ties to even. */
uint half_of(float value)
{
    uint bits = floatBitsToUint(value), sign = (bits >> 16) & 0x8000u, low = bits & 0x7fffffu,
         exponent = (bits >> 23) & 0xffu;
    if (exponent == 0xffu)
        return sign | 0x7c00u | (low != 0u ? 0x200u : 0u);
    if (exponent < 102u)
        return sign;
    bool small = exponent < 113u;
    uint shift = small ? 126u - exponent : 13u,
         whole = small ? low | 0x800000u : low | (exponent - 112u) << 23,
         rest = whole & ((1u << shift) - 1u), middle = 1u << (shift - 1u), result = whole >> shift;
    result += rest > middle || (rest == middle && (result & 1u) != 0u) ? 1u : 0u;
    return sign | min(result, 0x7c00u);
}

#endif
