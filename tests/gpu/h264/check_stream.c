/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The pictures of a file, one by one.
 */
#include "tests/gpu/h264/check_stream.h"
#include "tests/tools/annexb.h"
#include "tests/tools/read_file.h"

#include <stdio.h>
#include <stdlib.h>

static int drain(const struct check_stream *s, struct h264_stream *stream)
{
    struct h264_picture *pic;
    int err = 0;
    while ((pic = h264_stream_next_output(stream)))
        h264_picture_unref(pic);
    while ((pic = h264_stream_next_decode(stream)))
        if (err == 0)
            err = s->take(s->user, pic);
        else
            h264_picture_unref(pic);
    return err;
}

int check_stream_read(const struct check_stream *s)
{
    struct h264_stream *stream = NULL;
    struct h264_diag diag = {0};
    size_t size = 0;
    uint8_t *data = read_file(s->path, &size);
    int err = data && h264_stream_create(&s->params, &stream) == H264_OK ? 0 : -1;
    if (err)
        printf("checkgpu: cannot read %s\n", s->path);
    for (size_t at = err ? size : annexb_start(data, size, 0), end;
         at < size && err == 0 && *s->wanted; at = end) {
        end = annexb_start(data, size, at + 3);
        h264_stream_feed(stream, data + at, end - at, 0, &diag); /* errors are other tests' */
        err = drain(s, stream);
    }
    if (stream) {
        h264_stream_flush(stream);
        err = err ? err : drain(s, stream);
    }
    h264_stream_free(stream);
    free(data);
    return err;
}
