#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""pelton bench --kernels as a command: the CSV file holds the measurements. Exit code 77: no
device."""
import csv, pathlib, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import peltontest as t


def bench(args, folder, *words):
    """The rows of the CSV file."""
    r = subprocess.run([args.bin + "/pelton", "bench", "--device", args.device, "--kernels",
                        *words, "--rounds", "1", "--csv", folder + "/k.csv"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=args.timeout)
    if r.returncode == 7:
        sys.exit(t.SKIPPED)
    assert r.returncode == 0, r.stdout + r.stderr
    rows = list(csv.DictReader(open(folder + "/k.csv", newline="")))
    assert rows and all(None not in row and None not in row.values() for row in rows), rows
    assert all(row["variant"] in r.stdout and float(row["batch_us"]) > 0
               and float(row["error"]) < 1 for row in rows), rows
    return rows


def main():
    args = t.parser(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = bench(args, folder, "reduce", "--size", "64x64", "--format", "rgba8")
        assert all((row["family"], row["width"], row["height"], row["format"]) ==
                   ("reduce", "64", "64", "rgba8") for row in rows), rows
        assert len(rows) > 10, rows
        rows = bench(args, folder, "wavefront", "--size", "64x64", "--variant",
                             "deblock-columns")
        pictures = [int(row["pictures"]) for row in rows]
        assert pictures == [1, 2, 4, 8, 16, 32, 64, 128], pictures
        rows = bench(args, folder, "reduce", "--size", "64x64", "--variant", "bayer")
        assert [(row["variant"], row["format"]) for row in rows] == [("bayer", "bayer8")], rows
        r = subprocess.run([args.bin + "/pelton", "bench", "--device", args.device, "--kernels",
                            "reduce", "--variant", "slide"], capture_output=True, text=True)
        assert r.returncode == 2 and "slide: no such variant" in r.stderr and not r.stdout, r
        more = subprocess.Popen([args.bin + "/pelton", "bench", "--device", args.device,
                                 "--kernels", "--rounds", "1"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        more.stdout.close()
        assert more.wait(600) == 141, "ends when nobody reads"
        assert not more.stderr.read(), "ends when nobody reads"
    print("CSV")


main()
