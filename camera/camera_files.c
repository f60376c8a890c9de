/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Calibration files and tone tables of camera settings. See camera_files.h.
 *
 * The failure modes are those of the files: absent, not readable, not numbers, of another camera.
 */
#include "camera/camera_files.h"

#include "camera/calibration.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int camera_calibrate(struct camera_params *p, struct pelton_failure *failure)
{
    struct calibration calibration;
    char why[CALIBRATION_WHY] = "";
    if (!p->optics.calibration[0])
        return 0;
    int err = calibration_load(p->optics.calibration, 0, &calibration, why);
    if (!err)
        err = calibration_scale(&calibration, p->width, p->height, why);
    if (err) {
        *failure = (struct pelton_failure){
            .code = err == CALIBRATION_ERR_UNSUPPORTED ? PELTON_ERR_UNSUPPORTED : PELTON_ERR_INPUT};
        snprintf(failure->cause, sizeof(failure->cause), "%.100s: %.150s", p->optics.calibration,
                 why);
        snprintf(failure->hint, sizeof(failure->hint),
                 "pelton calib check says what the file holds");
        return failure->code;
    }
    p->optics.lens = calibration.lens;
    p->optics.calibration[0] = 0;
    return 0;
}

/* Numbers with anything but digits between; '#' starts a comment. The number of values, or 0. */
static uint32_t tone_file_read(FILE *file, uint16_t *out, uint32_t most)
{
    uint32_t n = 0;
    for (int c = getc(file); c != EOF; c = getc(file)) {
        unsigned value;
        if (c == '#') {
            while (c != EOF && c != '\n')
                c = getc(file);
            continue;
        }
        if (strchr(" ,;\t\r\n", c))
            continue;
        ungetc(c, file);
        if (n == most || fscanf(file, "%6u", &value) != 1 || value > UINT16_MAX)
            return 0;
        out[n++] = (uint16_t)value;
    }
    return n;
}

static int tone_failure(struct pelton_failure *failure, const char *name, const char *cause)
{
    *failure = (struct pelton_failure){.code = PELTON_ERR_INPUT};
    snprintf(failure->cause, sizeof(failure->cause), "tone_table=%.120s: %s", name, cause);
    return failure->code;
}

int camera_tone_load(const struct camera_params *p, struct camera_tone *out,
                     struct pelton_failure *failure)
{
    enum { TONE_MOST = 65536 };
    int rc = 0;
    if (p->tone != ISP_TONE_TABLE)
        return 0;
    uint16_t *values = malloc(TONE_MOST * sizeof(*values));
    if (!values)
        return tone_failure(failure, p->tone_table, "out of memory");
    uint32_t n = camera_tone_listed(p->tone_table, values);
    FILE *file = n ? NULL : fopen(p->tone_table, "re");
    if (!n && !file)
        rc = tone_failure(failure, p->tone_table, strerror(errno));
    else if (!n && (n = tone_file_read(file, values, TONE_MOST)) < 2)
        rc = tone_failure(failure, p->tone_table, "expected 2 to 65536 values from 0 to 65535");
    if (file)
        fclose(file);
    if (rc < 0)
        free(values);
    else
        *out = (struct camera_tone){values, n};
    return rc;
}
