/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Decodes a file with a session of the worker's engine, without daemon and protocol. Prints the MD5
 * of all frames, or writes the frames themselves.
 *
 *   session_decode [options] FILE
 *     -o FILE           writes the frames (tightly packed planes)
 *     --frames          one line per frame: sequence pts duration flags MD5 field order
 *     --pix-fmt F       the stream's own format, gray, nv12
 *     --fields          fields apart
 *     --second-view     the second view of Stereo High streams too
 *     --device D        auto gpu cpu NAME
 *     --threads N --lookahead N --batch N --depth N --shuffle SEED --delay SEED --wavefront N
 *     --entropy auto|cpu|gpu|both --entropy-memory KIB --cpu-motion
 *     --arena N         records in memory that the device fetches: 0 on hardware, 1 never, 2 always
 *     --transport T     shm none readback
 *     --policy P        lossless latest fifo
 *     --on-error N      0 show, 1 drop, 2 fail, 3 show all
 *     --loops N --ss US --t US --max N --resume SEQUENCE --realtime
 *     --sessions N      the same file so many times at once; all must give the same MD5
 *     --close-after N   closes the session after N frames
 *     --engines N       the engine shares its cores with 0 to N - 1 others, in turn, by frame
 *     --close-first     closes only the first of several sessions
 *     --fd              opens the file and passes the descriptor (- reads standard input)
 *     --hold            releases no frame before the end
 *     --probe --validate --stats
 *
 * Exit code: 0, or minus the session's failure code.
 */
#include "daemon/worker/session.h"
#include "tests/tools/crash.h"

#include <fcntl.h>
#include <getopt.h>
#include <libavutil/md5.h>
#include <libavutil/mem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct run {
    struct engine *engine;
    struct session *session;
    struct feed_format format;
    const uint8_t *memory;
    int memfd;
    struct AVMD5 *md5;
    uint64_t frames;
    char digest[33];
    int code;
    bool ended, closes; /* closes: after opt.close_after frames */
};

static struct {
    struct pelton_open_params open;
    struct gpu_params gpu;
    FILE *out;
    uint64_t close_after, resume;
    unsigned sessions, engines;
    bool lines, hold, probe, stats, use_fd, close_first;
} opt = {.sessions = 1};

static unsigned running;
static int worst;

static void on_info(void *ctx, const struct pelton_info *i, const struct pelton_probe_sei *sei)
{
    if (!opt.probe)
        return;
    printf("container %s codec %s profile %s level %d %ux%u (%ux%u) %s tb %d/%d rate %d/%d frames "
           "%lld duration_us %lld\n",
           i->container, i->codec, i->profile, i->level, i->width, i->height, i->coded_width,
           i->coded_height, i->pix_fmt, i->time_base.num, i->time_base.den, i->frame_rate.num,
           i->frame_rate.den, (long long)i->frames, (long long)i->duration_us);
    printf("supported %d%s%s%s%s\n", i->supported, i->supported ? "" : " ", i->unsupported_element,
           i->supported ? "" : ": ", i->unsupported_what);
}

static void unmap(struct run *r)
{
    if (r->memory)
        munmap((void *)r->memory, r->format.memfd_size);
    if (r->memfd >= 0)
        close(r->memfd);
    r->memory = NULL;
    r->memfd = -1;
}

