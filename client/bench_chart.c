/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The frames per second of a run and its peers, as a bar chart in SVG.
 */
#include "client/bench_model.h"

#include <errno.h>
#include <stdio.h>

enum { ROW = 30, LEFT = 220, WIDTH = 760, BAR = 420, TOP = 56 };

static void text(FILE *file, const char *s)
{
    for (; *s; s++)
        if (*s == '&' || *s == '<' || *s == '>')
            fprintf(file, "&#%d;", *s);
        else
            fputc(*s, file);
}

static void bar(FILE *file, int row, const char *name, double fps, double most, bool ours)
{
    int y = TOP + row * ROW;
    double width = most > 0 ? fps / most * BAR : 0;
    fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 10, y + 17);
    text(file, name);
    fprintf(file, "</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>", LEFT,
            y + 3, width, ROW - 8, ours ? "#2b6cb0" : "#a0aec0");
    fprintf(file, "<text x=\"%.1f\" y=\"%d\">%.0f</text>\n", LEFT + width + 8, y + 17, fps);
}

int bench_chart(const struct bench *b, const char *path, struct failure *f)
{
    static const char *const names[BENCH_MODES] = {"pelton, left on the GPU", "pelton, read back",
                                                   "pelton, delivered"};
    double most = 0;
    int rows = 0;
    FILE *file = fopen(path, "we");
    if (!file)
        return fail_errno(f, X_OTHER, errno, path);
    for (int m = 0; m < BENCH_MODES; m++) {
        most = b->runs[m].measured && b->runs[m].fps > most ? b->runs[m].fps : most;
        rows += b->runs[m].measured;
    }
    for (unsigned i = 0; i < b->n_peers; i++) {
        most = !b->peers[i].why[0] && b->peers[i].fps > most ? b->peers[i].fps : most;
        rows += !b->peers[i].why[0];
    }
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n",
            WIDTH, TOP + rows * ROW + 30);
    fprintf(file,
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"12\" y=\"22\" "
            "font-size=\"15\">%ux%u, %u stream%s, frames per second: ",
            b->info.width, b->info.height, b->o->bench.streams * b->o->n_inputs,
            b->o->bench.streams * b->o->n_inputs == 1 ? "" : "s");
    text(file, b->device_known ? b->device.name : "");
    fputs("</text>\n<text x=\"12\" y=\"42\" fill=\"#718096\" font-size=\"11\">", file);
    text(file, b->command_line);
    fputs("</text>\n", file);
    int row = 0;
    for (int m = 0; m < BENCH_MODES; m++)
        if (b->runs[m].measured)
            bar(file, row++, names[m], b->runs[m].fps, most, true);
    for (unsigned i = 0; i < b->n_peers; i++)
        if (!b->peers[i].why[0])
            bar(file, row++, b->peers[i].name, b->peers[i].fps, most, false);
    fputs("</svg>\n", file);
    return fclose(file) ? fail_errno(f, X_OTHER, errno, path) : 0;
}
