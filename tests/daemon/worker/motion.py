#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Motion on the GPU: the worker's part, on stand-ins for devices. Inputs are streams of streamgen,
other ones every day, and some conformance streams, whole and damaged. The frames must be those of
the CPU. The device may refuse pictures, be lost or lack room, and sessions may end at any time.

  motion.py SESSION_REFERENCE STREAMGEN
"""
import collections, concurrent.futures, os, pathlib, random, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import peltontest as t

PROGRAM, STREAMGEN = sys.argv[1:]
STREAMS = pathlib.Path(os.environ.get("PELTON_STREAMS", t.ROOT.parent / "shared/streams"))
# What is not decoded on the GPU, and what streamgen mixes with temporal direct prediction, which is
# the workers'.
WITHOUT = "cavlc,mbaff,fmo0,fmo1,fmo2,fmo3,fmo4,fmo5,fmo6,slice-group-change,aso,"\
          "redundant,partitions,sp,si,separate-planes,422,444,depth,differing-depths,lossless,cavlc444-intra,size-changes"
SPATIAL = ",temporal-direct,paff,mvc"
# (features, and others that are left out)
GENERATED = [("b,sub-macroblocks,spatial-direct", SPATIAL),
             ("b,slices,spatial-direct,transform8x8", SPATIAL), ("b,400,spatial-direct", SPATIAL),
             ("b,paff,spatial-direct,slices", ",temporal-direct,mvc"),
             ("b,temporal-direct,spatial-direct,mixed-slices", ",mvc"), ("b,mvc", "")]
# Its lists have empty entries, which no macroblock uses: whether a picture is damaged only the
# records tell.
FIXED = (
         "000000016764001f09ad4228262a390ac862229590880fa01780274680b201600264079816405680db03781c40b20f804507b624eea01e11089023000000016884e92820"
         "14cb0000000145b8008002f94bfa05ff752d0d908995a37a3b03567a5c65b6f4538abfffdf8f265d2c0add875f7f2d7d37703f3159c41a0f2c7b484dfe37ef2826038a3a"
         "602a7a136cf5aab26dfdf7ffc00304187051e209333e734cf98589c8f9820abd86f6915d5477e7e178080b6c63f8f30ff05dbe572248fc50d094cd2a8f15184cb1a2ef91"
         "751c120d906a3cc7f778709a266e865a3ce4d21338451a8ffd3a7d8784e939454a3c5082726377fc0000000141e008cf93e2ffe01da3461fe9b70040f832741faaa0e83f"
         "f599f6bec9f81ba0b9cde69b8011f5a09e72910f49d08ff0b0bacb59f56f82d0fefbea8af4d47456d5ab4e0de5a4d3d48c599c5da07683287f28b176680550ae08466844"
         "55083705a208069abc36f5d84768354fdcf6e14f6557280be487a57235c9ff08431882c947c2eac705f13d0bea122daa2971f1cfe3f8bffdc0852a33ccff1406e140ef92"
         "253e7624597b60ae521084aecf9de9108a632285aa0d68843dfed592c7e4dd466a1480aa44b28e46508d816c88c89f05774f0ced1eb9ee81e2f062907fea9436fa481cb7"
         "7ffff424aaa90000000101a80413a158b7fc00ade00fcbc57610d946e829b8a1f0162ce859314a357ce7265e9fe7b29c3cbdfc1b56ef4740ef875bf5fd43bc190e9f50e7"
         "15e519da44f8d75883017b86bebc9fcccae52bbeb8e3e9168c69852bbbe8c84fc70441554acf01a78b7424c4c31ff8203e7019614b1ca1f184489073475b0d2ad52f10cf"
         "935862fc813ae63a94346cacd02036de6ccca0000000010110a0104d15e00400223c489ffb0ee8fc69c1e62208d1ced429d3cff6e75616c00000000141b80422b04b1833"
         "e95e9947bf34cfffffb77338649530c8007a646b944a98b126bbfefe1b634e526a16fad8c6fa70880007f2e2f61cbd97dcce81217c26059b502a6f651fe3ff3bc380bed0"
         "e44804648c5288e004a14e44bcecc3acdf9bf83e3961239b6bb56cfe")
CONFORMANCE = ["made/p_main_cabac_b_spatial_noinf.264", "made/fld_cabac_b_spatial.264",
               "mvc/mvc_stereo_b_cabac.264"]
# of the GPU's pictures, whose motion it is to derive
ALL, SOME, NONE, ANY = "all", "some", "none", "any"
# (options, environment, of streams with spatial direct prediction in frames, and of others where
# they do not count)
SCHEDULES = [(["gpu"], {}, ALL), (["gpu", "--cpu-motion"], {}, NONE),
             (["both", "--lookahead", 60], {}, ANY),
             (["gpu", "--lookahead", 1, "--threads", 1], {}, ALL),
             (["gpu", "--shuffle", "day", "--lookahead", 16, "--threads", 3], {}, ALL),
             (["gpu", "--sessions", 3, "--threads", 2], {}, ALL), (["gpu", "--fields"], {}, ALL),
             (["gpu"], {"BAD_MOTION": 3}, SOME), (["gpu", "--sessions", 2], {"BAD_MOTION": 1},
                                                  NONE),
             (["gpu"], {"LOSE_MOTION": 2}, SOME), (["gpu", "--sessions", 2, "--lookahead", 16],
                                                   {"LOSE_MOTION": 1}, NONE),
             (["gpu"], {"MOTION_BATCHES": 1}, ALL), (["gpu"], {"MOTION_BATCHES": 0}, NONE),
             (["gpu", "--lookahead", 16], {"MOTION_PICTURES": 1}, ALL),
             (["gpu"], {"MOTION_PICTURES": 0}, NONE),
             (["gpu", "--entropy-memory", 256], {}, ANY), (["gpu", "--entropy-memory", 1], {},
                                                           NONE), (["gpu"], {"NO_DEVICE_ARENA": 1},
                                                                   NONE),
             (["gpu", "--sessions", 2], {"ENTROPY_SPOILS": 2, "BAD_MOTION": 4}, SOME),
             (["gpu"], {"ENTROPY_FAILS": 2, "LOSE_MOTION": 3}, ANY),
             # larger streams only with every third of them
             (["gpu"], {"LOSE_ENTROPY": 2, "BAD_MOTION": 2}, ANY)]
DAMAGE_SCHEDULES = [SCHEDULES[0], SCHEDULES[1], SCHEDULES[4],
                    (["gpu", "--sessions", 2], {"BAD_MOTION": 3, "ENTROPY_SPOILS": 3}, ANY)]
DAMAGED = 2 # versions of each generated stream
some = collections.defaultdict(list) # by schedule: pictures of each stream, and with motion
failures = []


def run(path, *args, env={}, seed=t.SEED):
    env = {"PELTON_TEST_" + key: str(value) for key, value in {"ENTROPY_SEED": seed, **env}.items()}
    args = [str(t.SEED) if arg == "day" else str(arg) for arg in args]
    try:
        return subprocess.run([PROGRAM, "--stats", *args, *path], capture_output=True, text=True,
                              timeout=t.LIMIT_S, env={**os.environ, **env})
    except subprocess.TimeoutExpired as e:
        return subprocess.CompletedProcess(e.cmd, -1, "", "it hangs")


def derived(text):
    """Pictures that the GPU has entropy-decoded, those of them whose motion it has derived, and
    those of the workers' whose it has."""
    entropy = re.search(r"(\d+) pictures, \d+ given back", text)
    motion = re.search(r"motion derivation on the GPU: (\d+) pictures, (\d+) of them decoded by "
                       r"workers", text)
    pictures, sent = map(int, motion.groups()) if motion else (0, 0)
    return int(entropy[1]) if entropy else 0, pictures - sent, sent