static void on_format(void *ctx, const struct feed_format *f)
{
    struct run *r = ctx;
    unmap(r);
    r->format = *f;
    if (f->memfd < 0)
        return;
    r->memfd = dup(f->memfd);
    void *memory = mmap(NULL, f->memfd_size, PROT_READ, MAP_SHARED, r->memfd, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    r->memory = memory;
}

static void to_hex(struct AVMD5 *md5, char text[33])
{
    uint8_t sum[16];
    av_md5_final(md5, sum);
    for (int i = 0; i < 16; i++)
        sprintf(text + 2 * i, "%02x", sum[i]);
}

static void take_frame(struct run *r, const struct feed_frame *frame)
{
    const struct feed_format *f = &r->format;
    const uint8_t *base = r->memory + frame->slot * f->slot_size;
    struct AVMD5 *one = opt.lines ? av_md5_alloc() : NULL;
    if (one)
        av_md5_init(one);
    for (uint32_t p = 0; p < f->planes; p++)
        for (uint32_t y = 0; y < f->plane_height[p]; y++) {
            const uint8_t *row = base + f->plane_offset[p] + (size_t)y * f->stride[p];
            av_md5_update(r->md5, row, f->plane_width[p]);
            if (one)
                av_md5_update(one, row, f->plane_width[p]);
            if (opt.out)
                fwrite(row, 1, f->plane_width[p], opt.out);
        }
    if (one) {
        char text[33];
        to_hex(one, text);
        av_free(one);
        printf("%llu %lld %lld %u %s %d\n", (unsigned long long)frame->sequence,
               (long long)frame->pts, (long long)frame->duration, frame->flags, text,
               (int)frame->field_order);
    }
}

static void on_frame(void *ctx, const struct feed_frame *frame)
{
    struct run *r = ctx;
    if (frame->epoch != r->format.epoch) {
        fprintf(stderr, "frame of epoch %u in epoch %u\n", frame->epoch, r->format.epoch);
        exit(1);
    }
    take_frame(r, frame);
    r->frames++;
    if (opt.engines)
        engine_share_cores(r->engine, 1 + (unsigned)(r->frames % opt.engines));
    if (!opt.hold)
        session_release(r->session, frame->epoch, frame->slot, frame->generation);
    if (r->closes && r->frames == opt.close_after)
        session_close(r->session);
}

static void print_stats(const struct pelton_stats *s)
{
    double n = s->frames ? 1e3 / (double)s->frames : 0;
    fprintf(stderr,
            "frames %llu corrupt %llu dropped %llu wall %.3f s (%.1f fps) host %.1f MB gpu %.1f MB "
            "in %llu B\n"
            "ms per frame: demux+headers %.3f entropy %.3f motion %.3f submit %.3f | gpu upload "
            "%.3f classify %.3f residual %.3f "
            "inter %.3f intra %.3f deblock %.3f deliver %.3f entropy %.3f of %llu pictures\n",
            (unsigned long long)s->frames, (unsigned long long)s->corrupt,
            (unsigned long long)s->dropped, s->wall, (double)s->frames / s->wall,
            1e-6 * (double)s->memory_host, 1e-6 * (double)s->memory_gpu,
            (unsigned long long)s->bytes_in, n * s->cpu_demux, n * s->cpu_entropy,
            n * s->cpu_motion, n * s->cpu_submit, n * s->gpu_upload, n * s->gpu_classify,
            n * s->gpu_residual, n * s->gpu_inter, n * s->gpu_intra, n * s->gpu_deblock,
            n * s->gpu_deliver, n * s->gpu_entropy, (unsigned long long)s->gpu_entropy_pictures);
}

static void on_end(void *ctx, const struct pelton_failure *failure,
                   const struct pelton_stats *stats)
{
    struct run *r = ctx;
    to_hex(r->md5, r->digest);
    printf("%s %llu\n", r->digest, (unsigned long long)stats->frames);
    if (failure->code)
        fprintf(stderr, "error %d: %s\nhint: %s\n", failure->code, failure->cause, failure->hint);
    if (opt.stats)
        print_stats(stats);
    if (-failure->code > worst)
        worst = -failure->code;
    unmap(r);
    r->ended = true;
    if (--running == 0)
        engine_close(r->engine, NULL, NULL);
}

static void log_line(void *ctx, int level, const char *line)
{
    if (level <= 1 + opt.stats)
        fprintf(stderr, "%s\n", line);
}

static int choice(const char *text, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(text, names[i]))
            return i;
    fprintf(stderr, "%s: not known\n", text);
    exit(2);
}

enum {
    O_DEVICE = 256,
    O_THREADS,
    O_LOOKAHEAD,
    O_BATCH,
    O_DEPTH,
    O_SHUFFLE,
    O_DELAY,
    O_WAVEFRONT,
    O_TRANSPORT,
    O_POLICY,
    O_ON_ERROR,
    O_LOOPS,
    O_SS,
    O_T,
    O_MAX,
    O_RESUME,
    O_REALTIME,
    O_SESSIONS,
    O_CLOSE,
    O_CLOSE_FIRST,
    O_FD,
    O_HOLD,
    O_PROBE,
    O_VALIDATE,
    O_STATS,
    O_FRAMES,
    O_FIELDS,
    O_VIEWS,
    O_PIX_FMT,
    O_ENTROPY,
    O_ENTROPY_MEMORY,
    O_CPU_MOTION,
    O_ARENA,
    O_ENGINES
};

