/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton encode: pictures that the daemon decodes, as H.264 of other settings. It is pelton record
 * with an encoder in between (cmd_record.c, frame_encoder.c).
 */
#include "client/commands.h"
#include "client/frame_encoder.h"
#include "client/ui.h"

#include <string.h>
#include <unistd.h>

static int encode_check(const struct client_options *o, struct failure *f)
{
    if (o->n_inputs == 0)
        return fail_with(f, X_USAGE, "as in: pelton encode -i clip.mp4 -o out.mp4",
                         "no input: -i is missing");
    if (!o->write.path)
        return fail_with(f, X_USAGE, "as in: pelton encode -i clip.mp4 -o out.mp4",
                         "no output: -o FILE is missing");
    if (!strcmp(o->write.path, "-") && !o->write.format)
        return fail_with(f, X_USAGE, "as in: -f mpegts -",
                         "standard output: -f names no container");
    if (!strcmp(o->write.path, "-") && isatty(STDOUT_FILENO))
        return fail_with(f, X_USAGE, "-o FILE writes a file, | ffplay - shows the pictures",
                         "standard output is a terminal, and encoded video is no text");
    return 0;
}

int cmd_encode(struct client_options *o, struct failure *f)
{
    bool address = o->write.path && strstr(o->write.path, "://");
    int rc = encode_check(o, f);
    o->encode.wanted = true;
    if (!o->read.policy_given)
        o->read.policy = PELTON_LOSSLESS;
    rc = rc ? rc : options_settle_end(o, f);
    return rc ? rc : record_units(o, strcmp(o->write.path, "-") != 0 && !address, f);
}
