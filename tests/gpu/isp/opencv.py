# SPDX-License-Identifier: BSD-2-Clause
"""The camera pipeline beside OpenCV, on the photographs of Debian's opencv-doc. Bilinear demosaic
and lens correction are within one level of 8 bits away from borders. Chessboard corners of
corrected pictures lie on straight lines. The PSNR of the demosaic methods is printed.

  opencv.py --bin build/bin [--device NAME] [--only demosaic|undistort|lines|psnr]

Exit code 77 without python3-opencv, opencv-doc or a Vulkan device.
"""
import argparse, gzip, os, pathlib, subprocess, sys, tempfile

SKIPPED = 77
try:
    import cv2
    import numpy as np
except ImportError:
    print("skipped: python3-opencv is absent")
    sys.exit(SKIPPED)
DATA = pathlib.Path("/usr/share/doc/opencv-doc/examples/data")
COLOUR = """baboon.jpg fruits.jpg home.jpg board.jpg butterfly.jpg building.jpg messi5.jpg stuff.jpg
aloeL.jpg apple.jpg orange.jpg squirrel_cls.jpg leuvenA.jpg graf1.png rubberwhale1.png""".split()
CALIBRATION = "left_intrinsics.yml"
BORDER = 8


class Problem(Exception):
    pass


def data_file(name):
    """Its path; unpacked where Debian has compressed it."""
    path = DATA / name
    if path.exists():
        return str(path)
    if not (DATA / (name + ".gz")).exists():
        raise Problem("%s is not in opencv-doc" % name)
    out = pathlib.Path(WORK) / name
    out.write_bytes(gzip.open(str(path) + ".gz").read())
    return str(out)


def develop(args, raws, shape, **options):
    """Each raw frame through isp_develop; shape: of an output."""
    files, outs = [], []
    for i, raw in enumerate(raws):
        name = "%s/%d.raw" % (WORK, i)
        raw.tofile(name)
        outs.append("%s/%d.out" % (WORK, i))
        files += [name, outs[-1]]
    height, width = raws[0].shape
    command = [args.bin + "/isp_develop",
               "size=%dx%d" % (width, height)] + ["%s=%s" % o for o in options.items()]
    command += ["device=" + args.device] if args.device else []
    run = subprocess.run(command + files, capture_output=True, timeout=600)
    if run.returncode == SKIPPED:
        print("skipped: no Vulkan device")
        sys.exit(SKIPPED)
    if run.returncode:
        raise Problem(run.stderr.decode())
    return [np.fromfile(o, np.uint8).reshape(shape) for o in outs]


def even(image):
    return np.ascontiguousarray(image[: image.shape[0] & ~3, : image.shape[1] & ~3])


def read(name, flags):
    image = cv2.imread(data_file(name), flags)
    if image is None:
        raise Problem(name + " cannot be read")
    return image


def worst(a, b, inside=None):
    d = np.abs(a.astype(int) - b.astype(int))
    if d.ndim == 3:
        d = d.max(2)
    return int((d if inside is None else d[inside]).max())


def check(name, difference, limit=1):
    print("%-44s differs by %d at most" % (name, difference))
    if difference > limit:
        raise Problem("%s: differs by %d" % (name, difference))


