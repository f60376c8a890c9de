/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Damages streams in thirteen kinds, by seed, and decodes each with codec and slow reference. Each
 * must end in time, without a crash, a sanitizer's report or a leak. Frames before the damage, and
 * from the next IDR picture on, must be as in the clean stream.
 *
 *   mutate [--seed S] [--count N] [--from N] [--jobs N] [--macroblocks N] [--kind NAME]
 *          [--write FILE] [--verbose] STREAM...
 *
 * It runs mutations N, N + 1 and so on of seed S, in as many processes as --jobs says; of one kind
 * alone where --kind names it. Streams are cut to so many macroblocks, at the end of a picture.
 * --write writes the damaged stream of --from. --verbose prints each frame between the damage and
 * the next IDR picture.
 *
 * Exit: 0, 1 something failed, 2 usage.
 */
#include "tests/damage/mutate_command.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 128, HANG_S = 60, MOST_DPB = 16 };
#define MOST_S      5.0
#define MOST_TIMES  3.0
#define MOST_MARKED 0.01 /* of clean frames */

/* Of a kind. Frames between the damage and the next IDR picture are one of these:
 * exact    as in the clean stream.
 * told     marked as damaged.
 * doubted  told and exact.
 * moved    a frame of the clean stream that stands elsewhere.
 * foreign  a frame of the other stream.
 * valid    the judge finds no breach of the standard in it: no decoder can tell.
 * alone    its pictures refer to none, and units before them are missing or out of order.
 * habit    its only breaches are those that encoders write always.
 * silent   none of these: a breach is there, and it is not told. */
struct tally {
    unsigned long runs, failed, kept, kept_marked, exact, told, doubted, moved, foreign, valid,
        alone, habit, silent;
    double worst_s;
};

struct job {
    struct tally tallies[MUTATION_KINDS];
    uint64_t now; /* the mutation that runs */
    pid_t pid;
    bool leaving; /* all of the chunk is done */
};

static struct mutate_options opt = {
    .seed = 1, .count = 1000, .jobs = 1, .macroblocks = 1200, .kind = MUTATION_KINDS};

static struct sources sources;
static struct job *jobs; /* shared by all processes */

/* A damaged stream and its frames. */
struct run {
    struct damaged d;
    struct decoded out;
    struct decoded judged; /* the same frames with their breaches, once they are asked for */
    struct decoded strict; /* without those that are habits */
    struct tally *tally;
};

__attribute__((format(printf, 2, 3))) static void run_failed(struct run *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    damaged_failed(&r->d, opt.seed, format, args);
    va_end(args);
    r->tally->failed++;
}

/* ---- checks ---- */

static unsigned slices_in(const struct units *u)
{
    unsigned n = 0;
    for (unsigned i = 0; i < u->count; i++)
        n += unit_is_slice(&u->at[i]);
    return n;
}

/* Under an SPS of Baseline or Extended, foreign ones too, each slice may begin a picture: slices
 * may come in any order (7.4.1.2.4). */
static bool any_slice_order(const struct units *u)
{
    enum { NAL_SPS = 7, BASELINE = 66, EXTENDED = 88, CONSTRAINED = 0x40 };
    for (unsigned i = 0; i < u->count; i++) {
        const uint8_t *data = u->at[i].data;
        if (u->at[i].size > 2 && unit_type(&u->at[i]) == NAL_SPS &&
            (data[1] == EXTENDED || (data[1] == BASELINE && !(data[2] & CONSTRAINED))))
            return true;
    }
    return false;
}

/* A frame of each view for an access unit. */
static void check_limits(struct run *r, unsigned views)
{
    const struct source *s = r->d.source;
    unsigned had = slices_in(&s->units), has = slices_in(&r->d.units);
    uint64_t most =
        views * ((uint64_t)(2 * s->units_total) + MOST_DPB) + (has > had ? has - had : 0);
    if (any_slice_order(&r->d.units) && most < has + MOST_DPB)
        most = has + MOST_DPB;
    double most_s = MOST_TIMES * s->clean.cpu_s > MOST_S ? MOST_TIMES * s->clean.cpu_s : MOST_S;
    if (r->out.failed)
        run_failed(r, "records refused, no slot or no memory");
    if (r->out.count > most)
        run_failed(r, "%u frames of at most %" PRIu64, r->out.count, most);
    if (r->out.cpu_s > most_s)
        run_failed(r, "%.1f s, clean %.2f s", r->out.cpu_s, s->clean.cpu_s);
    if (r->out.cpu_s > r->tally->worst_s)
        r->tally->worst_s = r->out.cpu_s;
}

