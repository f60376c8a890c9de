/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedule in simulated time: who entropy-decodes, and how fast all are together.
 *
 * The schedule is the real one. Streams, coders, the GPU and reconstruction are models of a few
 * numbers each (struct machine), measured on one H200 with 16 cores. So settings can be compared
 * without a GPU. Absolute figures are about a tenth too high.
 *
 * split_times [-c crf23|20m] [-s STREAMS] [-i IDLE STREAMS] [-t SECONDS] [-m NAME=NUMBER]..
 *             [debug.split]..
 * prints a line for each debug.split. split_times check: the presets against others.
 */
#include "clip_sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct machine machine = {.cpu = {139, 114, 139},
                          .gpu = 1.06e3,
                          .gpu_most = 1250,
                          .gpu_part = 0.52,
                          .gpu_slow = 0.4,
                          .share = 0.5,
                          .recon = 0.3e-3,
                          .recon_one = 0.1e-3,
                          .beside = 0.31,
                          .motion = 1.1e-3,
                          .parse = 0.05e-3,
                          .device = 70000,
                          .host = 16384};
struct sim sim;
static uint32_t idle; /* streams that are open and do nothing */

struct clip {
    const char *kinds;
    const uint32_t *bytes;
};
static const struct clip crf23 = {crf23_kinds, crf23_bytes}, m20 = {m20_kinds, m20_bytes};

/* ---- runs ---- */

static void set_setting(void)
{
    sim.sps = (struct h264_sps){.mb_width = 120,
                                .mb_height = 68,
                                .chroma_format_idc = 1,
                                .max_dpb_frames = 4,
                                .bit_depth = {8, 8},
                                .frame_mbs_only_flag = 1};
    sim.s.setting = (struct schedule_setting){
        .coders = CODERS,
        .window_budget = (uint64_t)(machine.host * (1 << 20)) / MEMORY_WINDOW_PART,
        .discrete = true,
        .device_memory = (uint64_t)(machine.device * (1 << 20)) * MEMORY_DEVICE_PART,
        .image_layers = 2048};
}

static bool open_streams(uint32_t streams)
{
    for (uint32_t i = 0; i < idle; i++)
        window_open(&sim.idle[i], &sim.s);
    struct slots_key key = slots_key_of(&sim.sps);
    sim.streams_used = streams;
    for (uint32_t i = 0; i < streams; i++) {
        window_open(&sim.streams[i].w, &sim.s);
        sim.streams[i].w.picture_bytes = window_picture_bytes(&sim.sps, MBS);
        sim.streams[i].w.has_pool = true;
    }
    struct slots_wish wish = slots_wish_of(&sim.streams[0].w, &sim.sps);
    if (!slots_init(&sim.slots, &sim.s, &key, slots_for(&sim.s, &wish)))
        return false;
    slots_add(&sim.s, &sim.slots);
    return true;
}

static bool sim_begin(const struct clip *clip, uint32_t streams, const char *tuning)
{
    struct sim_picture *all = sim.all;
    memset(&sim, 0, sizeof(sim));
    sim.all = all;
    sim.kinds = clip->kinds;
    sim.bytes = clip->bytes;
    set_setting();
    if (!split_tuning_parse(tuning, &sim.s.setting.tuning))
        return false;
    sim.capacity = split_capacity_of(&sim.s.setting, true);
    sim.s.split.present = true;
    sim.s.split.depth = sim.capacity.batches * sim.capacity.pictures;
    sim.s.split.motion_mbs = MBS;
    for (uint32_t i = 0; i < PICTURES; i++) {
        sim.all[i].next = sim.spare;
        sim.spare = &sim.all[i];
    }
    return open_streams(streams);
}

static void sim_print(const char *tuning, double fps, double span, double steps)
{
    double n = sim.sum.batches ? (double)sim.sum.batches : 1, looks = 1e-2 * (double)sim.sum.looks;
    double frames = (double)sim.sum.frames, pictures = (double)sim.sum.gpu_pictures;
    printf("%-40s %6.0f fps, GPU %2.0f %% of bytes, %2.0f %% of pictures; coders %3.0f %%, ",
           tuning[0] ? tuning : "-", fps, 100.0 * (double)sim.sum.gpu_bytes / (double)sim.sum.bytes,
           100 * pictures / frames, 100 * sim.sum.coders / span / CODERS);
    printf("%.2f batches of %3.0f, %3.0f ms, late %4.1f %%; full %2.0f %%, too soon %2.0f %%; ",
           sim.sum.busy / steps, pictures / n, 1e3 * sim.sum.batch_s / n,
           100.0 * (double)sim.sum.late / (pictures + 1), sim.sum.full / looks,
           sim.sum.far / looks);
    double submitted = (double)sim.sum.submitted + 1;
    printf("reconstruction %3.0f %%, width %4.1f, ready %4.0f, %3.0f wait for none, results %.0f "
           "MiB; ",
           100 * sim.sum.recon / steps, frames / submitted, sim.sum.ready / steps,
           (double)sim.sum.open / submitted, sim.sum.resident / steps / (1 << 20));
    printf("free slots %.0f, none for the next %.0f %%\n", (double)sim.sum.free_slots / submitted,
           100 * (double)sim.sum.short_of_slots / submitted);
}