def restored(text):
    """Pictures whose records a coder has restored."""
    found = re.search(r"records of (\d+) pictures came to the host by a second decoding", text)
    return int(found[1]) if found else 0


def expect_motion(what, of, entropy, motion):
    """Of one stream the device may spoil all or none: some is of all streams."""
    good = {ALL: motion == entropy > 0, SOME: motion <= entropy, NONE: motion == 0,
            ANY: motion <= entropy}[of]
    if not good:
        failures.append(f"{what}: motion of {motion} of {entropy} pictures, which is not {of}")


def sessions_of(args):
    return args[args.index("--sessions") + 1] if "--sessions" in args else 1


def lines_of(out, args):
    """Frames in order; those of several sessions come mixed: sorted. Their ends, which repeat the
    MD5, are left out."""
    lines = [line for line in t.session_frames(out.stdout) if len(line) > 3]
    return sorted(lines, key=lambda line: int(line[0])) if sessions_of(args) > 1 else lines


def check(path, what, schedules, spatial, damaged):
    """With each schedule the frames that one worker gives, each as often as there are sessions.
    Returns pictures by the GPU, those whose motion it derived, those whose records coders restored,
    and marked frames."""
    wants, total, again = {}, [0, 0], 0
    for args, env, of in schedules:
        fields = "--fields" in args
        if fields not in wants:
            wants[fields] = lines_of(run(path, "--frames", "--entropy", "cpu", "--threads", 1,
                                         *["--fields"] * fields), [])
        out = run(path, "--frames", "--entropy", *args, env=env)
        want = [line for line in wants[fields] for _ in range(sessions_of(args))]
        problem = t.session_difference(lines_of(out, args), want, damaged
                                       and "--cpu-motion" not in args)
        if out.returncode or not want or problem:
            failures.append(f"{what}, {args}, {env}: exit {out.returncode}, "
                            f"{problem or 'same frames'} {out.stderr[-200:]}")
        entropy, motion, _ = derived(out.stderr)
        total = [total[0] + entropy, total[1] + motion]
        again += restored(out.stderr)
        if spatial and not damaged:
            expect_motion(f"{what}, {args}, {env}", of, entropy, motion)
            if of == SOME:
                some[f"{args}, {env}"].append((entropy, motion))
    return total + [again, sum(int(line[3]) & t.FLAG_CORRUPT != 0 for want in wants.values()
                               for line in want)]


