/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Side data as JSON. Members have the standard's names (annexes D and E). Bytes are written in
 * hexadecimal.
 */
#include "client/side_data_json.h"
#include "client/output_check.h"
#include "client/ui.h"

#include <errno.h>
#include <fcntl.h>
#include <libavutil/pixdesc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEI_REGISTERED = 4, SEI_UNREGISTERED = 5 };

const char *sei_name(uint32_t type)
{
    static const struct {
        uint32_t type;
        const char *name;
    } names[] = {{0, "buffering_period"},
                 {1, "pic_timing"},
                 {2, "pan_scan_rect"},
                 {3, "filler_payload"},
                 {4, "user_data_registered_itu_t_t35"},
                 {5, "user_data_unregistered"},
                 {6, "recovery_point"},
                 {7, "dec_ref_pic_marking_repetition"},
                 {8, "spare_pic"},
                 {9, "scene_info"},
                 {10, "sub_seq_info"},
                 {11, "sub_seq_layer_characteristics"},
                 {12, "sub_seq_characteristics"},
                 {13, "full_frame_freeze"},
                 {14, "full_frame_freeze_release"},
                 {15, "full_frame_snapshot"},
                 {16, "progressive_refinement_segment_start"},
                 {17, "progressive_refinement_segment_end"},
                 {18, "motion_constrained_slice_group_set"},
                 {19, "film_grain_characteristics"},
                 {20, "deblocking_filter_display_preference"},
                 {21, "stereo_video_info"},
                 {22, "post_filter_hint"},
                 {23, "tone_mapping_info"},
                 {24, "scalability_info"},
                 {37, "mvc_scalable_nesting"},
                 {38, "view_scalability_info"},
                 {45, "frame_packing_arrangement"},
                 {47, "display_orientation"},
                 {137, "mastering_display_colour_volume"},
                 {142, "colour_remapping_info"},
                 {144, "content_light_level_info"},
                 {147, "alternative_transfer_characteristics"},
                 {148, "ambient_viewing_environment"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].type == type)
            return names[i].name;
    return NULL;
}

const char *colour_source(const struct pelton_colour *c)
{
    static const char *const sources[] = {"assumed", "bitstream", "container", "user"};
    return c->source < 4 ? sources[c->source] : "unknown";
}

/* ---- values ---- */

static void json_hex(struct json *j, const char *name, const uint8_t *bytes, size_t size)
{
    char *text = malloc(2 * size + 1);
    if (!text) {
        json_null(j, name);
        return;
    }
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    text[2 * size] = 0;
    json_text(j, name, text);
    free(text);
}

void json_colour(struct json *j, const char *name, const struct pelton_colour *c)
{
    json_open(j, name, '{');
    json_text(j, "source", colour_source(c));
    json_text(j, "color_range", c->range == 2 ? "pc" : c->range == 1 ? "tv" : NULL);
    json_text(j, "color_primaries", av_color_primaries_name(c->primaries));
    json_text(j, "color_transfer", av_color_transfer_name(c->transfer));
    json_text(j, "color_space", av_color_space_name(c->matrix));
    json_text(j, "chroma_location", av_chroma_location_name(c->siting));
    json_close(j, '}');
}

void json_vui(struct json *j, const char *name, const struct pelton_vui *v)
{
    static const char *const overscan[] = {"unknown", "not appropriate", "appropriate"};
    if (!v->present) {
        json_null(j, name);
        return;
    }
    json_open(j, name, '{');
    json_int(j, "video_format", v->video_format);
    json_text(j, "overscan", v->overscan < 3 ? overscan[v->overscan] : "unknown");
    json_int(j, "num_units_in_tick", v->num_units_in_tick);
    json_int(j, "time_scale", v->time_scale);
    json_bool(j, "fixed_frame_rate_flag", v->fixed_frame_rate);
    json_int(j, "max_num_reorder_frames", v->reorder_frames);
    json_bool(j, "hrd_parameters_present", v->hrd);
    json_bool(j, "pic_struct_present_flag", v->pic_struct);
    json_close(j, '}');
}