/* The second half is measured. Frames a second; negative: the tuning is none. */
static double sim_run(const struct clip *clip, uint32_t streams, double seconds, const char *tuning)
{
    uint64_t steps = (uint64_t)(seconds * 1e9 / STEP_NS);
    if (!sim_begin(clip, streams, tuning))
        return -1;
    for (uint64_t i = 0; i < steps; i++) {
        if (i == steps / 2)
            memset(&sim.sum, 0, sizeof(sim.sum));
        sim.now_s = 1e-9 * STEP_NS * (double)i;
        sources_step();
        coders_step();
        entropy_step(i % LOOKS == 0);
        motion_step();
        recon_step();
    }
    double fps = 2 * (double)sim.sum.frames / seconds;
    sim_print(tuning, fps, seconds / 2, (double)(steps - steps / 2));
    slots_free(&sim.slots);
    return fps;
}

/* ---- checks ---- */

#define CHECK_SECONDS 6 /* of the shortest run */
#define CHECK_RUNS    3 /* one differs from another by 4 % */
/* Batches of 192 slices of like size, and coders that stay close to reconstruction */
#define ALIKE "choice=1,ahead=12,pictures=192,batches=4"

/* The presets against others: at least so many times as fast. */
static const struct check {
    const struct clip *clip;
    uint32_t streams;
    double device, host; /* MiB; 0: plenty */
    const char *other;
    double least;
} checks[] = {
    {&crf23, 16, 0, 0, ALIKE, 1.08},
    {&crf23, 1, 0, 0, ALIKE ",alone=3,halves_alone=3", 1.06},
    {&m20, 16, 0, 0, ALIKE, 1.15},
    {&m20, 1, 0, 0, ALIKE ",alone=3,halves_alone=3", 1.2},
    /* the GPU is in time although its batches are narrow */
    {&crf23, 1, 1536, 1024, "wait=1,halves_alone=4", 1.03},
    /* and they have enough memory */
    {&crf23, 1, 1536, 1024, "kept=3,part=6", 1.06},
    {&crf23, 16, 1024, 1024, "kept=3,part=6", 1.05},
};

/* The mean of runs of different lengths: each ends elsewhere. */
static double check_run(const struct clip *clip, uint32_t streams, const char *tuning)
{
    double sum = 0;
    for (int i = 1; i <= CHECK_RUNS; i++) {
        double fps = sim_run(clip, streams, i * CHECK_SECONDS, tuning);
        if (fps < 0)
            return fps;
        sum += fps;
    }
    return sum / CHECK_RUNS;
}

/* They cost the others nothing. */
static bool check_idle(void)
{
    idle = 0;
    double none = check_run(&crf23, 4, "");
    idle = IDLE;
    double many = check_run(&crf23, 4, "");
    bool good = many >= 0.99 * none;
    printf("%s: %.2f times as fast with %u idle streams, at least 0.99\n", good ? "ok" : "FAILED",
           many / none, idle);
    idle = 0;
    return good;
}

static int check_all(void)
{
    int failed = !check_idle();
    const struct machine plenty = machine;
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
        const struct check *c = &checks[i];
        machine = plenty;
        machine.device = c->device > 0 ? c->device : plenty.device;
        machine.host = c->host > 0 ? c->host : plenty.host;
        double preset = check_run(c->clip, c->streams, "");
        double other = check_run(c->clip, c->streams, c->other);
        bool good = other > 0 && preset >= c->least * other;
        printf("%s: %.2f times as fast, at least %.2f\n", good ? "ok" : "FAILED", preset / other,
               c->least);
        failed += !good;
    }
    return failed;
}

/* ---- the command line ---- */

static double *machine_number(const char *name)
{
    static const struct {
        const char *name;
        double *number;
    } numbers[] = {
        {"i", &machine.cpu[0]},      {"p", &machine.cpu[1]},      {"b", &machine.cpu[2]},
        {"gpu", &machine.gpu},       {"most", &machine.gpu_most}, {"part", &machine.gpu_part},
        {"recon", &machine.recon},   {"one", &machine.recon_one}, {"beside", &machine.beside},
        {"slow", &machine.gpu_slow}, {"device", &machine.device}, {"host", &machine.host},
        {"share", &machine.share},   {"motion", &machine.motion}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (strcmp(numbers[i].name, name) == 0)
            return numbers[i].number;
    return NULL;
}

static bool machine_set(char *text)
{
    char *value = strchr(text, '=');
    if (!value)
        return false;
    *value = 0;
    double *number = machine_number(text);
    if (number)
        *number = strtod(value + 1, NULL);
    return number != NULL;
}

int main(int argc, char **argv)
{
    const struct clip *clip = &crf23;
    uint32_t streams = 16;
    double seconds = 6;
    int option, failed = 0;
    sim.all = aligned_alloc(PICTURE_ALIGN, PICTURES * sizeof(struct sim_picture));
    if (!sim.all)
        return 1;
    while ((option = getopt(argc, argv, "c:s:t:m:i:")) != -1)
        if (option == 'c')
            clip = strcmp(optarg, "20m") == 0 ? &m20 : &crf23;
        else if (option == 's')
            streams = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 't')
            seconds = strtod(optarg, NULL);
        else if (option == 'i')
            idle = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option != 'm' || !machine_set(optarg))
            failed++;
    if (failed || !streams || streams > STREAMS || idle > IDLE)
        return 2;
    if (optind < argc && strcmp(argv[optind], "check") == 0)
        return check_all() != 0;
    for (int i = optind; i < argc || i == optind; i++)
        failed += sim_run(clip, streams, seconds, i < argc ? argv[i] : "") < 0;
    free(sim.all);
    return failed != 0;
}