def damage(path, rng):
    """Wrong bits in slices behind the first picture's, and now and then a slice that is lost."""
    data = path.read_bytes()
    at = [i for i in range(len(data) - 3) if data[i:i + 3] == b"\0\0\1"] + [len(data)]
    nals = [bytearray(data[a:b]) for a, b in zip(at, at[1:])]
    slices = [i for i, nal in enumerate(nals) if nal[3] & 31 in (1, 20) and len(nal) > 12]
    for i in rng.sample(slices, min(len(slices), 3)):
        nals[i][rng.randrange(10, len(nals[i]))] ^= 1 << rng.randrange(8)
    if rng.randrange(3) == 0 and slices:
        del nals[rng.choice(slices)]
    out = path.with_suffix(f".{rng.randrange(1 << 30)}.264")
    out.write_bytes(b"".join(nals))
    return out


def ends(path, rng):
    """Sessions that are closed while batches are in work; the others go on."""
    whole = run(path, "--entropy", "cpu").stdout.split()
    for after in (1, 2, 3, 5, 8, 13, 21):
        seed = rng.randrange(1 << 30)
        for args, env in ((["--sessions", 3], {}), (["--sessions", 2, "--shuffle", seed],
                                                    {"BAD_MOTION": 2}), ([], {"LOSE_MOTION": 2})):
            out = run(path, "--entropy", "gpu", "--loops", 0, "--close-after", after, *args,
                      env=env, seed=seed)
            if out.returncode or "Sanitizer" in out.stderr:
                failures.append(f"close after {after}, {args}, {env}, seed {seed}: exit "
                                f"{out.returncode}, {out.stderr[-300:]}")
        out = run(path, "--entropy", "gpu", "--sessions", 3, "--close-after",
                  min(after, int(whole[1]) - 1), "--close-first", seed=seed)
        if out.returncode or out.stdout.split("\n").count(" ".join(whole)) != 2:
            failures.append(f"close one of three after {after}, seed {seed}: exit "
                            f"{out.returncode}, {out.stdout} {out.stderr[-300:]}")


