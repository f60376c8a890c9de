/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Tables 8-16 and 8-17.
 */
#ifndef PELTON_DEBLOCK_TABLES_GLSL
#define PELTON_DEBLOCK_TABLES_GLSL

/* alpha' of indexA */
const uint deblock_alpha[52] =
    uint[](0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 4u, 4u, 5u, 6u, 7u, 8u,
           9u, 10u, 12u, 13u, 15u, 17u, 20u, 22u, 25u, 28u, 32u, 36u, 40u, 45u, 50u, 56u, 63u, 71u,
           80u, 90u, 101u, 113u, 127u, 144u, 162u, 182u, 203u, 226u, 255u, 255u);

/* beta' of indexB */
const uint deblock_beta[52] =
    uint[](0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 2u, 2u, 2u, 3u, 3u, 3u,
           3u, 4u, 4u, 4u, 6u, 6u, 7u, 7u, 8u, 8u, 9u, 9u, 10u, 10u, 11u, 11u, 12u, 12u, 13u, 13u,
           14u, 14u, 15u, 15u, 16u, 16u, 17u, 17u, 18u, 18u);

/* t'C0 of indexA: bS 1, 2 << 5, 3 << 10 */
const uint deblock_tc0[52] =
    uint[](0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 1024u, 1024u, 1024u,
           1024u, 1056u, 1056u, 1057u, 1057u, 1057u, 1057u, 2081u, 2081u, 2081u, 2081u, 3137u,
           3137u, 3138u, 4162u, 4194u, 4194u, 5219u, 6275u, 6275u, 7332u, 8356u, 9412u, 10469u,
           11526u, 13574u, 14663u, 16744u, 18825u, 20906u, 24043u, 26157u);

#endif