/* ---- messages ---- */

/* HH:MM:SS:FF as in SMPTE 12-1, with ; before the frames where counts are dropped. */
static void json_timecode(struct json *j, const struct pelton_clock_timestamp *c)
{
    char text[32];
    bool drop = c->counting_type == 4; /* two of every minute but the tenth (Table D-3) */
    snprintf(text, sizeof(text), "%02u:%02u:%02u%c%02u", c->hours, c->minutes, c->seconds,
             drop ? ';' : ':', c->n_frames);
    json_open(j, NULL, '{');
    json_text(j, "timecode", text);
    json_int(j, "ct_type", c->ct_type);
    json_int(j, "counting_type", c->counting_type);
    json_bool(j, "nuit_field_based_flag", c->nuit_field_based_flag);
    json_bool(j, "full_timestamp_flag", c->full_timestamp_flag);
    json_bool(j, "discontinuity_flag", c->discontinuity_flag);
    json_bool(j, "cnt_dropped_flag", c->cnt_dropped_flag);
    json_bool(j, "seconds_given", c->parts & 1);
    json_bool(j, "minutes_given", c->parts & 2);
    json_bool(j, "hours_given", c->parts & 4);
    json_int(j, "time_offset", c->time_offset);
    json_close(j, '}');
}

static void json_timing(struct json *j, const struct pelton_side_data *s)
{
    if (s->has & PELTON_SIDE_RECOVERY_POINT) {
        json_open(j, "recovery_point", '{');
        json_int(j, "recovery_frame_cnt", s->recovery_point.recovery_frame_cnt);
        json_bool(j, "exact_match_flag", s->recovery_point.exact_match_flag);
        json_bool(j, "broken_link_flag", s->recovery_point.broken_link_flag);
        json_int(j, "changing_slice_group_idc", s->recovery_point.changing_slice_group_idc);
        json_close(j, '}');
    }
    if (s->has & PELTON_SIDE_DELAYS) {
        json_int(j, "cpb_removal_delay", s->cpb_removal_delay);
        json_int(j, "dpb_output_delay", s->dpb_output_delay);
    }
    if (s->has & PELTON_SIDE_PIC_STRUCT)
        json_int(j, "pic_struct", s->pic_struct);
    if (s->clocks) {
        json_open(j, "clock_timestamps", '[');
        for (unsigned i = 0; i < s->clocks; i++)
            json_timecode(j, &s->clock[i]);
        json_close(j, ']');
    }
}

static void json_packing(struct json *j, const struct pelton_frame_packing *p)
{
    static const char *const types[] = {"checkerboard", "columns",  "rows", "side by side",
                                        "top-bottom",   "temporal", "2D",   "tile"};
    json_open(j, "frame_packing_arrangement", '{');
    json_int(j, "id", p->id);
    json_bool(j, "cancel_flag", p->cancel_flag);
    if (!p->cancel_flag) {
        json_int(j, "type", p->type);
        json_text(j, "type_name", p->type < 8 ? types[p->type] : NULL);
        json_int(j, "content_interpretation_type", p->content_interpretation_type);
        json_bool(j, "quincunx_sampling_flag", p->quincunx_sampling_flag);
        json_bool(j, "spatial_flipping_flag", p->spatial_flipping_flag);
        json_bool(j, "frame0_flipped_flag", p->frame0_flipped_flag);
        json_bool(j, "field_views_flag", p->field_views_flag);
        json_bool(j, "current_frame_is_frame0_flag", p->current_frame_is_frame0_flag);
        json_bool(j, "frame0_self_contained_flag", p->frame0_self_contained_flag);
        json_bool(j, "frame1_self_contained_flag", p->frame1_self_contained_flag);
        json_open(j, "grid_position", '[');
        for (unsigned i = 0; i < 4; i++)
            json_int(j, NULL, p->grid_position[i]);
        json_close(j, ']');
        json_int(j, "repetition_period", p->repetition_period);
    }
    json_close(j, '}');
}

