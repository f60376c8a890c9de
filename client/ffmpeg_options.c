/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Which options of ffmpeg pelton passes over, and which it refuses by name. An option is passed
 * over only if the frames are the same without it.
 */
#include "client/ffmpeg_options.h"

#include <string.h>

#define FILTER "pelton pipe or decode -f y4m - writes frames for ffmpeg -i -, which filters them"
#define ENCODE "pelton encode has it; pelton decode writes raw frames"

static const struct ffmpeg_option ffmpeg_options[] = {
    {"hide_banner", false, NULL, NULL},
    {"nostdin", false, NULL, NULL},
    {"stdin", false, NULL, NULL},
    {"stats", false, NULL, NULL},
    {"nostats", false, NULL, NULL},
    {"an", false, NULL, NULL},
    {"sn", false, NULL, NULL},
    {"dn", false, NULL, NULL},
    {"benchmark", false, NULL, NULL},
    {"ignore_unknown", false, NULL, NULL},
    {"threads", true, NULL, NULL},
    {"stats_period", true, NULL, NULL},
    {"probesize", true, NULL, NULL},
    {"analyzeduration", true, NULL, NULL},
    {"strict", true, NULL, NULL},
    {"hwaccel", true, NULL, NULL},
    {"hwaccel_device", true, NULL, NULL},
    {"autorotate", true, "1", "-noautorotate leaves pictures as they are coded"},
    {"c:v", true, "rawvideo h264 png mjpeg wrapped_avframe", ENCODE},
    {"codec:v", true, "rawvideo h264 png mjpeg wrapped_avframe", ENCODE},
    {"vcodec", true, "rawvideo h264 png mjpeg wrapped_avframe", ENCODE},
    {"vsync", true, "passthrough 0", "pelton keeps each frame and its time"},
    {"fps_mode", true, "passthrough", "pelton keeps each frame and its time"},
    {"c:a", true, NULL, "pelton reads video only; leave it out"},
    {"b:v", true, NULL, ENCODE},
    {"crf", true, NULL, ENCODE},
    {"preset", true, NULL, "pelton encode has no presets: -refs, -coder and -profile:v choose"},
    {"tune", true, NULL, "pelton encode has no tunings"},
    {"bf", true, "0", "pelton codes no B pictures"},
    {"vf", true, NULL, FILTER},
    {"filter:v", true, NULL, FILTER},
    {"filter_complex", true, NULL, FILTER},
    {"r", true, NULL, FILTER},
    {"re", false, NULL, "pelton pipe 'sim://FILE' plays a file at its own pace"},
};

const struct ffmpeg_option *ffmpeg_option_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(ffmpeg_options) / sizeof(ffmpeg_options[0]); i++) {
        const struct ffmpeg_option *option = &ffmpeg_options[i];
        if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
            return option;
    }
    return NULL;
}

bool ffmpeg_option_ignored(const struct ffmpeg_option *option, const char *value)
{
    if (!option->harmless || !value)
        return !option->hint;
    size_t length = strlen(value);
    for (const char *p = option->harmless; *p;) {
        size_t n = strcspn(p, " ");
        if (n == length && strncmp(p, value, n) == 0)
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}
