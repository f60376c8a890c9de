#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The .deb packages that this build tree makes: fields, files, units, configuration, manual pages,
and their installation into an empty folder by dpkg. Exit code 77: no cpack or no dpkg here.

  deb.py --build DIR
"""
import argparse, gzip, os, pathlib, re, shutil, subprocess, sys, tempfile, urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import older
import peltontest as t
from peltontest import check

FILES = {
    "pelton": ("usr/bin/pelton", "usr/share/man/man1/pelton.1.gz", "usr/bin/pelton-v4l2",
               "usr/share/man/man1/pelton-v4l2.1.gz",
               "usr/lib/systemd/system/pelton-record@.service",
               "usr/share/bash-completion/completions/pelton",
               "usr/share/zsh/vendor-completions/_pelton",
               "usr/share/fish/vendor_completions.d/pelton.fish"),
    "peltond": ("usr/bin/peltond", "usr/libexec/pelton/peltond-worker", "etc/pelton/pelton.yaml",
                "usr/share/pelton/demo.mp4",
                "usr/lib/systemd/system/peltond.service", "usr/lib/systemd/system/peltond.socket",
                "usr/lib/systemd/system/peltond@.service",
                "usr/lib/sysusers.d/pelton.conf", "usr/lib/tmpfiles.d/pelton.conf",
                "usr/share/doc/peltond/examples/no-network.conf",
                "usr/share/doc/peltond/examples/any-network.conf",
                "usr/share/man/man8/peltond.8.gz", "usr/share/man/man5/pelton.yaml.5.gz"),
    "pelton-web": ("usr/bin/pelton-web", "etc/pelton/web.yaml",
                   "usr/lib/systemd/system/pelton-web.service",
                   "usr/lib/systemd/system/pelton-web@.service", "usr/lib/sysusers.d/pelton-web.conf",
                   "usr/share/doc/pelton-web/examples/pelton.rules.yml",
                   "usr/share/doc/pelton-web/examples/pelton.yaml",
                   "usr/share/man/man8/pelton-web.8.gz"),
    "pelton-pipewire": ("usr/bin/pelton-pipewire", "usr/share/man/man1/pelton-pipewire.1.gz"),
    "gstreamer1.0-pelton": ("usr/lib/*/gstreamer-1.0/libgstpelton.so",),
    "libpelton0": ("usr/lib/*/libpelton.so.0",),
    "libpelton-dev": ("usr/include/pelton.h", "usr/lib/*/pkgconfig/pelton.pc",
                      "usr/lib/*/libpelton.so",
                      "usr/share/doc/libpelton-dev/examples/subscribe.c",
                      "usr/share/man/man7/pelton-protocol.7.gz"),
    "python3-pelton": ("usr/lib/python3/dist-packages/pelton/__init__.py",
                       "usr/lib/python3/dist-packages/pelton/pelton.proto",
                       "usr/lib/python3/dist-packages/pelton/py.typed",
                       "usr/share/doc/python3-pelton/examples/mean_luma.py"),
}
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=600, **more)


def make(build, folder):
    """The packages by name."""
    out = run("cpack", "-G", "DEB", "-B", folder, "--config", f"{build}/CPackConfig.cmake",
              cwd=build)
    if out.returncode:
        raise SystemExit(f"cpack: exit code {out.returncode}\n{out.stdout}{out.stderr}")
    return {f.name.split("_")[0]: str(f) for f in pathlib.Path(folder).glob("*.deb")}


def fields(debs):
    for name, deb in sorted(debs.items()):
        said = run("dpkg-deb", "-f", deb).stdout
        have = dict(re.findall(r"^([A-Z][A-Za-z-]*): (.*)$", said, re.M))
        check(have["Package"] == name and all(have.get(f) for f in (
            "Version", "Architecture", "Maintainer", "Section", "Description", "Depends")),
            f"fields of {name}: {have.get('Version')} {have.get('Architecture')}")
        check(re.fullmatch(r"[^<>@]+ <[^<>@ ]+@[^<>@ ]+>", have["Maintainer"]) is not None
              and "example" not in have["Maintainer"], f"maintainer {have['Maintainer']}")
        if name not in ("libpelton-dev", "python3-pelton"):
            check("libc6 (>= " in have["Depends"], f"{name} depends: {have['Depends']}")
    daemon = run("dpkg-deb", "-f", debs["peltond"], "Depends", "Recommends").stdout
    check("libvulkan1" in daemon and "sysusers" in daemon and "mesa-vulkan-drivers" in daemon,
          "peltond wants the Vulkan loader, a driver and systemd-sysusers")
    python = dict(re.findall(r"^([A-Z][a-z]+): (.*)$", run("dpkg-deb", "-f", debs["python3-pelton"])
                             .stdout, re.M))
    check(python["Architecture"] == "all" and "python3-numpy" in python["Depends"],
          f"python3-pelton is for all machines and depends: {python['Depends']}")
    conffiles = run("dpkg-deb", "--info", debs["peltond"], "conffiles").stdout
    check(conffiles == "/etc/pelton/pelton.yaml\n", f"conffiles {conffiles!r}")
    conffiles = run("dpkg-deb", "--info", debs["pelton-web"], "conffiles").stdout
    check(conffiles == "/etc/pelton/web.yaml\n", f"conffiles {conffiles!r}")


def files(debs, root):
    for name, library in (("pelton-pipewire", "PipeWire"), ("gstreamer1.0-pelton", "GStreamer")):
        if name not in debs:
            print(f"skipped: {name}: the build has no {library}")
            del FILES[name]
    check(sorted(debs) == sorted(FILES), f"packages {sorted(debs)}")
    for name, deb in debs.items():
        run("dpkg-deb", "-x", deb, root)
        said = run("dpkg-deb", "-c", deb).stdout
        strange = [l for l in said.splitlines() if " root/root " not in l
                   or l[0] != "l" and "w" in l[5] + l[8]]
        check(not strange, f"owners and modes of {name} {strange[:2]}")
        for document in ("copyright", "changelog.gz", "changelog.Debian.gz"):
            check(f"/usr/share/doc/{name}/{document}" in said, f"{name} has its {document}")
    for name, wanted in FILES.items():
        for path in wanted:
            check(len(list(pathlib.Path(root).glob(path))) == 1, f"{name} has /{path}")


def hardening(root):
    places = ("usr/bin/pelton*", "usr/libexec/pelton/*", "usr/lib/*/libpelton.so.0")
    found = [str(f) for place in places for f in pathlib.Path(root).glob(place)]
    out = run(str(ROOT / "scripts/check-hardening"), *found)
    check(out.returncode == 0 and len(found) == 6 + ("pelton-pipewire" in FILES),
          f"check-hardening: {out.stdout}{out.stderr}")


def settings(root, folder):
    """The shipped configuration is good as it is, and so is each line behind a '#'. It names every
    key of the daemon."""
    daemon, yaml = f"{root}/usr/bin/peltond", f"{root}/etc/pelton/pelton.yaml"
    text = open(yaml).read()
    out = run(daemon, "-c", yaml, "--check")
    check(out.returncode == 0, f"pelton.yaml passes --check {out.stderr}")
    check("demo: {uri:" in run(daemon, "-c", yaml, "--print-config").stdout, "it has a source demo")
    whole, n = re.subn(r"^( *)#([a-z_.]+:)", r"\1\2", text, flags=re.M)
    # the group that the installation makes; a check looks it up
    open(folder + "/whole.yaml", "w").write(whole.replace("[pelton]", "[root]"))
    open(folder + "/door.key", "w").write("secret\n")
    out = run(daemon, "-c", folder + "/whole.yaml", "--check")
    check(out.returncode == 0 and n > 20, f"so do its {n} examples {out.stderr}")
    keys = re.findall(r"^([a-z_.]+):", run(daemon, "--print-config").stdout, re.M)
    lacking = [k for k in keys if not k.startswith("debug.") and f"\n{k}:" not in whole]
    check(len(keys) > 20 and not lacking, f"it names every key {lacking}")
    web_settings(root, folder)


def web_settings(root, folder):
    program, yaml = f"{root}/usr/bin/pelton-web", f"{root}/etc/pelton/web.yaml"
    out = run(program, "-c", yaml, "--check")
    check(out.returncode == 0, f"web.yaml passes --check {out.stderr}")
    whole, n = re.subn(r"^#([a-z-]+:)", r"\1", open(yaml).read(), flags=re.M)
    open(folder + "/web.yaml", "w").write(whole.replace("/etc/pelton/", folder + "/"))
    for name in ("web.crt", "web.key", "tokens"):
        open(f"{folder}/{name}", "w").write("control " + 40 * "x" + "\n")
    out = run(program, "-c", folder + "/web.yaml", "--check")
    check("unknown" not in out.stderr and "no option" not in out.stderr and n > 10,
          f"its {n} examples are known {out.stderr}")
    options = set(re.findall(r"^  --([a-z-]+)", run(program, "--help").stdout, re.M))
    lacking = options - set(re.findall(r"^([a-z-]+):", whole, re.M)) - {"check", "version", "help"}
    check(len(options) > 12 and not lacking, f"web.yaml names every option {lacking}")


def manuals(root):
    """Pages that name every option and every key, and that mandoc reads without a warning."""
    pages = {f.name[:-3]: gzip.open(f, "rt").read().replace("\\-", "-")
             for f in pathlib.Path(root).glob("usr/share/man/man*/*.gz")}
    daemon = root + "/usr/bin/peltond"
    options = set(re.findall(r"^  (-[a-z-]+)", run(daemon, "--help").stdout, re.M))
    lacking = [o for o in options if o not in pages["peltond.8"]]
    check(len(options) > 6 and not lacking, f"peltond(8) names every option {lacking}")
    keys = [l.split("\t") for l in run(daemon, "--list-keys").stdout.splitlines()]
    lacking = [k[0] for k in keys if k[0] not in pages["pelton.yaml.5"]]
    options = re.findall(r"^  (-[a-z-]+)", run(root + "/usr/bin/pelton-web", "--help").stdout, re.M)
    strange = [o for o in options if o not in pages["pelton-web.8"]]
    check(len(options) > 12 and not strange, f"pelton-web(8) names every option {strange}")
    for name in ("pelton-v4l2", "pelton-pipewire"):
        if name + ".1" in pages:
            options = re.findall(r"^  (-[a-z-]+)", run(f"{root}/usr/bin/{name}", "--help").stdout,
                                 re.M)
            strange = [o for o in options if o not in pages[name + ".1"]]
            check(len(options) > 5 and not strange, f"{name}(1) names every option {strange}")
    check(len(keys) > 60 and not lacking, f"pelton.yaml(5) names every key {lacking}")
    roff = re.compile(r"\\f.|\\\(..")
    words = lambda text: set(re.findall(r"[A-Za-z]{4,}", roff.sub(" ", text)))
    lacking = words(open(ROOT / "proto/PROTOCOL.md").read()) - words(pages["pelton-protocol.7"])
    check(lacking <= {"version"}, f"pelton-protocol(7) holds PROTOCOL.md {sorted(lacking)}")
    for page, text in pages.items():
        name = re.search(r"^\.SH NAME\n(.*)$", text, re.M)
        check(name is not None and name[1].startswith(page[:-2] + " "), f"{page} has its name")
        if shutil.which("mandoc") and page != "pelton.1":
            said = run("mandoc", "-Tlint", "-Wwarning", f"{root}/usr/share/man/man{page[-1]}/"
                       f"{page}.gz").stdout
            check(not said, f"mandoc about {page} {said[:200]}")


def completions(root):
    """Each shell finds its own script in its own place."""
    for path, words in (("bash-completion/completions/pelton", "complete "),
                        ("zsh/vendor-completions/_pelton", "#compdef pelton"),
                        ("fish/vendor_completions.d/pelton.fish", "complete -c pelton")):
        check(words in open(f"{root}/usr/share/{path}").read(), f"{path} has {words!r}")


def units(root, folder):
    if not shutil.which("systemd-analyze"):
        print("skipped: no systemd-analyze here")
        return
    for name in ("peltond.service", "peltond.socket", "pelton-web.service", "peltond@.service",
                 "pelton-web@.service", "pelton-record@.service"):
        text = open(f"{root}/usr/lib/systemd/system/{name}").read()
        open(f"{folder}/{name}", "w").write(text.replace("/usr/bin/", root + "/usr/bin/"))
    out = run("systemd-analyze", "verify", "--man=no", folder + "/peltond.service",
              folder + "/peltond.socket", folder + "/pelton-web.service",
              folder + "/peltond@gpu0.service", folder + "/pelton-web@gpu0.service",
              folder + "/pelton-record@door.service")
    mine = [l for l in (out.stdout + out.stderr).splitlines() if "pelton" in l]
    check(out.returncode == 0 and not mine, f"systemd-analyze verify {mine}")


def command_of(unit, instance, root, folder):
    """The unit's own line, with the places of this test."""
    line = re.search(r"^ExecStart=(.*)$", open(f"{root}/usr/lib/systemd/system/{unit}").read(),
                     re.M)[1].replace("%i", instance)
    for before, after in (("/usr/bin/", root + "/usr/bin/"), ("/etc/pelton/", folder + "/"),
                          ("/run/pelton/", folder + "/run/")):
        line = line.replace(before, after)
    return line.split()