def mosaic(image, order):
    """image: R, G, B."""
    raw = np.empty(image.shape[:2], np.uint8)
    for i, colour in enumerate(order):
        raw[i // 2 :: 2, i % 2 :: 2] = image[i // 2 :: 2, i % 2 :: 2, "rgb".index(colour)]
    return raw


def demosaic(args):
    codes = {"rggb": cv2.COLOR_BayerBG2RGB, "grbg": cv2.COLOR_BayerGB2RGB,
             "gbrg": cv2.COLOR_BayerGR2RGB, "bggr": cv2.COLOR_BayerRG2RGB}
    image = even(read("fruits.jpg", cv2.IMREAD_COLOR)[..., ::-1])
    for order, code in codes.items():
        raw = mosaic(image, order)
        ours = develop(args, [raw], image.shape, order=order, demosaic="bilinear")[0]
        theirs = cv2.cvtColor(raw, code)
        check("demosaic bilinear, %s, fruits" % order, worst(ours[BORDER:-BORDER, BORDER:-BORDER],
                                                             theirs[BORDER:-BORDER,
                                                                    BORDER:-BORDER]))


def calibration():
    f = cv2.FileStorage(data_file(CALIBRATION), cv2.FILE_STORAGE_READ)
    return f.getNode("camera_matrix").mat(), f.getNode("distortion_coefficients").mat()


def lefts():
    names = ["left%02d.jpg" % i for i in range(1, 15) if i != 10]
    return names, [even(read(n, cv2.IMREAD_GRAYSCALE)) for n in names]


def write_fisheye(K, D, size):
    """For pelton; OpenCV has no file format of its own for it."""
    path = WORK + "/fisheye.yaml"
    lines = ["image_width: %d" % size[0], "image_height: %d" % size[1],
             "distortion_model: equidistant",
             "camera_matrix: {rows: 3, cols: 3, data: %s}" % [float(v) for v in K.ravel()],
             "distortion_coefficients: {rows: 1, cols: 4, data: %s}" %
             [float(v) for v in D.ravel()]]
    open(path, "w").write("\n".join(lines) + "\n")
    return path


def inside(mx, my, shape):
    """Pixels whose samples are all away from the picture's border."""
    h, w = shape
    return (mx > 2) & (my > 2) & (mx < w - 3) & (my < h - 3)


def undistort(args):
    K, D = calibration()
    names, images = lefts()
    shape = images[0].shape
    size = shape[::-1]
    mask = inside(*cv2.initUndistortRectifyMap(K, D, None, K, size, cv2.CV_32FC1), shape)
    ours = develop(args, images, shape, order="mono", format="gray8",
                   calibration=data_file(CALIBRATION))
    check("lens, Brown-Conrady, left01..14", max(worst(o, cv2.undistort(i, K, D), mask) for o,
                                                 i in zip(ours, images)))
    F, E = np.array([[400, 0, 322.5], [0, 405, 238.25],
                     [0, 0, 1]]), np.array([0.05, -0.02, 0.004, -0.001])
    mask = inside(*cv2.fisheye.initUndistortRectifyMap(F, E, np.eye(3), F, size, cv2.CV_32FC1),
                  shape)
    ours = develop(args, images, shape, order="mono", format="gray8",
                   calibration=write_fisheye(F, E, size))
    check("lens, fisheye, left01..14", max(worst(o, cv2.fisheye.undistortImage(i, F, E, None, F),
                                                 mask) for o, i in zip(ours, images)))
    colour = even(read("building.jpg", cv2.IMREAD_COLOR)[..., ::-1])[:480, :640]
    raw = mosaic(colour, "rggb")
    ours = develop(args, [raw], raw.shape + (3,), order="rggb", demosaic="bilinear",
                   calibration=data_file(CALIBRATION))[0]
    theirs = cv2.undistort(cv2.cvtColor(raw, cv2.COLOR_BayerBG2RGB), K, D)
    mask = inside(*cv2.initUndistortRectifyMap(K, D, None, K, raw.shape[::-1], cv2.CV_32FC1),
                  raw.shape)
    check("demosaic and lens at once, building", worst(ours, theirs, mask))


def line_errors(corners, columns):
    """Distances of each row's and column's corners from the straight line through them."""
    grid = corners.reshape(-1, columns, 2)
    out = []
    for line in list(grid) + list(grid.transpose(1, 0, 2)):
        centred = line - line.mean(0)
        normal = np.linalg.svd(centred)[2][1]
        out += list(centred @ normal)
    return np.array(out)


def lines(args):
    K, D = calibration()
    names, images = lefts()
    ours = develop(args, images, images[0].shape, order="mono", format="gray8",
                   calibration=data_file(CALIBRATION), alpha=1)
    before, after, found = [], [], 0
    for name, bent, straight in zip(names, images, ours):
        for image, errors in ((bent, before), (straight, after)):
            good, corners = cv2.findChessboardCorners(image, (9, 6))
            if not good:
                continue
            found += image is straight
            corners = cv2.cornerSubPix(image, corners, (5, 5), (-1, -1),
                                       (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 30, 0.01))
            errors.append(np.sqrt((line_errors(corners[:, 0], 9) ** 2).mean()))
    print("chessboards in %d of %d pictures; corners lie within %.3f pixels RMS of straight lines "
          "(%.3f in the worst picture); %.3f before"
          % (found, len(names), np.sqrt(np.mean(np.square(after))), max(after),
             np.sqrt(np.mean(np.square(before)))))
    if found < 10 or max(after) > 0.5:
        raise Problem("corners do not lie on straight lines")


def psnr_of(a, b):
    a, b = (v[16:-16, 16:-16].astype(float) for v in (a, b))
    return 10 * np.log10(255**2 / np.mean((a - b) ** 2))


def psnr(args):
    methods = ["bilinear", "malvar", "edge"]
    rows = []
    print("| photograph | %s |\n|---|---|---|---|" % " | ".join(methods))
    for name in COLOUR:
        image = even(read(name, cv2.IMREAD_COLOR)[..., ::-1])[:640, :800]
        row = [psnr_of(develop(args, [mosaic(image, "rggb")], image.shape, demosaic=m)[0], image)
               for m in methods]
        rows.append(row)
        print("| %s | %s |" % (name.split(".")[0], " | ".join("%.2f" % v for v in row)))
    mean = np.mean(rows, 0)
    print("| **mean** | %s |" % " | ".join("%.2f" % v for v in mean))
    if not (mean[0] < mean[1] and mean[1] + 1 <= mean[2]):
        raise Problem("the edge-directed method is not 1 dB above Malvar's")


GROUPS = {"demosaic": demosaic, "undistort": undistort, "lines": lines, "psnr": psnr}


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default=os.environ.get("PELTON_BINARY_DIR", "build") + "/bin")
    p.add_argument("--device", default="")
    p.add_argument("--only", choices=GROUPS)
    args = p.parse_args()
    if not DATA.is_dir():
        print("skipped: opencv-doc is absent")
        return SKIPPED
    failed = 0
    for name, group in GROUPS.items():
        if args.only and args.only != name:
            continue
        try:
            group(args)
        except Problem as e:
            print("FAILED %s: %s" % (name, e))
            failed = 1
    return failed


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as WORK:
        sys.exit(main())
