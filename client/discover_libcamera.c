/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Cameras of libcamera: see discover.h. Its library needs C++ and is not everywhere, so its own
 * program lists them: "1: 'imx219' (/base/soc/i2c0mux/i2c@1/imx219@10)".
 */
#include "client/discover.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LINES_MOST = 1000 };

static void line_add(struct discovery *d, char *line)
{
    char *open = strrchr(line, '('), *close = strrchr(line, ')'), *colon = strchr(line, ':');
    if (!isdigit((unsigned char)line[0]) || !open || !close || close < open || !colon ||
        colon > open)
        return;
    char title[DISCOVERED_TEXT], id[DISCOVERED_TEXT];
    const char *from = colon + 1 + strspn(colon + 1, " '");
    int length = (int)(open - from);
    while (length > 0 && strchr(" '", from[length - 1]))
        length--;
    snprintf(title, sizeof(title), "%.*s", length > 0 ? length : 0, from);
    *close = 0;
    discovery_text(id, sizeof(id), open + 1);
    struct discovered *c = discovery_add(d, "libcamera", title);
    if (c)
        snprintf(c->uri, sizeof(c->uri), "libcamera://%s", id);
}

void discover_libcamera(struct discovery *d)
{
    char line[1024];
    FILE *cam = popen("exec cam --list 2>/dev/null", "re");
    for (int i = 0; cam && i < LINES_MOST && fgets(line, sizeof(line), cam); i++)
        line_add(d, line);
    if (cam)
        pclose(cam);
}