static void keep(struct run *r, const struct shown *f)
{
    r->tally->kept++;
    r->tally->kept_marked += f->marked;
    if (f->marked && opt.verbose)
        printf("mutation %" PRIu64 " %s %s: frame %u is outside of damage, and marked\n",
               r->d.number, mutation_names[r->d.kind], r->d.source->name,
               (unsigned)(f - r->out.at));
}

/* Without tags a unit may join the picture before it. */
static void check_before(struct run *r)
{
    const struct source *s = r->d.source;
    int64_t first = r->d.first - !s->tagged;
    for (unsigned i = 0, at = 0; i < s->clean.count / 2; i++) {
        const struct shown *want = &s->clean.at[i];
        if (want->last_tag >= first)
            continue;
        while (at < r->out.count && r->out.at[at].hash != want->hash)
            at++;
        if (at == r->out.count) {
            run_failed(r,
                       "frame %u of access unit %" PRId64 " is lost or changed, damage begins "
                       "at %" PRId64,
                       i, want->tag, r->d.first);
            return;
        }
        keep(r, &r->out.at[at++]);
    }
}

static void check_after(struct run *r)
{
    const struct decoded *clean = &r->d.source->clean;
    unsigned half = clean->count / 2, skip = r->out.count < half ? 0 : r->out.count - half;
    for (unsigned i = 0; i < half && skip + i < r->out.count; i++) {
        const struct shown *got = &r->out.at[skip + i];
        if (r->out.count < half || got->hash != clean->at[half + i].hash) {
            run_failed(r, "frame %u of %u behind the next IDR picture is lost or changed", i, half);
            return;
        }
        keep(r, got);
    }
}

static const struct shown *clean_frame(const struct source *s, int64_t tag)
{
    for (unsigned i = 0; i < s->clean.count / 2; i++)
        if (s->clean.at[i].tag == tag)
            return &s->clean.at[i];
    return NULL;
}

static bool decoded_has(const struct decoded *d, uint64_t hash)
{
    for (unsigned i = 0; i < d->count; i++)
        if (d->at[i].hash == hash || d->at[i].fields[0] == hash || d->at[i].fields[1] == hash)
            return true;
    return false;
}

static bool is_foreign(const struct damaged *d, uint64_t hash)
{
    for (unsigned i = 0; i < d->other_count; i++)
        if (decoded_has(&d->others[i]->clean, hash))
            return true;
    return false;
}

/* Rules that the undamaged streams break do not count. */
static bool breaches_of_clean(const struct damaged *d, struct breaches *all)
{
    *all = (struct breaches){.count = 0};
    for (unsigned i = 0; i <= d->other_count; i++) {
        const struct source *s = i ? d->others[i - 1] : d->source;
        struct breaches seen, before = *all;
        struct decoded ignored;
        bool good = decode_judged(&s->units, s->tagged, &before, &seen, &ignored);
        decoded_free(&ignored);
        if (!good)
            return false;
        for (unsigned k = 0; k < seen.count && all->count < JUDGE_BREACHES; k++)
            all->at[all->count++] = seen.at[k];
    }
    return true;
}

static bool judge_run(struct run *r, bool habits, struct decoded *out)
{
    struct breaches allowed;
    if (out->count)
        return true;
    if (!breaches_of_clean(&r->d, &allowed))
        return false;
    for (unsigned i = 0; i < judge_habits.count && !habits; i++)
        if (allowed.count < JUDGE_BREACHES)
            allowed.at[allowed.count++] = judge_habits.at[i];
    return decode_judged(&r->d.units, r->d.source->tagged, &allowed, NULL, out);
}

