#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton tune and its choices: kept, shown by doctor, forced. Every frame stays the same under any
choice. Exit code 77: no device or x264."""
import glob, os, pathlib, shutil, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t

CHOICES = [["--no-tune"], *(["--tune-force", f"wavefront={w},readback={r}"]
                            for w in ("intra-diagonal", "intra-persistent")
                            for r in ("memfd-linear", "memfd-copy")), []]


def run(args, *words, code=0):
    r = subprocess.run([args.bin + "/pelton", *words], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=args.timeout)
    if r.returncode == 7:
        sys.exit(t.SKIPPED)
    if r.returncode != code:
        raise SystemExit(f"pelton {' '.join(words)}: exit code {r.returncode}, not "
                         f"{code}\n{r.stdout}{r.stderr}")
    return r.stdout


def kernels(args, *more):
    return [l for l in run(args, "doctor", "--device", args.device, *more).splitlines()
            if "  kernels" in l]


def daemon_start(args):
    """A daemon measures nothing. It takes a good cache, and says why it leaves a bad one."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_CACHE_HOME": folder}
        command = [args.bin + "/pelton", "probe", "--device", args.device, "-loglevel", "verbose"]

        def lines(*more):
            r = subprocess.run([*command, *more, args.clip], env=env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True, timeout=args.timeout)
            return [l for l in r.stderr.splitlines() if "pelton tune" in l or "measured" in l]

        assert not lines("--no-tune") and not lines() and not os.path.exists(folder + "/pelton")
        shutil.copytree(args.cache + "/pelton", folder + "/pelton")
        file, = glob.glob(folder + "/pelton/tune-*.tsv")
        assert not lines()
        good = open(file).read()
        for bad, what in ((good[:-9], "not what was written"),
                          (good.replace("driver\t", "driver\told "), "another driver")):
            open(file, "w").write(bad)
            said = lines()
            assert len(said) == 1 and what in said[0], said
            assert "pelton tune makes it again" in said[0], said
            assert not lines("--no-tune") and open(file).read() == bad


def main():
    args = t.parser(__doc__).parse_args()
    print("PELTON_SEED=" + t.SEED)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        before = kernels(args)
        run(args, "tune", "--device", args.device)
        files = glob.glob(cache + "/pelton/tune-*.tsv")
        assert len(files) == 1, files
        assert all("(measured)" in l
                   for l in kernels(args)) and not any("(measured)" in l for l in before), before
        assert not any("(measured)" in l for l in kernels(args, "--no-tune"))
        forced = kernels(args, "--tune-force", "wavefront=intra-persistent")
        assert any("intra-persistent up to 720p" in l and "(forced)" in l for l in forced), forced
        good = open(files[0]).read()
        for bad in (good.replace("driver\t", "driver\tanother "), good + "reduce\thd\tx\n",
                    good[:-20], ""):
            open(files[0], "w").write(bad)
            now = kernels(args)
            assert now[1:] == before and ("another driver" if "another " in bad
                                          else "is not what was written") in now[0], (bad, now)
        open(files[0], "w").write(good)
        run(args, "doctor", "--device", args.device, "--tune-force", "wavefront=no-such", code=2)

        clip = cache + "/clip.264"
        made = subprocess.run([args.ffmpeg, "-v", "error", "-f", "lavfi", "-i",
                               f"testsrc2=s=208x144,noise=alls=20:all_seed={t.SEED}",
                               "-frames:v", "6", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g",
                               "3", clip])
        if made.returncode:
            sys.exit(t.SKIPPED)
        args.clip = clip
        args.cache = cache
        daemon_start(args)
        results = {tuple(c): run(args, "decode", "--device", args.device, *c, "-i", clip, "-f",
                                 "framemd5", "-") for c in CHOICES}
        for choice, result in results.items():
            assert result.count("\n") > 6 and result == results[()], choice
        wrong = subprocess.run([args.bin + "/pelton", "decode", "--device", args.device,
                                "--tune-force", "wavefront=x", "-i", clip, "-f", "null", "-"],
                               capture_output=True)
        assert wrong.returncode != 0
    print(f"{len(results)} choices, one result")


main()
