/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton version: the versions of the program and of its libraries.
 */
#include "client/commands.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswscale/swscale.h>
#include <stdio.h>

static void print_library(const char *name, unsigned running, unsigned built)
{
    printf("%-12s %u.%u.%u", name, AV_VERSION_MAJOR(running), AV_VERSION_MINOR(running),
           AV_VERSION_MICRO(running));
    if (running != built) {
        printf(" (built with %u.%u.%u)", AV_VERSION_MAJOR(built), AV_VERSION_MINOR(built),
               AV_VERSION_MICRO(built));
    }
    putchar('\n');
}

void print_libraries(void)
{
    printf("%-12s %s\n", "FFmpeg", av_version_info());
    print_library("libavformat", avformat_version(), LIBAVFORMAT_VERSION_INT);
    print_library("libavcodec", avcodec_version(), LIBAVCODEC_VERSION_INT);
    print_library("libavutil", avutil_version(), LIBAVUTIL_VERSION_INT);
    print_library("libswscale", swscale_version(), LIBSWSCALE_VERSION_INT);
}

int cmd_version(struct client_options *o, struct failure *f)
{
    printf("%-12s %s\n%-12s %s\n", "pelton", CLIENT_VERSION, "libpelton", pelton_version());
    printf("%-12s %d\n", "protocol", CLIENT_PROTOCOL);
    print_libraries();
    return 0;
}
