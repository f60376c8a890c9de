/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton probe: the properties of a stream, and whether it can be decoded.
 */
#include "client/commands.h"
#include "proto/json.h"
#include "client/side_data_json.h"
#include "client/input.h"
#include "client/ui.h"

#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double ratio(struct pelton_rational r)
{
    return r.den != 0 ? (double)r.num / r.den : 0;
}

/* 31 becomes 3.1. Level 1b is announced as 9, or as 11 by a flag that the number does not show. */
static void level_text(int32_t level, char *out, size_t size)
{
    if (level == 9)
        snprintf(out, size, "1b");
    else if (level > 0)
        snprintf(out, size, "%d.%d", level / 10, level % 10);
    else
        snprintf(out, size, "unknown");
}

static const char *or_unknown(const char *name)
{
    return name ? name : "unknown";
}

static void print_colour(const struct pelton_colour *c)
{
    printf("%-12s %s, %s/%s/%s, chroma %s (%s)\n", "colour",
           c->range == PELTON_RANGE_FULL      ? "pc"
           : c->range == PELTON_RANGE_LIMITED ? "tv"
                                              : "unknown range",
           or_unknown(av_color_space_name(c->matrix)),
           or_unknown(av_color_primaries_name(c->primaries)),
           or_unknown(av_color_transfer_name(c->transfer)),
           or_unknown(av_chroma_location_name(c->siting)), colour_source(c));
}

static void print_sei(const struct pelton_probe_sei *sei)
{
    for (uint32_t n = 0; n < sei->types; n++) {
        const char *name = sei_name(sei->type[n].type);
        char number[16];
        snprintf(number, sizeof(number), "type %u", sei->type[n].type);
        printf("%-12s %s: %u in %u frames\n", n ? "" : "sei", name ? name : number,
               sei->type[n].count, sei->pictures);
    }
}

/* Where there is a choice. */
static void print_videos(const struct pelton_info *i)
{
    for (uint32_t n = 0; i->videos > 1 && n < i->videos; n++) {
        const struct pelton_video *v = &i->video[n];
        printf("%-12s -map 0:v:%u: %s, %ux%u%s%s%s\n", n ? "" : "videos", n, v->codec, v->width,
               v->height, v->flags & PELTON_VIDEO_DEFAULT ? ", default" : "",
               v->flags & PELTON_VIDEO_ATTACHED ? ", attached picture" : "",
               v->flags & PELTON_VIDEO_CHOSEN ? ", chosen" : "");
    }
}

static const char *orientation_text(uint32_t orientation)
{
    static const char *const texts[] = {NULL,
                                        NULL,
                                        "mirrored",
                                        "turned by 180 degrees",
                                        "upside down, mirrored",
                                        "turned by 270 degrees, mirrored",
                                        "turned by 90 degrees",
                                        "turned by 90 degrees, mirrored",
                                        "turned by 270 degrees"};
    return orientation <= PELTON_TURNED_270 ? texts[orientation] : NULL;
}

static void print_text(const char *name, const struct pelton_info *i)
{
    char level[16];
    level_text(i->level, level, sizeof(level));
    printf("%-12s ", "input");
    for (; *name; name++) /* nothing in a name may move the cursor */
        putchar((unsigned char)*name < ' ' || *name == 127 ? '?' : *name);
    printf("\n%-12s %s\n", "container", i->container);
    printf("%-12s %s\n%-12s %s\n%-12s %s\n", "codec", i->codec, "profile",
           i->profile[0] ? i->profile : "unknown", "level", level);
    printf("%-12s %ux%u (coded %ux%u)\n", "size", i->width, i->height, i->coded_width,
           i->coded_height);
    if (orientation_text(i->orientation))
        printf("%-12s %s (clockwise, when shown)\n", "orientation",
               orientation_text(i->orientation));
    print_videos(i);
    if (i->sounds)
        printf("%-12s %u %s, not read\n", "sound", i->sounds, ui_plural(i->sounds, "stream"));
    if (i->sar.num > 0 && i->sar.den > 0)
        printf("%-12s %d:%d\n", "sar", i->sar.num, i->sar.den);
    printf("%-12s %s\n", "pix_fmt", i->pix_fmt[0] ? i->pix_fmt : "unknown");
    print_colour(&i->colour);
    printf("%-12s %.6g fps (%d/%d)\n", "rate", ratio(i->frame_rate), i->frame_rate.num,
           i->frame_rate.den);
    if (i->duration_us > 0)
        printf("%-12s %.3f s\n", "duration", (double)i->duration_us * 1e-6);
    if (i->frames > 0)
        printf("%-12s %lld\n", "frames", (long long)i->frames);
    if (i->bit_rate > 0)
        printf("%-12s %.0f kb/s\n", "bit rate", (double)i->bit_rate / 1000);
    if (i->supported) {
        printf("%-12s yes\n", "decodes");
    } else {
        printf("%-12s no: %s%s%s\n", "decodes", i->unsupported_element,
               i->unsupported_what[0] ? ", " : "", i->unsupported_what);
    }
}

