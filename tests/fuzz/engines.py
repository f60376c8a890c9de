# SPDX-License-Identifier: BSD-2-Clause
"""Runs one fuzz target by libFuzzer or by AFL++, for tests/fuzz/long."""
import os, pathlib, re, shutil, subprocess, time

LONGEST_S = 30 # of one input; a longer one is a finding
LONGEST = 65536 # bytes of an input
AFL = {"AFL_NO_UI": "1", "AFL_NO_AFFINITY": "1", "AFL_SKIP_CPUFREQ": "1", "AFL_FAST_CAL": "1",
       "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_IGNORE_SEED_PROBLEMS": "1"}


def corpus(out, name):
    return (out / "corpus" / name).resolve()


def libfuzzer(target, out, name, seed, seconds):
    """{status, runs, cpu, told}: status 0 is no finding, cpu is in seconds. It ends at its first
    finding, which comes to findings/."""
    log = out / "logs" / ("%s-%d" % (name, seed))
    with open(log, "ab") as text:
        p = subprocess.Popen([target, "-seed=%d" % seed, "-max_total_time=%d" % max(1, seconds),
                              "-timeout=%d" % LONGEST_S, "-rss_limit_mb=6144",
                              "-max_len=%d" % LONGEST, "-print_final_stats=1",
                              "-artifact_prefix=%s/findings/%s-" % (out.resolve(), name),
                              corpus(out, name)], stdout=text, stderr=text)
        _, status, usage = os.wait4(p.pid, 0)
    said = log.read_bytes().decode(errors="replace")
    runs = re.findall(r"^#(\d+)", said, re.M)
    return {"status": status, "runs": int(runs[-1]) if runs else 0,
            "cpu": usage.ru_utime + usage.ru_stime,
            "told": re.findall(r"^SUMMARY: .*", said, re.M)[-1:]}


def processes():
    """{process: (parent, seconds of CPU)} of this machine."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks = int(fields[11]) + int(fields[12])
        found[int(stat.parent.name)] = int(fields[1]), ticks / os.sysconf("SC_CLK_TCK")
    return found


def family_cpu(first):
    """{process: seconds of CPU} of a process and its descendants that live. AFL++ kills those that
    run the target before they are waited for, so no parent is told their time."""
    every, family = processes(), {}
    fresh = [first]
    while fresh:
        family.update((p, every[p][1]) for p in fresh if p in every)
        fresh = [p for p, (parent, _) in every.items() if parent in fresh]
    return family


def afl_findings(run, out, name):
    """Copies what one run of AFL++ has found to findings/, and tells the names."""
    told = []
    for kind in ("crashes", "hangs"):
        for file in sorted((run / kind).glob("id*")):
            to = out / "findings" / ("%s-%s-%s-%s" % (name, kind, run.name, file.name[3:9]))
            shutil.copy(file, to)
            told.append("AFL++: %s" % to)
    return told


def afl(target, out, name, seed, seconds):
    """As libfuzzer(). Runs of one target exchange their inputs. It goes on after a finding."""
    run = out.resolve() / "afl" / name / ("s%d" % seed)
    run.parent.mkdir(parents=True, exist_ok=True)
    cpu = {}
    with open(out / "logs" / ("%s-%d" % (name, seed)), "ab") as text:
        p = subprocess.Popen(["afl-fuzz", "-V", "%d" % max(1, seconds), "-S", run.name, "-s",
                              str(seed), "-i", corpus(out, name), "-o", run.parent, "-m", "none",
                              "-t", "%d" % (1000 * LONGEST_S), "-G", str(LONGEST), "--", target],
                             stdout=text, stderr=text, env={**os.environ, **AFL})
        while p.poll() is None:
            cpu.update(family_cpu(p.pid))
            time.sleep(1)
    stats = run / "fuzzer_stats"
    runs = re.findall(r"^execs_done +: (\d+)", stats.read_text(), re.M) if stats.exists() else []
    told = afl_findings(run, out, name)
    if not runs:
        told.append("AFL++ did not run: see logs/%s-%d" % (name, seed))
    return {"status": len(told), "runs": int(runs[0]) if runs else 0, "cpu": sum(cpu.values()),
            "told": told}