static void json_display(struct json *j, const struct pelton_side_data *s)
{
    if (s->has & PELTON_SIDE_FRAME_PACKING)
        json_packing(j, &s->frame_packing);
    if (s->has & PELTON_SIDE_DISPLAY_ORIENTATION) {
        json_open(j, "display_orientation", '{');
        json_bool(j, "cancel_flag", s->display_orientation.cancel_flag);
        if (!s->display_orientation.cancel_flag) {
            json_bool(j, "hor_flip", s->display_orientation.hor_flip);
            json_bool(j, "ver_flip", s->display_orientation.ver_flip);
            json_number(j, "anticlockwise_degrees",
                        s->display_orientation.anticlockwise_rotation * (360 / 65536.0));
            json_int(j, "repetition_period", s->display_orientation.repetition_period);
        }
        json_close(j, '}');
    }
    if (s->has & PELTON_SIDE_MASTERING_DISPLAY) {
        static const char *const names[] = {"green_x", "green_y", "blue_x",
                                            "blue_y",  "red_x",   "red_y"};
        json_open(j, "mastering_display", '{');
        for (unsigned i = 0; i < 6; i++)
            json_number(j, names[i], s->mastering_display.primaries[i] / 50000.0);
        json_number(j, "white_x", s->mastering_display.white_point[0] / 50000.0);
        json_number(j, "white_y", s->mastering_display.white_point[1] / 50000.0);
        json_number(j, "max_luminance", s->mastering_display.max_luminance / 10000.0);
        json_number(j, "min_luminance", s->mastering_display.min_luminance / 10000.0);
        json_close(j, '}');
    }
    if (s->has & PELTON_SIDE_CONTENT_LIGHT) {
        json_open(j, "content_light_level", '{');
        json_int(j, "max_content_light_level", s->content_light.max_content_light_level);
        json_int(j, "max_pic_average_light_level", s->content_light.max_pic_average_light_level);
        json_close(j, '}');
    }
    if (s->has & PELTON_SIDE_TRANSFER) {
        json_text(j, "preferred_transfer_characteristics",
                  av_color_transfer_name(s->preferred_transfer_characteristics));
    }
    if (s->has & PELTON_SIDE_ACTIVE_FORMAT)
        json_int(j, "active_format", s->active_format);
}

/* Text, as encoders leave it, also stands as text. A zero may end it. */
static void json_plain_text(struct json *j, const char *name, const uint8_t *bytes, size_t size)
{
    size_t n = 0;
    while (n < size && (bytes[n] >= ' ' || bytes[n] == '\n' || bytes[n] == '\t') && bytes[n] < 127)
        n++;
    bool ends = n == size || (n + 1 == size && !bytes[n]);
    char *text = n > 0 && ends ? strndup((const char *)bytes, n) : NULL;
    if (text)
        json_text(j, name, text);
    free(text);
}