static void json_rational(struct json *j, const char *name, struct pelton_rational r)
{
    char text[32];
    snprintf(text, sizeof(text), "%d/%d", r.num, r.den);
    json_text(j, name, text);
}

static void json_videos(struct json *j, const struct pelton_info *i)
{
    json_open(j, "videos", '[');
    for (uint32_t n = 0; n < i->videos; n++) {
        json_open(j, NULL, '{');
        json_text(j, "codec", i->video[n].codec);
        json_int(j, "width", i->video[n].width);
        json_int(j, "height", i->video[n].height);
        json_bool(j, "default", i->video[n].flags & PELTON_VIDEO_DEFAULT);
        json_bool(j, "attached", i->video[n].flags & PELTON_VIDEO_ATTACHED);
        json_bool(j, "chosen", i->video[n].flags & PELTON_VIDEO_CHOSEN);
        json_close(j, '}');
    }
    json_close(j, ']');
}

static void info_print_json(const char *name, const struct pelton_info *i,
                            const struct pelton_probe_sei *sei)
{
    struct json j = {.file = stdout};
    json_open(&j, NULL, '{');
    json_text(&j, "input", name);
    json_text(&j, "container", i->container);
    json_text(&j, "codec", i->codec);
    json_text(&j, "profile", i->profile[0] ? i->profile : NULL);
    json_int(&j, "level", i->level);
    json_int(&j, "width", i->width);
    json_int(&j, "height", i->height);
    json_int(&j, "coded_width", i->coded_width);
    json_int(&j, "coded_height", i->coded_height);
    json_text(&j, "pix_fmt", i->pix_fmt[0] ? i->pix_fmt : NULL);
    json_rational(&j, "sar", i->sar);
    json_rational(&j, "time_base", i->time_base);
    json_rational(&j, "frame_rate", i->frame_rate);
    json_rational(&j, "avg_frame_rate", i->avg_frame_rate);
    json_number(&j, "duration",
                i->duration_us > 0 ? (double)i->duration_us * 1e-6 : __builtin_nan(""));
    if (i->frames > 0)
        json_int(&j, "frames", i->frames);
    else
        json_null(&j, "frames");
    json_int(&j, "bit_rate", (int64_t)i->bit_rate);
    json_int(&j, "orientation", i->orientation ? i->orientation : PELTON_UPRIGHT);
    json_videos(&j, i);
    json_int(&j, "sounds", i->sounds);
    json_bool(&j, "supported", i->supported);
    json_text(&j, "unsupported_element", i->supported ? NULL : i->unsupported_element);
    json_text(&j, "unsupported_what", i->supported ? NULL : i->unsupported_what);
    json_colour(&j, "colour", &i->colour);
    json_vui(&j, "vui", &i->vui);
    json_open(&j, "sei", '{');
    json_int(&j, "pictures", sei->pictures);
    json_open(&j, "counts", '[');
    for (uint32_t n = 0; n < sei->types; n++) {
        json_open(&j, NULL, '{');
        json_int(&j, "type", sei->type[n].type);
        json_text(&j, "name", sei_name(sei->type[n].type));
        json_int(&j, "count", sei->type[n].count);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_open(&j, "first", '{');
    json_side_data(&j, sei->first);
    json_close(&j, '}');
    json_close(&j, '}');
    json_close(&j, '}');
}

static int probe(struct client_options *o, struct client_input *source, struct pelton *conn,
                 struct failure *f)
{
    struct pelton_open_params params;
    struct pelton_info info;
    struct pelton_probe_sei sei;
    input_params(o, source, &params);
    params.side_data = PELTON_SIDE_ALL;
    if (pelton_probe_sei(conn, &params, timeout_ms(o), &info, &sei) < 0)
        return fail_pelton(f, conn, source->name);
    if (o->json) {
        info_print_json(source->name, &info, &sei);
    } else {
        print_text(source->name, &info);
        print_sei(&sei);
    }
    free(sei.first);
    if (!info.supported) {
        return fail_with(f, X_UNSUPPORTED, "ffmpeg may decode it on the CPU",
                         "%s: not supported: %s%s%s", source->name, info.unsupported_element,
                         info.unsupported_what[0] ? ", " : "", info.unsupported_what);
    }
    return 0;
}

int cmd_probe(struct client_options *o, struct failure *f)
{
    if (o->n_inputs == 0)
        return fail_with(f, X_USAGE, "as in: pelton probe clip.mp4", "no input");
    struct client_input source = {.fd = -1};
    struct pelton *conn = NULL;
    int rc = input_open(o->inputs[0], &source, f);
    if (rc)
        return rc;
    rc = connection_open(o, &conn, f);
    rc = rc ? rc : probe(o, &source, conn, f);
    pelton_close(conn);
    input_close(&source);
    return rc;
}
