# SPDX-License-Identifier: BSD-2-Clause
"""Bare systems of the distributions, and the packages that are built in them."""
import glob, os, pathlib, shutil, subprocess, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Label of the packages' version, mirror, components, keyring.
SUITES = {
    "bookworm": ("debian12", "http://deb.debian.org/debian", "main", "debian-archive-keyring.gpg"),
    "trixie": ("debian13", "http://deb.debian.org/debian", "main", "debian-archive-keyring.gpg"),
    "noble": ("ubuntu24.04", "http://archive.ubuntu.com/ubuntu", "main,universe",
              "ubuntu-archive-keyring.gpg"),
}


class Unavailable(Exception):
    """Why a system cannot be made."""


class Broken(Exception):
    """Why the packages cannot be made in it."""


def run(*words, **more):
    """Ends with Unavailable where the command fails."""
    try:
        out = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=3600, **more)
    except OSError as why:
        raise Unavailable(f"{words[0]}: {why.strerror}") from why
    if out.returncode:
        last = " / ".join(out.stdout.strip().splitlines()[-12:])
        raise Unavailable(f"{words[0]}: exit code {out.returncode}: {last}")
    return out.stdout


def bare(cache, suite):
    """A minimal system as a tar file of the cache."""
    tar = f"{cache}/{suite}.tar"
    if os.path.exists(tar):
        return tar
    _, mirror, components, keyring = SUITES[suite]
    keyring = "/usr/share/keyrings/" + keyring
    trust = f"[signed-by={keyring}]"
    if not os.path.exists(keyring):
        print(f"{suite}: warning: {keyring} is missing; packages are taken without signatures")
        trust = "[trusted=yes]"
    lines = "".join(f"deb {trust} {mirror} {s} {components.replace(',', ' ')}\n"
                    for s in (suite, suite + "-updates"))
    if not shutil.which("mmdebstrap"):
        raise Unavailable("no mmdebstrap here; apt-get install mmdebstrap")
    print(f"{suite}: making the bare system {tar}", flush=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        run("sh", "-c", 'printf "%s" "$1" | mmdebstrap --variant=minbase --include=apt "$2" "$3" -',
            "sh", lines, suite, folder + "/root.tar")
        os.rename(folder + "/root.tar", tar)
    return tar


def unpack(tar, root):
    os.makedirs(root)
    run("tar", "xf", tar, "-C", root)
    shutil.copy("/etc/resolv.conf", root + "/etc/resolv.conf")


def of_label(folder, label):
    return sorted(glob.glob(f"{folder}/*~{label}_*.deb"))


def packages(args, suite, tar):
    """The packages of this distribution: given ones, or built in a system of their own."""
    label = SUITES[suite][0]
    if args.debs:
        debs = of_label(args.debs, label)
        if not debs:
            raise Unavailable(f"{args.debs}: no package for {label}")
        return debs
    root = f"{args.cache}/{suite}-build"
    if not os.path.isdir(root):
        unpack(tar, root + ".new")
        os.rename(root + ".new", root)
    print(f"{suite}: building the packages in {root}", flush=True)
    os.makedirs(root + "/pelton", exist_ok=True)
    run("sh", "-c", "git ls-files -z --cached --others --exclude-standard | "
        "tar c --null --ignore-failed-read -T - | tar x -C \"$1/pelton\"", "sh", root, cwd=ROOT)
    shutil.rmtree(root + "/pelton/build/packages", ignore_errors=True)
    for line in ("scripts/install-deps --packages",
                 "scripts/build build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPELTON_TESTS=OFF",
                 "ninja -C build package"):
        try:
            run("chroot", root, "sh", "-c", "cd /pelton && nice " + line)
        except Unavailable as why:
            raise Broken(f"{line}: {why}") from why
    debs = of_label(root + "/pelton/build/packages", label)
    if not debs:
        raise Broken("the build made no package")
    return debs
