/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pelton pipe, snapshot, view: frames of a named source, or of a camera by its address.
 *
 * They are the decode command with a live source's habits: the newest frame, for as long as the
 * source lasts. The failure modes are those of the daemon, and for view a missing ffplay.
 */
#include "client/commands.h"
#include "client/input.h"
#include "client/output_image.h"
#include "client/ui.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Files can wait for their reader. */
static bool is_live(const char *name)
{
    return strncmp(name, "source:", 7) == 0 ||
           (strstr(name, "://") && strncmp(name, "file://", 7) != 0);
}

static int frames_of(struct client_options *o, const char *format, struct failure *f)
{
    char name[512]; /* valid until the decode command returns */
    int rc = input_resolve_name(o, name, sizeof(name), f);
    if (rc)
        return rc;
    o->n_inputs = 1;
    o->write.format = o->write.format || o->write.path ? o->write.format : format;
    o->write.path = o->write.path ? o->write.path : "-";
    if (!o->read.policy_given)
        o->read.policy = is_live(o->inputs[0]) ? PELTON_LATEST : PELTON_LOSSLESS;
    return cmd_decode(o, f);
}

/* Units wait for a key picture's reader, and drops go on at the next one. */
static int units_of(struct client_options *o, struct failure *f)
{
    char name[512];
    int rc = input_resolve_name(o, name, sizeof(name), f);
    if (rc)
        return rc;
    o->write.path = o->write.path ? o->write.path : "-";
    o->write.format = o->write.format || strcmp(o->write.path, "-") ? o->write.format : "h264";
    if (!o->read.policy_given)
        o->read.policy = is_live(o->inputs[0]) ? PELTON_LATEST : PELTON_LOSSLESS;
    bool files = strcmp(o->write.path, "-") != 0 && !strstr(o->write.path, "://");
    if (!files && !strcmp(o->write.path, "-") && isatty(STDOUT_FILENO))
        return fail_with(f, X_USAGE, "-o FILE writes a file, | ffplay - shows the pictures",
                         "standard output is a terminal, and encoded video is no text");
    return record_units(o, files, f);
}

/* Frames as JPEG files, one after the other or each by itself */
static int files_of(struct client_options *o, struct failure *f)
{
    const struct output_format *format = NULL;
    const char *path = o->write.path ? o->write.path : "-", *name = o->write.format;
    if (!name && !strcmp(path, "-"))
        name = "mjpeg";
    struct failure unknown = {0};
    int rc = output_format_choose(name, path, &format, &unknown);
    if (rc || format->kind != OUTPUT_IMAGES || !output_images_jpeg(format, path))
        return fail_with(f, X_USAGE, "as in: pelton pipe front -c:v mjpeg -f mjpeg - | ffplay -",
                         "-c:v mjpeg: %s holds no JPEG files", name ? name : path);
    o->write.format = name;
    return frames_of(o, name, f);
}

int cmd_pipe(struct client_options *o, struct failure *f)
{
    int rc = options_check_encoding(o, f);
    if (!rc && o->write.jpeg)
        return files_of(o, f);
    if (rc || record_wanted(o))
        return rc ? rc : units_of(o, f);
    return frames_of(o, "yuv4mpegpipe", f);
}

int cmd_snapshot(struct client_options *o, struct failure *f)
{
    if (!o->write.path) {
        return fail_with(f, X_USAGE, "as in: pelton snapshot front -o now.png",
                         "no output: -o is missing");
    }
    o->read.max_frames = 1;
    o->read.not_before_ns = o->camera.after_now ? now_ns() : 0;
    return frames_of(o, "image2", f);
}

/* Without a display ffplay runs on and shows nothing. */
static bool has_display(void)
{
    return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || getenv("SDL_VIDEODRIVER");
}

int cmd_view(struct client_options *o, struct failure *f)
{
    if (!has_display()) {
        return fail_with(f, X_OTHER,
                         "pelton snapshot NAME -o now.png writes a picture, pelton pipe NAME all "
                         "of them; on a console: SDL_VIDEODRIVER=kmsdrm",
                         "no display: DISPLAY and WAYLAND_DISPLAY are not set");
    }
    char *const argv[] = {"ffplay",   "-hide_banner", "-loglevel",    "error", "-fflags",
                          "nobuffer", "-f",           "yuv4mpegpipe", "-",     NULL};
    posix_spawn_file_actions_t actions;
    int pipe_fds[2], error;
    pid_t child;
    if (pipe(pipe_fds) < 0)
        return fail_errno(f, X_OTHER, errno, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[0], STDIN_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe_fds[1]);
    error = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[0]);
    if (error) {
        close(pipe_fds[1]);
        return fail_with(f, X_OTHER, "install ffmpeg, or: pelton pipe NAME | another viewer",
                         "ffplay: %s", strerror(error));
    }
    dup2(pipe_fds[1], STDOUT_FILENO); /* the frames' way out */
    close(pipe_fds[1]);
    o->write.path = "-";
    o->write.format = "yuv4mpegpipe";
    int rc = frames_of(o, o->write.format, f);
    close(STDOUT_FILENO);
    waitpid(child, NULL, 0);
    if (rc == X_SIGPIPE) { /* the window was closed */
        *f = (struct failure){0};
        rc = X_SUCCESS;
    }
    return rc;
}
