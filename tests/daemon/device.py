#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Frames in device memory, end to end: samples/vulkan_sum.c imports them and sums their bytes, and
the sums are those of frames in host memory. The worker is killed meanwhile. A user whom the
configuration does not name, a raw camera and a device that exports nothing are refused in words.

  device.py --bin build/bin --device cpu
"""
import os, pathlib, shutil, signal, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import peltontest as t
from peltontest import check

USER = "nobody"


def clip(args, path, pix_fmt, frames, *more, size="98x66"):
    subprocess.run([args.ffmpeg, "-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                    f"testsrc2=s={size}:r=25,noise=alls=8", "-frames:v", str(frames), "-c:v",
                    "libx264", "-pix_fmt", pix_fmt, *more, str(path)], check=True)
    return str(path)


def frame_bytes(pix_fmt, width=98, height=66):
    """Of raw video; chroma is rounded up."""
    chroma = {"gray": 0, "yuv420p": 2 * (-(-width // 2) * -(-height // 2)),
              "yuv422p": 2 * (-(-width // 2) * height), "yuv444p": 2 * width * height}
    name = pix_fmt.replace("10le", "").replace("nv12", "yuv420p")
    return (width * height + chroma[name]) * (2 if "10le" in pix_fmt else 1)


def host_sums(args, daemon, path, pix_fmt):
    run = t.decode(args, daemon, path, "rawvideo", "--pix-fmt", pix_fmt)
    if run.returncode:
        raise SystemExit(t.failure(run))
    size = frame_bytes(pix_fmt)
    check(len(run.stdout) % size == 0, f"{pix_fmt}: whole frames in host memory")
    return [f"{n} {sum(run.stdout[n * size:(n + 1) * size])}"
            for n in range(len(run.stdout) // size)]


def vulkan_sum(program, socket, *words, user=None):
    drop = ["setpriv", "--reuid", user, "--regid", "nogroup", "--clear-groups"] if user else []
    return subprocess.run([*drop, program, *words], capture_output=True, text=True,
                          timeout=t.LIMIT_S, env={**os.environ, "PELTON_SOCKET": socket})


def formats(args, daemon, program, folder):
    """Planes that the GPU writes, and planes that hold mid-grey."""
    for pix_fmt, wishes in (("yuv420p", ("yuv420p", "nv12", "gray")), ("yuv444p", ("yuv444p",)),
                            ("yuv422p10le", ("yuv422p10le",)), ("gray", ("yuv420p",)),
                            ("gray10le", ("yuv420p10le",))):
        path = clip(args, folder / f"{pix_fmt}.mp4", pix_fmt, 12)
        for wish in wishes:
            want = host_sums(args, daemon, path, wish)
            run = vulkan_sum(program, daemon.socket, path, wish)
            got = run.stdout.splitlines()
            check(run.returncode == 0 and len(want) == 12 and got == want,
                  f"{wish} of {pix_fmt}: sums are those of host memory {run.stderr!r}")


def killed_worker(args, daemon, program, folder):
    """The reader sleeps, so that the worker waits for slots when it dies."""
    path = clip(args, folder / "long.mp4", "yuv420p", 120, "-x264-params", "keyint=10")
    want = host_sums(args, daemon, path, "yuv420p")
    said = folder / "sums"
    with open(said, "w") as to:
        reader = subprocess.Popen([program, path], stdout=to,
                                  env={**os.environ, "PELTON_SOCKET": daemon.socket})
    lines = lambda: said.read_text().splitlines()
    check(t.wait_until(lambda: len(lines()) >= 5, 5), "frames come")
    reader.send_signal(signal.SIGSTOP)
    workers = t.workers(daemon.process.pid)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    check(t.wait_until(lambda: not set(workers) & set(t.workers(daemon.process.pid)), 1),
          "the worker is gone")
    reader.send_signal(signal.SIGCONT)
    reader.wait(timeout=t.LIMIT_S)
    got = lines()
    check(reader.returncode == 0 and got == want,
          f"a killed worker: {len(got)} frames, each once and right, in order")


def refusals(args, program, folder):
    """Several users are needed. Who is not named reads in host memory, and not on the device."""
    path = clip(args, folder / "own.mp4", "yuv420p", 3)
    for place in (folder, pathlib.Path(path)):
        os.chmod(place, 0o755)
    for name in ("named.mp4", "shut.mp4"):
        shutil.copy(path, folder / name)
    config = folder / "p.yaml"
    config.write_text(f"""version: 1
rights: {{device: {{users: [games]}}}}
sources:
  named: {{uri: "{folder}/named.mp4", device: {{users: [{USER}]}}}}
  shut: {{uri: "{folder}/shut.mp4"}}
  camera: {{uri: "sim://{path}", size: 64x48, device: {{users: [{USER}]}}}}
""")
    program = shutil.copy(program, folder / "vulkan_sum")
    with t.Daemon(args, "-c", str(config), "-c", "listen.unix.mode=0666") as daemon:
        os.chmod(daemon.dir.name, 0o755)
        want = host_sums(args, daemon, path, "yuv420p")
        run = lambda *words, **who: vulkan_sum(program, daemon.socket, *words, **who)
        out = run(path, user=USER)
        check(out.returncode == 1 and "frames in device memory are not allowed to this user "
              "(rights.device)" in out.stderr and "rights.device.users" in out.stderr,
              f"a file: {out.stderr!r}")
        out = run("source:shut", user=USER)
        check(out.returncode == 1 and "(rights.device)" in out.stderr,
              f"a source without a rule of its own: {out.stderr!r}")
        for words, user in (((path, ), "games"), (("source:named", ), USER), ((path, ), None)):
            out = run(*words, user=user)
            check(out.returncode == 0 and out.stdout.splitlines() == want,
                  f"{words[0]} by {user}: {out.stderr!r}")
        out = run("source:named", user="games")
        check(out.returncode == 1 and "(sources.named.device)" in out.stderr,
              f"a source with a rule of its own: {out.stderr!r}")
        out = run("source:camera", user=USER)
        check(out.returncode == 1 and "a raw camera gives no frames in device memory" in out.stderr
              and "hint: read its frames in host memory" in out.stderr, f"camera: {out.stderr!r}")


def no_export(args, program, folder):
    path = clip(args, folder / "plain.mp4", "yuv420p", 3)
    with t.Daemon(args, env={**os.environ, "PELTON_NO_EXPORT": "1"}) as daemon:
        out = vulkan_sum(program, daemon.socket, path)
        check(out.returncode == 1 and "cannot share its memory with other processes" in out.stderr
              and "hint: its driver lacks VK_KHR_external_memory_fd" in out.stderr,
              f"a device that exports nothing: {out.stderr!r}")


def main():
    args = t.arguments(__doc__)
    program = os.path.abspath(args.bin) + "/vulkan_sum"
    with tempfile.TemporaryDirectory() as d:
        folder = pathlib.Path(d)
        with t.Daemon(args) as daemon:
            formats(args, daemon, program, folder)
            killed_worker(args, daemon, program, folder)
        no_export(args, program, folder)
        if os.geteuid() == 0:
            refusals(args, program, folder)
        else:
            print("skipped: rights, which need several users and root")
    sys.exit(t.finish())


main()
