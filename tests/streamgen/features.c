/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Features and profiles (A.2, H.10.1).
 */
#include "features.h"

#include <stdio.h>
#include <string.h>

#define FEATURE_NAME(name, text) text,
const char *const feature_names[FEATURE_COUNT] = {FEATURES(FEATURE_NAME)};
#undef FEATURE_NAME

#define BIT(name) ((uint64_t)1 << FEATURE_##name)
/* What stands beside the pictures: chosen apart from the rest, so that pictures are the same with
 * and without. */
#define ASIDE (BIT(SEI) | BIT(VUI) | BIT(UNITS))
/* What every profile has. */
#define COMMON                                                                                     \
    (BIT(CAVLC) | BIT(SLICES) | BIT(PCM) | BIT(I4X4) | BIT(I16X16) | BIT(QP) | BIT(CHROMAQP) |     \
     BIT(DEBLOCK) | BIT(NODEBLOCK) | BIT(BIGCOEFF) | BIT(CONSTRAINED) | BIT(SETS) | BIT(CROP) |    \
     BIT(IDRS) | BIT(RESIZE) | ASIDE)
/* What those with P slices have. */
#define INTER                                                                                      \
    (BIT(P) | BIT(SKIP) | BIT(SUB) | BIT(REORDER) | BIT(MMCO) | BIT(LONGTERM) | BIT(FARMV) |       \
     BIT(POC1) | BIT(POC2) | BIT(GAPS) | BIT(MIXED))
#define BSLICES      (BIT(B) | BIT(SPATIAL) | BIT(TEMPORAL) | BIT(EXPLICIT) | BIT(IMPLICIT))
#define FIELD_CODING (BIT(FIELDS) | BIT(MBAFF) | BIT(UNPAIRED))
#define GROUPS                                                                                     \
    (BIT(FMO0) | BIT(FMO1) | BIT(FMO2) | BIT(FMO3) | BIT(FMO4) | BIT(FMO5) | BIT(FMO6) |           \
     BIT(GROUPCHANGE) | BIT(ASO) | BIT(REDUNDANT))
#define MAIN        (COMMON | INTER | BSLICES | FIELD_CODING | BIT(CABAC))
#define HIGH_TOOLS  (BIT(I8X8) | BIT(T8X8) | BIT(SPSLISTS) | BIT(PPSLISTS) | BIT(MONO))
#define HIGH        (MAIN | HIGH_TOOLS)
#define DEPTHS      (BIT(DEPTH) | BIT(DEPTHDIFF))
#define FORMATS_444 (DEPTHS | BIT(C422) | BIT(C444) | BIT(PLANES) | BIT(LOSSLESS))
#define INTRA_ONLY  (COMMON | HIGH_TOOLS | BIT(CABAC) | BIT(FIELDS) | BIT(MBAFF))

static const struct profile profiles[] = {
    {"Constrained Baseline", 66, 0x40, 8, 0, COMMON | INTER},
    {"Baseline", 66, 0, 8, 0, COMMON | INTER | GROUPS},
    {"Baseline", 66, 0, 8, 0, COMMON | INTER | GROUPS},
    {"Main", 77, 0, 8, 0, MAIN},
    {"Main", 77, 0, 8, 0, MAIN},
    {"Extended", 88, 0, 8, 0, (MAIN & ~BIT(CABAC)) | GROUPS | BIT(PARTITIONS) | BIT(SP) | BIT(SI)},
    {"Extended", 88, 0, 8, 0, (MAIN & ~BIT(CABAC)) | GROUPS | BIT(PARTITIONS) | BIT(SP) | BIT(SI)},
    {"Extended", 88, 0, 8, 0, (MAIN & ~BIT(CABAC)) | GROUPS | BIT(PARTITIONS) | BIT(SP) | BIT(SI)},
    {"High", 100, 0, 8, 0, HIGH},
    {"High", 100, 0, 8, 0, HIGH},
    {"High", 100, 0, 8, 0, HIGH},
    {"High 10", 110, 0, 10, 0, HIGH | DEPTHS},
    {"High 10 Intra", 110, 0x10, 10, 1, INTRA_ONLY | DEPTHS},
    {"High 4:2:2", 122, 0, 10, 0, HIGH | DEPTHS | BIT(C422)},
    {"High 4:2:2 Intra", 122, 0x10, 10, 1, INTRA_ONLY | DEPTHS | BIT(C422)},
    {"High 4:4:4 Predictive", 244, 0, 14, 0, HIGH | FORMATS_444},
    {"High 4:4:4 Predictive", 244, 0, 14, 0, HIGH | FORMATS_444},
    {"High 4:4:4 Intra", 244, 0x10, 14, 1, INTRA_ONLY | FORMATS_444},
    {"CAVLC 4:4:4 Intra", 44, 0x10, 14, 1,
     (INTRA_ONLY & ~BIT(CABAC)) | FORMATS_444 | BIT(INTRA444)},
    {"Stereo High", 128, 0, 8, 0, (HIGH & ~(BIT(MONO) | BIT(UNPAIRED) | BIT(GAPS))) | BIT(MVC)},
};
/* Those that FFmpeg does not decode: most streams do without. */
#define RARE     (BIT(RESIZE) | BIT(GAPS) | BIT(UNPAIRED) | DEPTHS | BIT(PLANES) | BIT(LOSSLESS))
#define PROFILES (sizeof(profiles) / sizeof(profiles[0]))