/* Frame i with its breach. */
static const struct shown *judged_frame(struct run *r, bool habits, unsigned i)
{
    static const struct shown unknown = {.breach = "not judged"};
    struct decoded *out = habits ? &r->judged : &r->strict;
    if (!judge_run(r, habits, out)) {
        run_failed(r, "no memory");
        return &unknown;
    }
    if (out->count == r->out.count && out->at[i].hash == r->out.at[i].hash)
        return &out->at[i];
    run_failed(r, "frame %u differs where units are fed one by one", i);
    return &unknown;
}

/* A frame that is not as the clean one of its access unit, and not marked. */
static const char *count_silent(struct run *r, const struct shown *got)
{
    unsigned i = (unsigned)(got - r->out.at);
    if (decoded_has(&r->d.source->clean, got->hash)) {
        r->tally->moved++;
        return "moved";
    }
    if (is_foreign(&r->d, got->hash)) {
        r->tally->foreign++;
        return "foreign";
    }
    if (!judged_frame(r, true, i)->breach) {
        r->tally->valid++;
        return "valid";
    }
    const struct shown *strict = judged_frame(r, false, i);
    if (strict->alone) {
        r->tally->alone++;
        return "alone";
    }
    if (!strict->breach) {
        r->tally->habit++;
        return "habit";
    }
    r->tally->silent++;
    if (opt.verbose)
        printf("mutation %" PRIu64 ": %s\n", r->d.number, strict->breach);
    return "silent";
}

static void count_between(struct run *r)
{
    for (unsigned i = 0; i < r->out.count && r->d.source->tagged; i++) {
        const struct shown *got = &r->out.at[i];
        const char *word = got->marked ? "told" : "exact";
        if (got->last_tag < r->d.first || got->tag >= r->d.source->units_total)
            continue;
        const struct shown *want = clean_frame(r->d.source, got->tag);
        bool exact = want && want->hash == got->hash;
        r->tally->exact += exact && !got->marked;
        r->tally->doubted += exact && got->marked;
        r->tally->told += !exact && got->marked;
        if (exact && got->marked)
            word = "doubted";
        if (!exact && !got->marked)
            word = count_silent(r, got);
        if (opt.verbose)
            printf("mutation %" PRIu64 " %s %s: frame %u of access unit %" PRId64 ": %s\n",
                   r->d.number, mutation_names[r->d.kind], r->d.source->name, i, got->tag, word);
    }
}

/* ---- runs ---- */

static void run_write(const struct run *r)
{
    FILE *file = fopen(opt.write, "wb");
    bool good = file && damaged_write(&r->d, file);
    if (!file || fclose(file) || !good)
        perror(opt.write);
}

static void run_one(struct job *job, uint64_t number)
{
    struct itimerval hang = {.it_value.tv_sec = HANG_S};
    struct run r = {.tally = &job->tallies[number % MUTATION_KINDS]};
    setitimer(ITIMER_VIRTUAL, &hang, NULL);
    r.tally->runs++;
    if (!damaged_make(&r.d, opt.seed, number, &sources)) {
        run_failed(&r, "no memory");
    } else {
        if (opt.write && number == opt.from)
            run_write(&r);
        decode_units(&r.d.units, r.d.source->tagged, 1, &r.out);
        check_limits(&r, 1);
        check_before(&r);
        check_after(&r);
        count_between(&r);
        decoded_free(&r.judged);
        decoded_free(&r.strict);
        decoded_free(&r.out);
        decode_units(&r.d.units, false, 2, &r.out); /* both views, and no access units */
        check_limits(&r, 2);
    }
    decoded_free(&r.out);
    units_free(&r.d.units);
}

/* ---- processes ---- */

static void job_start(unsigned j)
{
    struct job *job = &jobs[j];
    job->leaving = false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid) {
        job->pid = pid; /* the child's own write would come too late */
        return;
    }
    for (unsigned i = 0; i < CHUNK && job->now < opt.from + opt.count; i++, job->now += opt.jobs)
        if (mutate_wanted(&opt, job->now))
            run_one(job, job->now);
    job->leaving = true;
    exit(0); /* leaks are told here */
}