static const struct option options[] = {{"device", 1, NULL, O_DEVICE},
                                        {"threads", 1, NULL, O_THREADS},
                                        {"lookahead", 1, NULL, O_LOOKAHEAD},
                                        {"batch", 1, NULL, O_BATCH},
                                        {"depth", 1, NULL, O_DEPTH},
                                        {"shuffle", 1, NULL, O_SHUFFLE},
                                        {"delay", 1, NULL, O_DELAY},
                                        {"wavefront", 1, NULL, O_WAVEFRONT},
                                        {"transport", 1, NULL, O_TRANSPORT},
                                        {"policy", 1, NULL, O_POLICY},
                                        {"on-error", 1, NULL, O_ON_ERROR},
                                        {"loops", 1, NULL, O_LOOPS},
                                        {"ss", 1, NULL, O_SS},
                                        {"t", 1, NULL, O_T},
                                        {"max", 1, NULL, O_MAX},
                                        {"resume", 1, NULL, O_RESUME},
                                        {"realtime", 0, NULL, O_REALTIME},
                                        {"sessions", 1, NULL, O_SESSIONS},
                                        {"close-after", 1, NULL, O_CLOSE},
                                        {"fd", 0, NULL, O_FD},
                                        {"hold", 0, NULL, O_HOLD},
                                        {"probe", 0, NULL, O_PROBE},
                                        {"validate", 0, NULL, O_VALIDATE},
                                        {"stats", 0, NULL, O_STATS},
                                        {"frames", 0, NULL, O_FRAMES},
                                        {"fields", 0, NULL, O_FIELDS},
                                        {"second-view", 0, NULL, O_VIEWS},
                                        {"pix-fmt", 1, NULL, O_PIX_FMT},
                                        {"entropy", 1, NULL, O_ENTROPY},
                                        {"close-first", 0, NULL, O_CLOSE_FIRST},
                                        {"entropy-memory", 1, NULL, O_ENTROPY_MEMORY},
                                        {"cpu-motion", 0, NULL, O_CPU_MOTION},
                                        {"arena", 1, NULL, O_ARENA},
                                        {"engines", 1, NULL, O_ENGINES},
                                        {NULL, 0, NULL, 0}};

static void set_option(int c, struct engine_params *e)
{
    static const char *const transports[] = {"shm", "none", "readback", NULL},
                             *const policies[] = {"lossless", "latest", "fifo", NULL},
                             *const decoders[] = {"auto", "cpu", "gpu", "both", NULL};
    long long n = optarg ? strtoll(optarg, NULL, 0) : 0;
    switch (c) {
    case O_DEVICE:
        opt.gpu.device = optarg;
        break;
    case O_THREADS:
        e->threads = (unsigned)n;
        break;
    case O_ENGINES:
        opt.engines = (unsigned)n;
        break;
    case O_LOOKAHEAD:
        e->lookahead = (unsigned)n;
        break;
    case O_BATCH:
        e->batch = (unsigned)n;
        break;
    case O_SHUFFLE:
        e->shuffle_seed = (uint64_t)n;
        break;
    case O_DELAY:
        e->delay_seed = (uint64_t)n;
        break;
    case O_WAVEFRONT:
        e->wavefront = (uint8_t)n;
        break;
    case O_VALIDATE:
        opt.gpu.validation = true;
        break;
    case O_DEPTH:
        opt.open.depth = (uint32_t)n;
        break;
    case O_TRANSPORT:
        opt.open.bench.transport = (enum pelton_transport)choice(optarg, transports);
        break;
    case O_POLICY:
        opt.open.policy = (enum pelton_policy)choice(optarg, policies);
        break;
    case O_ON_ERROR:
        opt.open.on_error = (enum pelton_on_error)n;
        break;
    case O_LOOPS:
        opt.open.loop = true;
        opt.open.loops = (uint32_t)n;
        break;
    case O_SS:
        opt.open.start_us = n;
        break;
    case O_T:
        opt.open.duration_us = n;
        break;
    case O_MAX:
        opt.open.max_frames = (uint64_t)n;
        break;
    case O_REALTIME:
        opt.open.realtime = true;
        break;
    case O_RESUME:
        opt.resume = (uint64_t)n;
        break;
    case O_SESSIONS:
        opt.sessions = (unsigned)n;
        break;
    case O_CLOSE:
        opt.close_after = (uint64_t)n;
        break;
    case O_CLOSE_FIRST:
        opt.close_first = true;
        break;
    case O_FD:
        opt.use_fd = true;
        break;
    case O_HOLD:
        opt.hold = true;
        break;
    case O_PROBE:
        opt.probe = true;
        break;
    case O_STATS:
        opt.stats = true;
        break;
    case O_FRAMES:
        opt.lines = true;
        break;
    case O_FIELDS:
        opt.open.fields = true;
        break;
    case O_VIEWS:
        opt.open.views = PELTON_VIEWS_BOTH;
        break;
    case O_ENTROPY:
        e->entropy = (enum engine_entropy)choice(optarg, decoders);
        break;
    case O_CPU_MOTION:
        e->gpu_motion = false;
        break;
    case O_ENTROPY_MEMORY:
        e->entropy_memory = (uint64_t)n << 10;
        break;
    case O_ARENA:
        e->arena = (uint8_t)n;
        break;
    case O_PIX_FMT:
        opt.open.pix_fmt = optarg;
        break;
    case 'o':
        opt.out = fopen(optarg, "wb");
        break;
    default:
        exit(2);
    }
}