def busy(folder):
    """More than the workers are through in a tenth of a second, so that the GPU helps them."""
    path = f"{folder}/busy.264"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                    "testsrc2=size=176x144,noise=alls=30:allf=t", "-frames:v", "200", "-pix_fmt",
                    "yuv420p",
                    "-c:v", "libx264", "-preset", "fast", "-crf", "4", "-g", "30", "-x264-params",
                    "bframes=3:direct=spatial:slices=2", path], check=True)
    want = run([path], "--entropy", "cpu").stdout
    for args, env in ((["--threads", 1], {}), (["--sessions", 2, "--threads", 1],
                                               {"BAD_MOTION": 5}),
                                               (["--threads", 1], {"LOSE_MOTION": 4})):
        out = run([path], "--entropy", "both", "--lookahead", 600, *args, env=env)
        entropy, motion, sent = derived(out.stderr)
        print(f"beside the workers, {args}: {entropy} pictures by the GPU, motion of {motion} and "
              f"of {sent} of the workers'")
        if not sent and "LOSE_MOTION" not in env:
            failures.append(f"beside the workers, {args}: the GPU derived no motion of theirs")
        if out.returncode or set(out.stdout.splitlines()) != set(want.splitlines()):
            failures.append(f"beside the workers, {args}: exit {out.returncode}, other frames "
                            f"{out.stderr[-300:]}")


def streams(folder, rng):
    """(path and options of session_decode, name, whether motion of all pictures is the GPU's)"""
    path = pathlib.Path(f"{folder}/fixed.264")
    path.write_bytes(bytes.fromhex(FIXED))
    found = [([path], "empty entries", True)]
    for i, (features, more) in enumerate(GENERATED):
        path, seed = pathlib.Path(f"{folder}/{i}.264"), str(rng.randrange(1 << 30))
        made = subprocess.run([STREAMGEN, "--seed", seed, "--without", WITHOUT + more, "--with",
                               "cabac," + features, "--frames", "12", "--mbs", "4x4",
                               "-o", str(path)], check=True, capture_output=True, text=True)
        # what comes with something else is not left out
        has = made.stdout.strip().split("\t")[-1].split(",")
        found.append((["--second-view"] * ("mvc" in has) + [path],
                      f"streamgen --seed {seed}, {features}", not {"temporal-direct", "paff",
                                                                   "mvc"} & set(has)))
    for name in CONFORMANCE:
        if (STREAMS / name).exists():
            found.append((["--second-view"] * ("mvc" in name) + [STREAMS / name], name, False))
        else:
            print(f"without {name}: it is not there")
    return found


def main():
    rng = random.Random(f"session motion {t.SEED}")
    print("PELTON_SEED", t.SEED, flush=True)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        work = []
        found = streams(folder, rng)
        for path, what, spatial in found:
            generated = path[-1].parent == pathlib.Path(folder)
            work.append((path, what, SCHEDULES if generated else SCHEDULES[::3], spatial, False))
            if generated:
                work += [(path[:-1] + [damage(path[-1], rng)], f"{what}, damage {k}",
                          DAMAGE_SCHEDULES, False, True) for k in range(DAMAGED)]
        marked, again = 0, 0
        for one, sums in zip(work, pool.map(lambda one: check(*one), work)):
            entropy, motion, records, corrupt = sums
            marked += corrupt
            again += records if one[-1] else 0  # of whole streams it depends on time
            print(f"{one[1]}: {entropy} pictures by the GPU, motion of {motion}, records of "
                  f"{records} restored, {corrupt} frames marked")
            if not motion:
                failures.append(f"{one[1]}: no motion was derived by the GPU")
        for schedule, numbers in some.items():
            entropy, motion = map(sum, zip(*numbers))
            print(f"{schedule}: motion of {motion} of {entropy} pictures")
            if not 0 < motion < entropy:
                failures.append(f"{schedule}: motion of {motion} of {entropy} pictures, which is "
                                "not some")
        ends(found[2][0], rng)
        busy(folder)
    if not marked:
        failures.append("no frame was marked")
    if not again:
        failures.append("no records of damaged streams were restored")
    print(*failures, sep="\n")
    return 1 if failures else 0


sys.exit(main())
