/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schedule under random events, without threads, device and clock.
 *
 * Each sequence opens streams, admits pictures, lets coders and the GPU take them, and ends their
 * work in every way: done, damaged, refused, no memory. Streams are aborted, the device is lost,
 * the GPU fails. At the end everything must come to DONE. The test keeps books of its own: what it
 * did to each picture (struct book). After each event the schedule's counters are compared with
 * sums over the pictures, and one edge of one picture, at random, with the books.
 *
 * schedule_model N      N sequences
 * schedule_model mutate each edge and each of its needs removed in turn: the sequences must fail
 */
#include "daemon/worker/schedule/batch.h"
#include "daemon/worker/schedule/knobs.h"
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct model m;
uint64_t events;

void model_fail(const char *text, const char *file, int line)
{
    fprintf(stderr, "sequence %llu, event %llu, %s:%d: %s\n", (unsigned long long)m.sequence,
            (unsigned long long)events, file, line, text);
    exit(1);
}

/* ---- accidents ---- */

static void gpu_fails(void)
{
    m.gpu_failed = true;
    m.s.split.all = false;
    m.s.split.depth = m.s.split.batch = 0;
    m.s.split.motion_mbs = 0;
}

static void accident(void)
{
    uint32_t what = model_pick(100);
    if (what < 50)
        window_abort(&m.windows[model_pick(WINDOWS)]);
    else if (what < 70)
        m.windows[model_pick(WINDOWS)].source_ended = true;
    else if (what < 90)
        gpu_fails();
    else /* the device is lost */
        for (uint32_t i = 0; i < WINDOWS; i++)
            window_abort(&m.windows[i]);
}

/* ---- sequences ---- */

static void begin_sequence(uint64_t sequence, uint32_t slots)
{
    uint64_t random = (sequence + 1) * 0x9e3779b97f4a7c15ull | 1;
    memset(&m.s, 0, sizeof(m.s));
    memset(m.windows, 0, sizeof(m.windows));
    memset(m.books, 0, sizeof(m.books));
    memset(m.tasks, 0, sizeof(m.tasks));
    memset(&m.slots, 0, sizeof(m.slots));
    m.sequence = sequence;
    m.random = random;
    m.gpu_entropy_count = m.gpu_motion_count = m.in_flight = 0;
    m.gpu_failed = false;
    m.now += 1000000;
    m.sps = (struct h264_sps){.mb_width = 4,
                              .mb_height = 4,
                              .chroma_format_idc = 1,
                              .max_dpb_frames = 1,
                              .bit_depth = {8, 8},
                              .frame_mbs_only_flag = 0};
    m.s.setting = (struct schedule_setting){.entropy = ENGINE_ENTROPY_GPU,
                                            .coders = model_chance(50) ? TASKS : 1,
                                            .lookahead = 6,
                                            .batch = WIDTH,
                                            .shuffle_seed = model_chance(10) ? 7 : 0,
                                            .software = true};
    m.s.split.present = true;
    m.s.split.all = model_chance(50);
    m.s.split.depth = 6;
    m.s.split.batch = model_chance(50) ? 3 : 0; /* one coder: small pictures are left to the GPU */
    m.s.split.works = model_chance(50);
    m.s.split.motion_mbs = model_chance(80) ? MBS : 0;
    m.s.split.cpu_rate = (struct split_rate){1, 1}; /* the GPU is always in time */
    m.s.split.gpu_rate = m.s.split.gpu_fetch = (struct split_rate){1e-9, 1};
    m.slots.key = slots_key_of(&m.sps);
    m.slots.count = slots;
    m.slots.width = WIDTH;
    m.slots.free = m.slot_numbers;
    for (uint32_t i = 0; i < slots; i++)
        m.slot_numbers[m.slots.free_count++] = (int32_t)i;
    slots_add(&m.s, &m.slots);
    for (uint32_t i = 0; i < WINDOWS; i++) {
        struct window *w = &m.windows[i];
        window_open(w, &m.s);
        window_set_live(w, model_chance(20));
        w->realtime = w->live && model_chance(50);
        w->has_pool = model_chance(50);
        w->picture_bytes = 1000;
    }
}

