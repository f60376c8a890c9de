/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Side data of frames as JSON: a file with one line for each frame (--side-data), and parts of the
 * output of probe.
 */
#ifndef CLIENT_SIDE_DATA_H
#define CLIENT_SIDE_DATA_H

#include "proto/json.h"
#include "client/options.h"
#include "proto/pelton.h"

struct side_file;

/* path "-": standard output. */
int side_file_open(const char *path, enum overwrite overwrite, struct side_file **out,
                   struct failure *f);
/* number: counts frames of the output, from 0. */
int side_file_frame(struct side_file *s, uint64_t number, const struct pelton_frame *frame,
                    struct failure *f);
/* Finishes and frees; NULL allowed. */
int side_file_close(struct side_file *s, struct failure *f);

/* Writes members of the open object. side may be NULL. */
void json_side_data(struct json *j, const struct pelton_side_data *side);
void json_colour(struct json *j, const char *name, const struct pelton_colour *c);
/* writes null where there is none */
void json_vui(struct json *j, const char *name, const struct pelton_vui *v);

/* payloadType in words: "pic_timing"; NULL: unknown */
const char *sei_name(uint32_t type);
const char *colour_source(const struct pelton_colour *c);

#endif
