/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Charts of kernels as SVG: microseconds a run, logarithmic, over the family's axis; bars where one
 * case alone was measured.
 */
#include "bench/bench_kernels.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 920,
    HEIGHT = 360,
    LINE = 13,
    LEFT = 70,
    TOP = 40,
    PLOT_W = 540,
    PLOT_H = 270,
    LEGEND = LEFT + PLOT_W + 20,
    MAX_KEYS = 64
};

static bool same_panel(const struct kernel_row *a, const struct kernel_row *b)
{
    enum kernel_axis axis = kernel_family_axis(a->family);
    if (a->family != b->family || a->c.format != b->c.format)
        return false;
    if (axis == KERNEL_AXIS_SIZE)
        return true;
    return a->c.width == b->c.width && a->c.height == b->c.height &&
           (axis != KERNEL_AXIS_TAPS || a->c.gauss == b->c.gauss);
}

/* What a case is on the axis; growing. */
static double row_key(const struct kernel_row *row)
{
    switch (kernel_family_axis(row->family)) {
    case KERNEL_AXIS_TAPS:
        return row->c.taps;
    case KERNEL_AXIS_PICTURES:
        return row->c.pictures;
    default:
        return (double)row->c.width * row->c.height;
    }
}

struct panel {
    const struct kernel_row *rows;
    size_t count, first;
    double keys[MAX_KEYS + 1], least, most, longest;
    unsigned n_keys;
};

static bool in_panel(const struct panel *p, size_t i)
{
    return same_panel(&p->rows[p->first], &p->rows[i]);
}

static void panel_measure(struct panel *p)
{
    p->least = INFINITY;
    p->most = 0;
    for (size_t i = p->first; i < p->count; i++) {
        unsigned at = 0;
        if (!in_panel(p, i) || !(p->rows[i].result.batch > 0))
            continue;
        p->least = fmin(p->least, 1e6 * p->rows[i].result.batch);
        p->most = fmax(p->most, 1e6 * p->rows[i].result.batch);
        while (at < p->n_keys && p->keys[at] < row_key(&p->rows[i]))
            at++;
        if (p->n_keys < MAX_KEYS && (at == p->n_keys || p->keys[at] > row_key(&p->rows[i]))) {
            memmove(&p->keys[at + 1], &p->keys[at], (p->n_keys - at) * sizeof(*p->keys));
            p->keys[at] = row_key(&p->rows[i]);
            p->n_keys++;
        }
    }
    p->longest = p->most;
    p->least = pow(10, floor(log10(p->least)));
    p->most = pow(10, ceil(log10(p->most * 1.0001)));
}

static double x_of(const struct panel *p, double k)
{
    unsigned at = 0;
    while (at < p->n_keys && p->keys[at] < k)
        at++;
    return LEFT + (double)at * PLOT_W / (p->n_keys - 1);
}

static double y_of(const struct panel *p, double us)
{
    return TOP + PLOT_H * (1 - log(us / p->least) / log(p->most / p->least));
}

static void draw_title(FILE *file, const struct panel *p, const char *device)
{
    const struct kernel_row *row = &p->rows[p->first];
    char text[96];
    kernel_case_text(row->family, &row->c, text, sizeof(text));
    if (p->n_keys > 1 && kernel_family_axis(row->family) == KERNEL_AXIS_SIZE)
        snprintf(text, sizeof(text), "%s", kernel_format_name(row->c.format));
    else if (p->n_keys > 1)
        *strrchr(text, ' ') = 0;
    fprintf(file,
            "<text x='%d' y='24' font-weight='bold'>%s, %s: microseconds a run in a batch "
            "(%s)</text>\n",
            LEFT, kernel_family_name(row->family), text, device);
}

static void draw_axes(FILE *file, const struct panel *p)
{
    enum kernel_axis axis = kernel_family_axis(p->rows[p->first].family);
    fprintf(file, "<rect x='%d' y='%d' width='%d' height='%d' fill='none' stroke='#888'/>\n", LEFT,
            TOP, PLOT_W, PLOT_H);
    for (double us = p->least; us < p->most * 1.001; us *= 10) {
        fprintf(file,
                "<line x1='%d' x2='%d' y1='%.1f' y2='%.1f' stroke='#ccc'/><text x='%d' y='%.1f' "
                "text-anchor='end'>%g</text>\n",
                LEFT, LEFT + PLOT_W, y_of(p, us), y_of(p, us), LEFT - 6, y_of(p, us) + 4, us);
    }
    for (unsigned i = 0; i < p->n_keys; i++) {
        const char *unit = axis == KERNEL_AXIS_SIZE ? " MP" : "";
        fprintf(file, "<text x='%.1f' y='%d' text-anchor='middle'>%.3g%s</text>\n",
                x_of(p, p->keys[i]), TOP + PLOT_H + 18,
                axis == KERNEL_AXIS_SIZE ? 1e-6 * p->keys[i] : p->keys[i], unit);
    }
}