def answer(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
            return reply.status, reply.read().decode()
    except OSError as e:
        return 0, str(e)


def instances(root, folder):
    """Two daemons side by side, each with its gateway, by the lines of the templates."""
    ports, processes = {"gpu0": 18790 + os.getpid() % 1000, "gpu1": 19790 + os.getpid() % 1000}, []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        for name, port in ports.items():
            os.makedirs(f"{folder}/run/{name}")
            open(f"{folder}/{name}.yaml", "w").write(
                f"version: 1\ndevice: libavcodec\nsources:\n  {name}: {{uri: "
                f"\"sim://{root}/usr/share/pelton/demo.mp4\", size: 160x120, always_on: yes}}\n")
            open(f"{folder}/web-{name}.yaml", "w").write(f"listen: 127.0.0.1:{port}\n")
            for unit in ("peltond@.service", "pelton-web@.service"):
                env = {**os.environ, "XDG_CACHE_HOME": folder + "/cache-" + name}
                processes.append(subprocess.Popen(command_of(unit, name, root, folder), env=env,
                                                  **quiet))
        running = 'pelton_source_state{source="%s",state="running"} 1'
        for name, port in ports.items():
            good = t.wait_until(lambda: answer(port, "/readyz")[0] == 200
                                and running % name in answer(port, "/metrics")[1], 30)
            other = (set(ports) - {name}).pop()
            check(good and answer(port, "/healthz")[0] == 200
                  and f'source="{other}"' not in answer(port, "/metrics")[1],
                  f"peltond@{name}: healthy, ready, with figures of its own source alone")
    finally:
        for p in reversed(processes):
            p.terminate()
        ends = [p.wait(t.patience(10)) for p in processes]
    check(not any(ends), f"the instances end {ends}")


def empty_system(root):
    """dpkg for an empty folder, with its scripts."""
    for d in ("info", "updates", "triggers"):
        os.makedirs(f"{root}/var/lib/dpkg/{d}")
    open(f"{root}/var/lib/dpkg/status", "w").close()
    return ("dpkg", "--root=" + root, "--force-script-chrootless", "--force-depends")


def reader(root):
    return lambda path: open(f"{root}/{path}").read() if os.path.exists(f"{root}/{path}") else ""


def may_install():
    if os.getuid() or not shutil.which("systemd-sysusers"):
        print("skipped: only root installs, and systemd-sysusers is needed")
        return False
    return True


def install(debs, root):
    """By dpkg into an empty folder; then removed again."""
    if not may_install():
        return
    dpkg, read = empty_system(root), reader(root)
    out = run(*dpkg, "-i", *debs.values())
    check(out.returncode == 0, f"dpkg -i {out.stderr.splitlines()[-2:]}")
    for user in ("pelton", "pelton-web"):
        check(re.search(fr"^{user}:x:\d+:\d+:.*:/usr/sbin/nologin$", read("etc/passwd"), re.M)
              is not None, f"the user {user}")
    groups = dict(re.findall(r"^([\w-]+):x:\d+:(.*)$", read("etc/group"), re.M))
    check(groups == {"pelton": "pelton-web", "pelton-web": "", "video": "pelton",
                     "render": "pelton"}, f"groups {groups}")
    wants = f"{root}/etc/systemd/system/sockets.target.wants/peltond.socket"
    check(os.path.islink(wants), "peltond.socket is enabled")
    for folder in ("run/pelton", "var/cache/pelton"):
        if shutil.which("systemd-tmpfiles"):
            check(os.path.isdir(f"{root}/{folder}"), f"the folder /{folder}")
    open(f"{root}/etc/pelton/pelton.yaml", "a").write("# changed\n")
    run(*dpkg, "-r", *debs)
    check(read("etc/pelton/pelton.yaml").endswith("# changed\n")
          and not os.path.exists(f"{root}/usr/bin/peltond"), "removal keeps the configuration")
    out = run(*dpkg, "-P", *debs)
    check(out.returncode == 0 and not os.path.exists(f"{root}/etc/pelton")
          and not os.path.lexists(wants), f"purge takes it away {out.stderr.splitlines()[-2:]}")


def upgrade(debs, folder):
    """From an older version, whose configuration the administrator has changed, or has not."""
    if not may_install():
        return
    old = [older.repack(deb, folder) for deb in debs.values()]
    for edited in (False, True):
        root = f"{folder}/root-{edited}"
        dpkg, read = empty_system(root), reader(root)
        out = run(*dpkg, "-i", *old)
        check(out.returncode == 0 and older.MARK in read(older.SERVICE)
              and older.MARK in read(older.CONFIGURATION),
              f"the older version {out.stderr.splitlines()[-2:]}")
        wants = f"{root}/etc/systemd/system/sockets.target.wants/peltond.socket"
        if edited:
            with open(root + older.CONFIGURATION, "a") as f:
                f.write("# the administrator's\n")
            os.unlink(wants) # systemctl disable
        out = run(*dpkg, "--force-confold", "-i", *debs.values())
        said = run(*dpkg, "-s", "peltond").stdout
        check(out.returncode == 0 and f"Version: {older.version_of(debs['peltond'])}" in said,
              f"dpkg -i of the present version over it {out.stderr.splitlines()[-2:]}")
        unit, text = read(older.SERVICE), read(older.CONFIGURATION)
        check("ExecStart=" in unit and older.MARK not in unit, "the unit is the present one")
        fresh = read(older.CONFIGURATION + ".dpkg-dist")
        check((text.endswith(older.MARK + "# the administrator's\n")
               and "sources:" in fresh and older.MARK not in fresh) if edited
              else "sources:" in text and older.MARK not in text and not fresh,
              "the changed configuration is kept" if edited else "the configuration is updated")
        check(os.path.islink(wants) != edited,
              "peltond.socket stays disabled" if edited else "peltond.socket stays enabled")


def lint(debs):
    if not shutil.which("lintian"):
        print("skipped: no lintian here")
        return
    out = run("lintian", "--fail-on", "error", *debs.values())
    check(out.returncode == 0, "lintian finds no error\n" + out.stdout)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", required=True)
    args = p.parse_args()
    args.build = os.path.abspath(args.build)
    t.binaries(args.build + "/bin")
    if not all(shutil.which(w) for w in ("cpack", "dpkg-deb", "dpkg-shlibdeps")):
        return 77
    with tempfile.TemporaryDirectory() as folder:
        debs = make(args.build, folder + "/packages")
        files(debs, folder + "/files")
        fields(debs)
        hardening(folder + "/files")
        settings(folder + "/files", folder)
        manuals(folder + "/files")
        completions(folder + "/files")
        units(folder + "/files", folder)
        instances(folder + "/files", folder)
        install(debs, folder + "/root")
        upgrade(debs, folder + "/upgrade")
        lint(debs)
    return t.finish()


sys.exit(main())
