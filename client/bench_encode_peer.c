/* SPDX-License-Identifier: BSD-2-Clause
 *
 * x264 by the ffmpeg program, on the frames that the device encoded, at as many bits a picture. One
 * process with one thread runs for each CPU. The frames are a file in memory, so no process
 * decodes.
 */
#include "client/bench_child.h"
#include "client/bench_encode.h"
#include "client/ui.h"
#include "daemon/worker/memory/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAME_RATE = 25, LEAST_PICTURES = 250 /* of a process */, MOST_CPUS = 256 };

static unsigned cpus(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    unsigned all = machine_cpus("", (unsigned)n);
    return all < 1 ? 1 : all > MOST_CPUS ? MOST_CPUS : all;
}

/* The first input's frames there and back in yuv4mpegpipe. -1: no memory */
static int frames_file(const struct encode_clip *clip)
{
    int fd = memfd_create("frames", MFD_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "wb");
    bool good = out && fprintf(out, "YUV4MPEG2 W%u H%u F%d:1 Ip A1:1 C420jpeg\n", clip->width,
                               clip->height, FRAME_RATE) > 0;
    for (uint32_t i = 0; good && i < 2 * clip->count - 2; i++) {
        struct decider_source s = encode_clip_source(clip, i);
        size_t luma = (size_t)clip->width * clip->height,
               chroma = s.stride[1] * ((clip->height + 1) / 2);
        good = fputs("FRAME\n", out) >= 0 && fwrite(s.plane[0], 1, luma, out) == luma &&
               fwrite(s.plane[1], 1, 2 * chroma, out) == 2 * chroma;
    }
    good = (out && fclose(out) == 0) && good;
    if (good)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* frame=N and total_size=N of ffmpeg -progress; the last ones count. */
static void progress_read(FILE *file, uint64_t *frames, uint64_t *bytes)
{
    char line[256];
    uint64_t n = 0, size = 0;
    while (fgets(line, sizeof(line), file)) {
        if (!strncmp(line, "frame=", 6))
            n = strtoull(line + 6, NULL, 10);
        if (!strncmp(line, "total_size=", 11))
            size = strtoull(line + 11, NULL, 10);
    }
    *frames += n;
    *bytes += size;
}

static void peer_describe(struct bench_peer *peer, const char *const *argv)
{
    for (unsigned i = 0; argv[i]; i++) {
        size_t at = strlen(peer->command);
        snprintf(peer->command + at, sizeof(peer->command) - at, "%s%s", i ? " " : "", argv[i]);
    }
}

static void peer_run(struct bench_encode *b, const char *const *argv, unsigned processes)
{
    struct bench_peer *peer = &b->peer;
    struct child children[MOST_CPUS];
    unsigned started = 0;
    uint64_t bytes = 0;
    int64_t begun = now_ns();
    bool failed = false;
    while (started < processes && child_start(argv, &children[started]))
        started++;
    failed = started < processes;
    for (unsigned i = 0; i < started; i++) {
        if (!failed)
            progress_read(children[i].out, &peer->frames, &bytes);
        failed |= child_wait(&children[i], failed) != 0;
    }
    peer->seconds = (double)(now_ns() - begun) * 1e-9;
    if (failed || !peer->frames) {
        snprintf(peer->why, sizeof(peer->why),
                 started < processes ? "%s cannot be started" : "%s failed: has it libx264?",
                 argv[0]);
        return;
    }
    peer->fps = (double)peer->frames / peer->seconds;
    b->peer_bits = 8 * (double)bytes / (double)peer->frames;
}

void encode_against_ffmpeg(struct bench_encode *b)
{
    const struct encode_clip *clip = &b->clips[0];
    unsigned processes = cpus();
    char input[64], loops[24], rate[24];
    int fd = frames_file(clip);
    snprintf(b->peer.name, sizeof(b->peer.name), "x264 superfast, %u process%s", processes,
             processes == 1 ? "" : "es");
    if (fd < 0) {
        snprintf(b->peer.why, sizeof(b->peer.why), "no memory for its frames");
        return;
    }
    snprintf(input, sizeof(input), "/proc/%d/fd/%d", (int)getpid(), fd);
    snprintf(loops, sizeof(loops), "%u", LEAST_PICTURES / (2 * clip->count - 2));
    snprintf(rate, sizeof(rate), "%.0f", encode_picture_bits(b) * FRAME_RATE);
    const char *const argv[] = {b->o->bench.ffmpeg ? b->o->bench.ffmpeg : "ffmpeg",
                                "-v",
                                "error",
                                "-nostdin",
                                "-stream_loop",
                                loops,
                                "-f",
                                "yuv4mpegpipe",
                                "-i",
                                input,
                                "-c:v",
                                "libx264",
                                "-preset",
                                "superfast",
                                "-bf",
                                "0",
                                "-threads",
                                "1",
                                "-b:v",
                                rate,
                                "-stats_period",
                                "3600",
                                "-progress",
                                "-",
                                "-f",
                                "h264",
                                "-y",
                                "/dev/null",
                                NULL};
    peer_describe(&b->peer, argv);
    peer_run(b, argv, processes);
    close(fd);
}