static void draw_variant(FILE *file, const struct panel *p, const struct kernel_variant *variant,
                         unsigned line)
{
    static const char *const dashes[] = {"none", "6 3", "2 2"};
    double hue = fmod(line * 47.0, 360);
    fprintf(file,
            "<polyline fill='none' stroke='hsl(%.0f,75%%,42%%)' stroke-width='1.6' "
            "stroke-dasharray='%s' points='",
            hue, dashes[line / 8 % 3]);
    for (size_t i = p->first; i < p->count; i++) {
        const struct kernel_row *row = &p->rows[i];
        if (in_panel(p, i) && row->variant == variant && row->result.batch > 0)
            fprintf(file, "%.1f,%.1f ", x_of(p, row_key(row)), y_of(p, 1e6 * row->result.batch));
    }
    fprintf(file, "'/>\n<text x='%d' y='%u' fill='hsl(%.0f,75%%,35%%)'>%s</text>\n", LEGEND,
            TOP + 10 + LINE * line, hue, kernel_variant_name(variant));
}

/* One bar a variant, beside its name. */
static void draw_bar(FILE *file, const struct panel *p, const struct kernel_variant *variant,
                     unsigned line)
{
    enum { VALUE_W = 60 };
    double hue = fmod(line * 47.0, 360), us = 0;
    unsigned y = TOP + LINE * line;
    for (size_t i = p->first; i < p->count; i++)
        us = in_panel(p, i) && p->rows[i].variant == variant ? 1e6 * p->rows[i].result.batch : us;
    double length = us / p->longest * (PLOT_W - VALUE_W);
    fprintf(file, "<rect x='%d' y='%u' width='%.1f' height='%d' fill='hsl(%.0f,75%%,42%%)'/>\n",
            LEFT, y, length, LINE - 3, hue);
    fprintf(file, "<text x='%.1f' y='%u'>%.3g</text>\n", LEFT + length + 4, y + LINE - 4, us);
    fprintf(file, "<text x='%d' y='%u'>%s</text>\n", LEGEND, y + LINE - 4,
            kernel_variant_name(variant));
}

static bool has_variant(const struct panel *p, const struct kernel_variant *variant)
{
    for (size_t i = p->first; i < p->count; i++)
        if (in_panel(p, i) && p->rows[i].variant == variant)
            return true;
    return false;
}

/* The legend may be longer than the axis. */
static unsigned height_of(const struct panel *p)
{
    const struct kernel_family *family = p->rows[p->first].family;
    unsigned lines = 0;
    for (uint32_t v = 0; v < kernel_variant_count(family); v++)
        lines += has_variant(p, kernel_variant(family, v));
    return TOP + 30 + LINE * lines > HEIGHT ? TOP + 30 + LINE * lines : HEIGHT;
}

static void draw_panel(FILE *file, struct panel *p, const char *device)
{
    const struct kernel_family *family = p->rows[p->first].family;
    unsigned line = 0;
    draw_title(file, p, device);
    if (p->n_keys > 1)
        draw_axes(file, p);
    for (uint32_t v = 0; v < kernel_variant_count(family); v++)
        if (has_variant(p, kernel_variant(family, v)))
            (p->n_keys > 1 ? draw_variant : draw_bar)(file, p, kernel_variant(family, v), line++);
}

static bool begins_panel(const struct kernel_row *rows, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (same_panel(&rows[k], &rows[i]))
            return false;
    return true;
}

void bench_plot(FILE *file, const char *device, const struct kernel_row *rows, size_t count)
{
    unsigned height = 0;
    for (size_t i = 0; i < count; i++) {
        height += begins_panel(rows, i)
                      ? height_of(&(struct panel){.rows = rows, .count = count, .first = i})
                      : 0;
    }
    fprintf(file,
            "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%u' "
            "font-family='sans-serif' font-size='11'>\n"
            "<rect width='100%%' height='100%%' fill='white'/>\n",
            WIDTH, height);
    height = 0;
    for (size_t i = 0; i < count; i++) {
        struct panel p = {.rows = rows, .count = count, .first = i};
        if (!begins_panel(rows, i))
            continue;
        panel_measure(&p);
        fprintf(file, "<g transform='translate(0,%u)'>\n", height);
        height += height_of(&p);
        if (p.n_keys)
            draw_panel(file, &p, device);
        fprintf(file, "</g>\n");
    }
    fprintf(file, "</svg>\n");
}
