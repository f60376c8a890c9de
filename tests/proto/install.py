#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The files of cmake --install: pkg-config builds the sample without the source tree, and the
sample gets frames. Exit code 77: no device, compiler or x264."""
import os, pathlib, shutil, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import peltontest as t


def run(words, **more):
    r = subprocess.run(words, capture_output=True, text=True, timeout=t.LIMIT_S, **more)
    if r.returncode:
        raise SystemExit(f"{' '.join(words)}: exit code {r.returncode}\n{r.stdout}{r.stderr}")
    return r.stdout


def main():
    p = t.parser(__doc__)
    p.add_argument("--build", required=True)
    args = p.parse_args()
    if not shutil.which("cc") or not shutil.which("pkg-config"):
        return t.SKIPPED
    with tempfile.TemporaryDirectory() as d:
        clip, prefix = d + "/clip.mp4", d + "/prefix"
        made = subprocess.run([args.ffmpeg, "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64",
                               "-frames:v", "9", "-pix_fmt", "yuv420p", "-c:v", "libx264", clip])
        if made.returncode:
            return t.SKIPPED
        run(["cmake", "--install", args.build, "--prefix", prefix])
        pc, = pathlib.Path(prefix).rglob("pelton.pc")
        flags = run(["pkg-config", "--cflags", "--libs", "pelton"],
                    env={**os.environ, "PKG_CONFIG_PATH": str(pc.parent)}).split()
        run(["cc", str(ROOT / "samples/subscribe.c"), *flags, "-o", d + "/subscribe"], cwd=d)
        env = {**os.environ, "LD_LIBRARY_PATH": str(pc.parents[1]),
               "PATH": prefix + "/bin:" + os.environ["PATH"]}
        env.pop("PELTON_SOCKET", None)
        lines = run([d + "/subscribe", clip], env=env).splitlines()
        assert len(lines) == 9 and all("96x64 yuv420p luma" in l for l in lines), lines
        here = {str(f.relative_to(prefix)) for f in pathlib.Path(prefix).rglob("*")}
        for wanted in ("bin/pelton", "bin/peltond", "libexec/pelton/peltond-worker",
                       "include/pelton.h", "share/man/man1/pelton.1", "share/pelton/demo.mp4",
                       "lib/systemd/system/peltond.socket", "lib/sysusers.d/pelton.conf",
                       "lib/tmpfiles.d/pelton.conf", "share/bash-completion/completions/pelton",
                       "share/zsh/vendor-completions/_pelton"):
            assert wanted in here, wanted
        unit = open(prefix + "/lib/systemd/system/peltond.service").read()
        yaml = prefix + "/etc/pelton/pelton.yaml"
        assert f"ExecStart={prefix}/bin/peltond -c {yaml}\n" in unit, unit
        said = run([prefix + "/bin/peltond", "-c", yaml, "--print-config"])
        assert f'demo: {{uri: "sim://{prefix}/share/pelton/demo.mp4' in said, said
        open(yaml, "a").write("# changed\n")
        run(["cmake", "--install", args.build, "--prefix", prefix])
        assert open(yaml).read().endswith("# changed\n"), "a changed configuration stays"
    print("installed, built against, 9 frames")
    return 0


sys.exit(main())
