#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Runs a command in a virtual machine whose kernel has the driver vivid loaded, and vimc where
scripts/install-deps could build it.

  vivid_vm.py [--kernel FOLDER]... [--vivid PARAMETERS] COMMAND...

The machine is qemu's emulation of Debian's kernel and needs no /dev/kvm. The kernel is that of the
package linux-image-amd64, installed or unpacked to a folder (scripts/install-deps does that). The
machine sees the host's files read-only, under a layer in memory that takes its writes. It has no
network.

Exit status: that of the command; 77 without qemu or such a kernel; 124 after the time limit.
"""
import argparse, glob, os, re, shlex, shutil, subprocess, sys, tempfile

SKIPPED, TOO_LONG = 77, 124
FOLDERS = ("", "/var/cache/pelton/kernel")
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "vivid", "vimc")

INIT = r"""#!/bin/sh
mkdir -p /proc /sys /dev /lower /upper /root
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for m in %(modules)s; do
    parameters=; [ $m = vivid.ko ] && parameters='%(vivid)s'
    insmod /modules/$m $parameters || { echo "cannot load $m"; poweroff -f; }
done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144,cache=loose,ro host /lower || poweroff -f
mount -t tmpfs tmpfs /upper || poweroff -f
mkdir /upper/files /upper/work
folders=lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work
mount -t overlay -o $folders root /root || poweroff -f
cd /root
mount -t proc proc proc; mount -t sysfs sys sys; mount -t devtmpfs dev dev
mkdir -p dev/shm; mount -t tmpfs tmpfs dev/shm; mount -t tmpfs tmpfs run
ifconfig lo 127.0.0.1 up
chroot . /bin/sh -c %(command)s
echo "vivid_vm: exit $?"
poweroff -f
"""


def kernel_of(folders):
    """(image, folder of its modules) of the first kernel that has the driver; or None."""
    for modules in [m for f in folders for m in sorted(glob.glob(f"{f}/lib/modules/*"),
                                                       reverse=True)]:
        image = modules.replace("/lib/modules/", "/boot/vmlinuz-")
        if os.access(image, os.R_OK) and glob.glob(modules + "/kernel/**/vivid.ko", recursive=True):
            return image, modules
    return None


def in_order(folder, names):
    """The modules' files, each after those it depends on."""
    files = {os.path.basename(p)[:-3].replace("-", "_"): p
             for p in glob.glob(folder + "/kernel/**/*.ko", recursive=True)}
    out = []

    def add(name):
        path = files.get(name.replace("-", "_"))
        if path is None or path in out:
            return # a part of the kernel itself, or not there
        depends = re.search(rb"\0depends=([^\0]*)\0", open(path, "rb").read())
        for other in depends.group(1).decode().split(",") if depends and depends.group(1) else []:
            add(other)
        out.append(path)

    for name in names:
        add(name)
    return out


def archive(files):
    """cpio's "newc" format: (name, mode, bytes); Linux,
    Documentation/driver-api/early-userspace/buffer-format.rst."""
    out = bytearray()
    for inode, (name, mode, data) in enumerate(files + [("TRAILER!!!", 0, b"")], 1):
        path = name.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        out += b"070701" + b"".join(b"%08x" % f for f in fields) + path
        out += b"\0" * (-len(out) % 4) + data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def first_files(args, modules):
    folders = [(n, 0o040755, b"") for n in ("bin", "modules")]
    command = " ".join(map(shlex.quote, args.command))
    command = f"cd {shlex.quote(os.getcwd())}; " + " ".join(f"{k}={shlex.quote(os.environ[k])}"
                                                            for k in ("PATH", "PELTON_SEED")
                                                            if k in os.environ) + " " + command
    init = INIT % {"modules": " ".join(os.path.basename(m) for m in modules), "vivid": args.vivid,
                   "command": shlex.quote(command)}
    busybox = open(shutil.which("busybox"), "rb").read()
    names = "sh mount mkdir insmod poweroff chroot ifconfig echo".split()
    links = [("bin/" + n, 0o120777, b"busybox") for n in names]
    return (folders + [("bin/busybox", 0o100755, busybox), ("init", 0o100755, init.encode())] +
            links +
            [("modules/" + os.path.basename(m), 0o100644, open(m, "rb").read()) for m in modules])


def run(args, image, initrd):
    """Its console goes to stdout, without what the firmware draws; the command's exit status."""
    command = [args.qemu, "-accel", "tcg,thread=multi", "-cpu", "max", "-m", str(args.memory),
               "-smp", "2", "-nodefaults", "-no-reboot", "-display", "none",
               "-serial", "stdio", "-kernel", image, "-initrd", initrd, "-append",
               "console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable",
               "-virtfs",
               "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap"]
    status = None
    machine = subprocess.Popen(["timeout", "-k", "5", str(args.timeout), *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    for raw in machine.stdout:
        line = raw.decode(errors="replace").rstrip()
        end = re.search(r"vivid_vm: exit (\d+)", line)
        status = int(end.group(1)) if end else status
        if not end and "\x1b" not in line:
            print(line, flush=True)
    code = machine.wait()
    return status if status is not None else TOO_LONG if code == TOO_LONG else 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kernel", action="append", default=[],
                   help="a folder with boot/ and lib/modules/")
    p.add_argument("--vivid",
                   default="n_devs=4 node_types=0x1,0x1,0x1,0x1 multiplanar=1,2,1,2 "
                           "num_inputs=1,1,1,1 input_types=0,0,0,0",
                           help="parameters of the driver")
    p.add_argument("--qemu", default="qemu-system-x86_64")
    p.add_argument("--memory", type=int, default=1536, help="MiB")
    p.add_argument("--timeout", type=int, default=600, help="seconds for all of it")
    p.add_argument("command", nargs=argparse.REMAINDER)
    args = p.parse_args()
    kernel = kernel_of(args.kernel or FOLDERS)
    for what, there in (("qemu-system-x86", shutil.which(args.qemu)),
                        ("busybox-static", shutil.which("busybox")), ("linux-image-amd64", kernel)):
        if not there:
            print(f"skipped: no {what} here")
            return SKIPPED
    with tempfile.NamedTemporaryFile(suffix=".cpio") as initrd:
        initrd.write(archive(first_files(args, in_order(kernel[1], MODULES))))
        initrd.flush()
        return run(args, kernel[0], initrd.name)


if __name__ == "__main__":
    sys.exit(main())
