/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The features of a stream. A stream has a set of allowed features (chosen by profile, seed and the
 * command line) and a set of those that it really used.
 */
#ifndef PELTON_STREAMGEN_FEATURES_H
#define PELTON_STREAMGEN_FEATURES_H

#include "rng.h"

#include <stdint.h>

#define FEATURES(X)                                                                                \
    X(CAVLC, "cavlc")                                                                              \
    X(CABAC, "cabac")                                                                              \
    X(P, "p")                                                                                      \
    X(B, "b")                                                                                      \
    X(SLICES, "slices")                                                                            \
    X(MIXED, "mixed-slices")                                                                       \
    X(PCM, "pcm")                                                                                  \
    X(SKIP, "skip")                                                                                \
    X(I4X4, "intra4x4")                                                                            \
    X(I8X8, "intra8x8")                                                                            \
    X(I16X16, "intra16x16")                                                                        \
    X(SUB, "sub-macroblocks")                                                                      \
    X(SPATIAL, "spatial-direct")                                                                   \
    X(TEMPORAL, "temporal-direct")                                                                 \
    X(EXPLICIT, "explicit-weights")                                                                \
    X(IMPLICIT, "implicit-weights")                                                                \
    X(REORDER, "list-modification")                                                                \
    X(MMCO, "mmco")                                                                                \
    X(LONGTERM, "long-term")                                                                       \
    X(QP, "qp-jumps")                                                                              \
    X(CHROMAQP, "chroma-qp-offset")                                                                \
    X(DEBLOCK, "deblocking-offsets")                                                               \
    X(NODEBLOCK, "deblocking-off")                                                                 \
    X(SPSLISTS, "sps-scaling")                                                                     \
    X(PPSLISTS, "pps-scaling")                                                                     \
    X(T8X8, "transform8x8")                                                                        \
    X(FARMV, "far-mv")                                                                             \
    X(BIGCOEFF, "big-levels")                                                                      \
    X(CONSTRAINED, "constrained-intra")                                                            \
    X(FIELDS, "paff")                                                                              \
    X(MBAFF, "mbaff")                                                                              \
    X(FMO0, "fmo0")                                                                                \
    X(FMO1, "fmo1")                                                                                \
    X(FMO2, "fmo2")                                                                                \
    X(FMO3, "fmo3")                                                                                \
    X(FMO4, "fmo4")                                                                                \
    X(FMO5, "fmo5")                                                                                \
    X(FMO6, "fmo6")                                                                                \
    X(GROUPCHANGE, "slice-group-change")                                                           \
    X(ASO, "aso")                                                                                  \
    X(REDUNDANT, "redundant")                                                                      \
    X(PARTITIONS, "partitions")                                                                    \
    X(SP, "sp")                                                                                    \
    X(SI, "si")                                                                                    \
    X(PLANES, "separate-planes")                                                                   \
    X(MONO, "400")                                                                                 \
    X(C422, "422")                                                                                 \
    X(C444, "444")                                                                                 \
    X(DEPTH, "depth")                                                                              \
    X(DEPTHDIFF, "differing-depths")                                                               \
    X(LOSSLESS, "lossless")                                                                        \
    X(INTRA444, "cavlc444-intra")                                                                  \
    X(POC1, "poc1")                                                                                \
    X(POC2, "poc2")                                                                                \
    X(GAPS, "gaps")                                                                                \
    X(SETS, "parameter-sets")                                                                      \
    X(CROP, "cropping")                                                                            \
    X(MVC, "mvc")                                                                                  \
    X(IDRS, "idrs")                                                                                \
    X(UNPAIRED, "unpaired-field")                                                                  \
    X(SEI, "sei")                                                                                  \
    X(VUI, "vui")                                                                                  \
    X(UNITS, "other-nal-units")                                                                    \
    X(RESIZE, "size-changes")

#define FEATURE_INDEX(name, text) FEATURE_##name,
enum feature { FEATURES(FEATURE_INDEX) FEATURE_COUNT };
#undef FEATURE_INDEX
#define FEATURE_BIT(name, text)                                                                    \
    static const uint64_t F_##name __attribute__((unused)) = (uint64_t)1 << FEATURE_##name;
FEATURES(FEATURE_BIT)
#undef FEATURE_BIT

#define F_ANY_FMO (F_FMO0 | F_FMO1 | F_FMO2 | F_FMO3 | F_FMO4 | F_FMO5 | F_FMO6)

extern const char *const feature_names[FEATURE_COUNT];

/* A profile and what it allows. */
struct profile {
    const char *name;
    uint8_t profile_idc, constraint_flags; /* constraint_set0_flag is bit 7 */
    uint8_t max_depth, intra;              /* intra: every picture is an IDR picture */
    uint64_t allowed;
};

/* A comma-separated list of names to a set; false, with a message, on one that is not known. */
bool features_parse(const char *names, uint64_t *set);
/* Choose a profile that allows all of `force` and a random set of its features without `forbid`.
 * all: no feature that is not forced. NULL where no profile allows them together. */
const struct profile *features_choose(struct rng *r, uint64_t force, uint64_t forbid, bool all,
                                      uint64_t *set);

#endif