static void start(struct run *r, struct engine *e, const char *file)
{
    static const struct feed_callbacks callbacks = {
        .on_info = on_info, .on_format = on_format, .on_frame = on_frame, .on_end = on_end};
    struct pelton_open_params p = opt.open;
    r->engine = e;
    r->memfd = -1;
    r->md5 = av_md5_alloc();
    av_md5_init(r->md5);
    p.name = file;
    p.uri = opt.use_fd ? NULL : file;
    p.fd = !opt.use_fd ? -1 : !strcmp(file, "-") ? dup(0) : open(file, O_RDONLY | O_CLOEXEC);
    struct session_extra extra = {.resume_sequence = opt.resume, .probe_only = opt.probe};
    int err = session_open(e, &p, &extra, &callbacks, r, &r->session);
    if (err) {
        fprintf(stderr, "session_open: %d\n", err);
        exit(1);
    }
    running++;
}

int main(int argc, char **argv)
{
    struct engine_params params = {
        .timestamps = true, .gpu_motion = true, .live_clocks = true, .tune = true, .log = log_line};
    struct engine *e;
    uv_loop_t loop;
    crash_trace_enable();
    opt.open.start_us = opt.open.duration_us = -1;
    opt.gpu = (struct gpu_params){.device = "cpu", .timestamps = true, .log = log_line};
    for (int c; (c = getopt_long(argc, argv, "o:", options, NULL)) >= 0;)
        set_option(c, &params);
    if (optind + 1 != argc) {
        fprintf(stderr, "usage: session_decode [options] FILE\n");
        return 2;
    }
    struct run *runs = calloc(opt.sessions, sizeof(*runs));
    if (!runs || uv_loop_init(&loop)) {
        fprintf(stderr, "no memory or descriptors to start\n");
        free(runs);
        return -PELTON_ERR_NOMEM;
    }
    int err = gpu_open(&opt.gpu, &params.gpu);
    if (err) {
        fprintf(stderr, "gpu_open: %d\n", err);
        free(runs);
        return err == GPU_ERR_NOMEM ? -PELTON_ERR_NOMEM : -PELTON_ERR_NO_DEVICE;
    }
    err = engine_create(&loop, &params, &e);
    if (err) {
        fprintf(stderr, "engine_create: %d\n", err);
        free(runs);
        return -err;
    }
    for (unsigned i = 0; i < opt.sessions; i++) {
        runs[i].closes = opt.close_after && (i == 0 || !opt.close_first);
        start(&runs[i], e, argv[optind]);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop))
        fprintf(stderr, "handles are left in the loop\n"), worst = 1;
    for (unsigned i = 0; i < opt.sessions; i++) {
        const struct run *other = &runs[opt.sessions - 1];
        if (!runs[i].ended || (!runs[i].closes && strcmp(runs[i].digest, other->digest)))
            fprintf(stderr, "session %u: other frames than session %u\n", i, opt.sessions - 1),
                worst = 10;
        av_free(runs[i].md5);
    }
    free(runs);
    gpu_close(params.gpu);
    if (opt.out && fclose(opt.out))
        worst = 1;
    return worst;
}