/* A process has ended. Returns whether it did well. */
static bool job_end(struct job *job, int status)
{
    if (status == 0)
        return true;
    if (job->leaving)
        printf("FAILED seed %" PRIu64 ": a leak, or another report, in the %u mutations before "
               "%" PRIu64 "\n",
               opt.seed, CHUNK, job->now);
    else {
        printf("FAILED seed %" PRIu64 " mutation %" PRIu64 ": %s %d\n", opt.seed, job->now,
               WIFSIGNALED(status) ? "signal" : "exit code",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        job->tallies[job->now % MUTATION_KINDS].failed++;
        job->now += opt.jobs;
    }
    return false;
}

static bool run_all(void)
{
    unsigned running = 0;
    bool good = true;
    for (unsigned j = 0; j < opt.jobs; j++, running++) {
        jobs[j].now = opt.from + j;
        job_start(j);
    }
    while (running) {
        int status;
        pid_t pid = wait(&status);
        if (pid < 0)
            return false; /* no process could be made */
        for (unsigned j = 0; j < opt.jobs; j++)
            if (jobs[j].pid == pid) {
                good &= job_end(&jobs[j], status);
                if (jobs[j].now < opt.from + opt.count)
                    job_start(j);
                else
                    running--;
            }
    }
    return good;
}

/* ---- figures ---- */

static void tally_print(const char *name, const struct tally *t)
{
    printf("%-15s %7lu %6lu %8lu %6lu %8lu %8lu %8lu %8lu %8lu %8lu %6lu %6lu %6lu %7.2f\n", name,
           t->runs, t->failed, t->kept, t->kept_marked, t->exact, t->told, t->doubted, t->moved,
           t->foreign, t->valid, t->alone, t->habit, t->silent, t->worst_s);
}

static void tally_add(struct tally *sum, const struct tally *t)
{
    sum->runs += t->runs;
    sum->failed += t->failed;
    sum->kept += t->kept;
    sum->kept_marked += t->kept_marked;
    sum->exact += t->exact;
    sum->told += t->told;
    sum->doubted += t->doubted;
    sum->moved += t->moved;
    sum->foreign += t->foreign;
    sum->valid += t->valid;
    sum->alone += t->alone;
    sum->habit += t->habit;
    sum->silent += t->silent;
    sum->worst_s = t->worst_s > sum->worst_s ? t->worst_s : sum->worst_s;
}

static bool print_tallies(void)
{
    struct tally all = {.runs = 0};
    printf("%-15s %7s %6s %8s %6s %8s %8s %8s %8s %8s %8s %6s %6s %6s %7s\n", "damage", "streams",
           "failed", "kept", "marked", "exact", "told", "doubted", "moved", "foreign", "valid",
           "alone", "habit", "silent", "worst s");
    for (unsigned k = 0; k < MUTATION_KINDS; k++) {
        struct tally sum = {.runs = 0};
        for (unsigned j = 0; j < opt.jobs; j++)
            tally_add(&sum, &jobs[j].tallies[k]);
        tally_print(mutation_names[k], &sum);
        tally_add(&all, &sum);
    }
    tally_print("all", &all);
    printf("seed %" PRIu64 ": %lu mutations of %u streams, %lu failed; of %lu frames outside of "
           "damage %lu marked\n",
           opt.seed, all.runs, sources.count, all.failed, all.kept, all.kept_marked);
    return all.runs == mutate_wanted_count(&opt) && !all.failed &&
           (double)all.kept_marked <= MOST_MARKED * (double)all.kept;
}

int main(int argc, char **argv)
{
    int code = mutate_command(&opt, &sources,
                              "mutate [--seed S] [--count N] [--from N] [--jobs N]\n"
                              "           [--macroblocks N] [--kind NAME] [--write FILE] "
                              "[--verbose] STREAM...\n",
                              argc, argv);
    if (code)
        return code;
    jobs = mutate_shared(opt.jobs, sizeof(*jobs));
    bool good = jobs && run_all();
    good = good && print_tallies();
    sources_free(&sources);
    return !good;
}