static void event(void)
{
    uint32_t what = model_pick(32);
    m.now += 1000;
    events++;
    if (what < 6)
        model_admit(model_pick(WINDOWS));
    else if (what < 16)
        model_coder_event();
    else if (what < 20)
        model_entropy_event();
    else if (what < 23)
        model_motion_event();
    else if (what < 31)
        model_device_event();
    else if (model_chance(15))
        accident();
}

static bool all_done(void)
{
    for (uint32_t i = 0; i < WINDOWS; i++)
        if (m.windows[i].first || m.windows[i].outputs)
            return false;
    return true;
}

/* Whatever happened: without new pictures all of them are DONE soon. */
static void drain(void)
{
    for (uint32_t i = 0; i < WINDOWS; i++)
        m.windows[i].source_ended = true;
    for (uint32_t rounds = 0; !all_done(); rounds++) {
        CHECK(rounds < 1000);
        events++;
        model_coder_event();
        model_entropy_event();
        model_motion_event();
        for (uint32_t i = 0; i < WINDOWS; i++) {
            model_attach(&m.windows[i]);
            model_tend(&m.windows[i]);
        }
        model_submit();
        model_complete();
    }
    model_check();
    CHECK(m.slots.used == 0 && m.s.split.kept == 0 && m.s.entropy.count == 0);
    for (uint32_t i = 0; i < WINDOWS; i++)
        window_close(&m.windows[i]);
    CHECK(m.s.at_work_count == 0 && !m.s.at_work && !m.s.windows);
}

static void run_sequence(uint64_t sequence, uint32_t length, uint32_t slots)
{
    begin_sequence(sequence, slots);
    for (uint32_t i = 0; i < length; i++) {
        event();
        model_check();
        uint32_t at = model_pick(PICTURES);
        if (m.books[at].alive)
            model_probe_edge(&m.pictures[at]);
    }
    drain();
}

static void run_sequences(uint64_t count)
{
    struct timespec begin, end;
    uint64_t hash = 0; /* of the random numbers that were drawn: equal for equal events */
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    for (uint64_t i = 0; i < count; i++) {
        run_sequence(i, i % 1000 ? 4 + i % 12 : 1000, 15 + i % 10);
        hash = (hash ^ m.random) * 0x100000001b3ull;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    for (unsigned i = 0; i < PICTURE_EDGES && count >= 1000; i++)
        if (!picture_moves[i]) {
            fprintf(stderr, "no picture went along %s\n", picture_edges[i].name);
            exit(1);
        }
    printf("%llu sequences, %llu events, hash %016llx, %.1f s of CPU time\n",
           (unsigned long long)count, (unsigned long long)events, (unsigned long long)hash,
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
}

/* ---- mutations ---- */

/* In a process of its own: a forbidden move ends it. */
static bool is_noticed(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr) || !freopen("/dev/null", "w", stdout))
            _exit(0);
        alarm(600);
        run_sequences(20000);
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child &&
           !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static unsigned mutate(struct picture_edge *edge, unsigned needs, const char *what)
{
    struct picture_edge kept = *edge;
    if (needs)
        edge->needs &= ~needs;
    else
        edge->name = NULL;
    bool noticed = is_noticed();
    *edge = kept;
    printf("%-16s %-24s %s\n", edge->name, what, noticed ? "noticed" : "NOT NOTICED");
    return !noticed;
}

static int mutate_all(void)
{
    unsigned missed = 0, count = 0;
    for (unsigned i = 0; i < PICTURE_EDGES; i++) {
        struct picture_edge *edge = &picture_edges[i];
        missed += mutate(edge, 0, "edge");
        count++;
        for (unsigned bit = 0; bit < PICTURE_NEEDS; bit++) {
            char what[32];
            if (!(edge->needs >> bit & 1))
                continue;
            snprintf(what, sizeof(what), "need %u", bit);
            missed += mutate(edge, 1u << bit, what);
            count++;
        }
    }
    printf("%u mutations, %u missed\n", count, missed);
    return missed != 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "mutate") == 0)
        return mutate_all();
    run_sequences(argc == 2 ? strtoull(argv[1], NULL, 10) : 1000000);
    return 0;
}
