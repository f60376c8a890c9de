/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The early look at outputs. Opening a device takes seconds; a wrong path is told before.
 */
#include "client/output_check.h"
#include "client/output_image.h"
#include "client/ui.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_PATH = 4096 };

/* The folder of a path that does not exist yet. */
static int check_folder(const char *path, struct failure *f)
{
    char folder[LONGEST_PATH], hint[200];
    struct stat st;
    if (!path[0] || strlen(path) >= sizeof(folder))
        return fail_errno(f, X_USAGE, path[0] ? ENAMETOOLONG : ENOENT, path[0] ? path : "\"\"");
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (slash == folder)
        slash++;
    strcpy(slash ? slash : folder, slash ? "" : ".");
    if (stat(folder, &st) < 0) {
        if (errno != ENOENT)
            return fail_errno(f, X_USAGE, errno, path);
        snprintf(hint, sizeof(hint), "create it: mkdir -p %.170s", folder);
        return fail_with(f, X_USAGE, hint, "%s: there is no folder %s", path, folder);
    }
    if (!S_ISDIR(st.st_mode))
        return fail_errno(f, X_USAGE, ENOTDIR, path);
    return access(folder, W_OK | X_OK) < 0 ? fail_errno(f, X_USAGE, errno, path) : 0;
}

bool output_is_file(const struct stat *file, const char *path)
{
    struct stat other;
    return stat(path, &other) == 0 && S_ISREG(other.st_mode) && file->st_dev == other.st_dev &&
           file->st_ino == other.st_ino;
}

bool output_is_special(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
           !S_ISDIR(st.st_mode);
}

int output_check_path(const char *path, enum overwrite *overwrite, struct failure *f)
{
    struct stat st;
    if (!strcmp(path, "-"))
        return 0;
    if (stat(path, &st) < 0)
        return errno == ENOENT ? check_folder(path, f) : fail_errno(f, X_USAGE, errno, path);
    if (S_ISDIR(st.st_mode))
        return fail_with(f, X_USAGE, "name a file in it", "%s: is a directory", path);
    if (access(path, W_OK) < 0)
        return fail_errno(f, X_USAGE, errno, path);
    if (!S_ISREG(st.st_mode) || *overwrite == OVERWRITE_YES)
        return 0;
    if (*overwrite == OVERWRITE_NO || !ui_ask_overwrite(path))
        return fail_with(f, X_OTHER, "-y overwrites it", "%s: the file exists", path);
    *overwrite = OVERWRITE_YES;
    return 0;
}

int output_check(const struct output_format *format, const char *path, bool single,
                 enum overwrite *overwrite, struct failure *f)
{
    char first[LONGEST_PATH];
    if (format->kind == OUTPUT_NULL)
        return 0;
    if (!strcmp(path, "-") && !format->text && isatty(STDOUT_FILENO)) {
        return fail_with(f, X_USAGE, "-o FILE writes a file, | ffplay - shows the frames",
                         "standard output is a terminal, and %s is no text", format->name);
    }
    if (format->kind != OUTPUT_IMAGES)
        return output_check_path(path, overwrite, f);
    int rc = output_images_name(path, single, 1, first, sizeof(first), f);
    return rc ? rc : output_check_path(first, overwrite, f);
}