static void json_unregistered(struct json *j, const struct pelton_sei_message *m)
{
    char uuid[37] = "";
    for (unsigned i = 0, n = 0; i < 16; i++) {
        n += (unsigned)snprintf(uuid + n, sizeof(uuid) - n, "%s%02x",
                                i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", m->bytes[i]);
    }
    json_text(j, "uuid", uuid);
    json_plain_text(j, "text", m->bytes + 16, m->size - 16);
    json_hex(j, "data", m->bytes + 16, m->size - 16);
}

/* Messages that no other member tells. */
static bool is_told(uint32_t type, uint32_t has)
{
    switch (type) {
    case 1:
        return has & (PELTON_SIDE_DELAYS | PELTON_SIDE_PIC_STRUCT);
    case 6:
        return has & PELTON_SIDE_RECOVERY_POINT;
    case 45:
        return has & PELTON_SIDE_FRAME_PACKING;
    case 47:
        return has & PELTON_SIDE_DISPLAY_ORIENTATION;
    case 137:
        return has & PELTON_SIDE_MASTERING_DISPLAY;
    case 144:
        return has & PELTON_SIDE_CONTENT_LIGHT;
    case 147:
        return has & PELTON_SIDE_TRANSFER;
    default:
        return false;
    }
}

static void json_messages(struct json *j, const struct pelton_side_data *s)
{
    bool open = false;
    for (uint32_t i = 0; i < s->messages; i++) {
        const struct pelton_sei_message *m = &s->message[i];
        if (is_told(m->type, s->has))
            continue;
        if (!open)
            json_open(j, "messages", '[');
        open = true;
        json_open(j, NULL, '{');
        json_int(j, "type", m->type);
        json_text(j, "name", sei_name(m->type));
        if (m->type == SEI_UNREGISTERED && m->size >= 16)
            json_unregistered(j, m);
        else
            json_hex(j, "payload", m->bytes, m->size);
        json_close(j, '}');
    }
    if (open)
        json_close(j, ']');
}

void json_side_data(struct json *j, const struct pelton_side_data *s)
{
    if (!s)
        return;
    json_timing(j, s);
    json_display(j, s);
    if (s->captions_size)
        json_hex(j, "captions", s->captions, s->captions_size);
    json_messages(j, s);
    if (s->left_out)
        json_int(j, "left_out", s->left_out);
}

/* ---- the file ---- */

struct side_file {
    FILE *file;
    const char *name;
};

static int side_file_descriptor(const char *path, enum overwrite overwrite, struct failure *f)
{
    if (output_check_path(path, &overwrite, f))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) /* what has no content, or was allowed to go */
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        fail_errno(f, X_OTHER, errno, path);
    return fd;
}

int side_file_open(const char *path, enum overwrite overwrite, struct side_file **out,
                   struct failure *f)
{
    struct side_file *s = calloc(1, sizeof(*s));
    if (!s)
        return fail_with(f, X_OTHER, "close other programs", "out of memory");
    s->name = path;
    if (!strcmp(path, "-")) {
        s->file = stdout;
        s->name = "standard output";
    } else {
        int fd = side_file_descriptor(path, overwrite, f);
        s->file = fd < 0 ? NULL : fdopen(fd, "w");
        if (!s->file) {
            free(s);
            return f->code;
        }
    }
    *out = s;
    return 0;
}

int side_file_frame(struct side_file *s, uint64_t number, const struct pelton_frame *frame,
                    struct failure *f)
{
    struct json j = {.file = s->file, .compact = true};
    char sar[32];
    json_open(&j, NULL, '{');
    json_int(&j, "frame", (int64_t)number);
    if (frame->view)
        json_int(&j, "view", frame->view);
    json_int(&j, "sequence", (int64_t)frame->sequence);
    if (frame->pts != INT64_MIN && frame->time_base.den > 0) {
        json_int(&j, "pts", frame->pts);
        json_number(&j, "pts_time",
                    (double)frame->pts * frame->time_base.num / frame->time_base.den);
    }
    json_bool(&j, "key", frame->flags & PELTON_FRAME_KEY);
    json_bool(&j, "corrupt", frame->flags & PELTON_FRAME_CORRUPT);
    snprintf(sar, sizeof(sar), "%d:%d", frame->sar.num, frame->sar.den);
    json_text(&j, "sample_aspect_ratio", frame->sar.num > 0 && frame->sar.den > 0 ? sar : NULL);
    json_colour(&j, "colour", &frame->colour);
    json_vui(&j, "vui", &frame->vui);
    json_side_data(&j, frame->side);
    json_close(&j, '}');
    return ferror(s->file) ? fail_errno(f, X_OTHER, errno ? errno : EIO, s->name) : 0;
}

int side_file_close(struct side_file *s, struct failure *f)
{
    if (!s)
        return 0;
    int rc = (s->file == stdout ? fflush(s->file) : fclose(s->file))
                 ? fail_errno(f, X_OTHER, errno, s->name)
                 : 0;
    free(s);
    return rc;
}