bool features_parse(const char *names, uint64_t *set)
{
    while (*names) {
        size_t length = strcspn(names, ","), i = 0;
        while (i < FEATURE_COUNT &&
               (strlen(feature_names[i]) != length || strncmp(feature_names[i], names, length)))
            i++;
        if (i == FEATURE_COUNT) {
            fprintf(stderr, "streamgen: no feature is called %.*s; --list names them\n",
                    (int)length, names);
            return false;
        }
        *set |= (uint64_t)1 << i;
        names += length + (names[length] == ',');
    }
    return true;
}

/* Features that bring others with them: added to what is forced. */
static uint64_t implied(uint64_t set)
{
    static const uint64_t needs[][2] = {
        {BIT(SPATIAL) | BIT(TEMPORAL) | BIT(IMPLICIT), BIT(B)},
        {BIT(B) | BIT(SKIP) | BIT(SUB) | BIT(REORDER) | BIT(FARMV) | BIT(EXPLICIT), BIT(P)},
        {BIT(I8X8), BIT(T8X8)},
        {BIT(GROUPCHANGE), BIT(FMO3)},
        {BIT(LONGTERM), BIT(MMCO)},
        {BIT(PLANES), BIT(C444)},
        {BIT(DEPTHDIFF), BIT(DEPTH)},
        {BIT(UNPAIRED), BIT(FIELDS)},
        {BIT(SP), BIT(P)},
        {BIT(RESIZE), BIT(IDRS)},
        {BIT(MIXED) | BIT(ASO) | BIT(REDUNDANT), BIT(SLICES)},
    };

    for (unsigned i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
        if (set & needs[i][0] && !(i == 3 && set & (BIT(FMO4) | BIT(FMO5))))
            set |= needs[i][1];
    return set;
}

/* One of those in `group`, or none: what is forced stays. */
static uint64_t keep_one(struct rng *r, uint64_t set, uint64_t group, uint64_t force, unsigned none)
{
    uint64_t kept = set & group & force, left = set & group;
    unsigned n = (unsigned)__builtin_popcountll(left), skip;
    if (!kept && n && rng_below(r, n + none) < n) {
        for (skip = rng_below(r, n); skip--;)
            left &= left - 1;
        kept = left & -left;
    }
    return (set & ~group) | kept;
}

const struct profile *features_choose(struct rng *r, uint64_t force, uint64_t forbid, bool all,
                                      uint64_t *set)
{
    const struct profile *fit[PROFILES];
    unsigned n = 0;
    struct rng aside = rng_fork(*r, 1);
    uint64_t on;
    force = implied(force);
    for (unsigned i = 0; i < PROFILES; i++)
        if (!(force & ~profiles[i].allowed))
            fit[n++] = &profiles[i];
    if (!n)
        return NULL;
    fit[0] = fit[rng_below(r, n)];
    on = force;
    for (unsigned i = 0; i < FEATURE_COUNT && !all; i++)
        if (rng_below((uint64_t)1 << i & ASIDE ? &aside : r, 100) <
            ((uint64_t)1 << i & RARE ? 15 : 45))
            on |= (uint64_t)1 << i & ~forbid;
    if (fit[0]->profile_idc == 44)
        on |= BIT(INTRA444);
    if (fit[0]->profile_idc == 128)
        on |= BIT(MVC);
    if (!(on & BIT(P)) && !fit[0]->intra && !all && !(forbid & BIT(P)) && !rng_one_in(r, 6))
        on |= BIT(P);
    on = implied(on) & (fit[0]->allowed | force);
    on = keep_one(r, on, BIT(MONO) | BIT(C422) | BIT(C444), force, 1);
    on = keep_one(r, on, BIT(POC1) | BIT(POC2), force, 1);
    on &= ~(on & BIT(C444) ? 0 : BIT(PLANES));
    on &= ~(on & (BIT(MONO) | BIT(PLANES)) ? BIT(DEPTHDIFF) : 0);
    if (!(on & (BIT(CAVLC) | BIT(CABAC))))
        on |= fit[0]->allowed & BIT(CABAC) & ~forbid ? BIT(CABAC) : BIT(CAVLC);
    if (!(on & (BIT(I4X4) | BIT(I8X8) | BIT(I16X16) | BIT(PCM))))
        on |= BIT(I16X16);
    if (!(on & (BIT(SPATIAL) | BIT(TEMPORAL))))
        on |= on & BIT(B) ? BIT(SPATIAL) : 0;
    *set = on;
    return fit[0];
}
