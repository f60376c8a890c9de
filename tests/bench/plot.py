#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""scripts/kernels-plot: every panel has at most eight lines, a legend and named axes, and figures
that cannot be drawn are an error. Exit code 77: no gnuplot."""
import pathlib, re, shutil, subprocess, sys, tempfile
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CSV = ROOT / "docs/kernels-h200.csv"


def plot(*words):
    return subprocess.run([str(ROOT / "scripts/kernels-plot"), *words], capture_output=True,
                          text=True, timeout=600)


def main():
    if not shutil.which("gnuplot"):
        print("no gnuplot")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        r = plot(str(CSV), folder, "reduce", "wavefront")
        assert r.returncode == 0, r.stderr
        for family, panels, axes in (("reduce", 4, ("size of the picture", "throughput, %")),
                                     ("wavefront", 1, ("pictures side by side", "microseconds"))):
            path = pathlib.Path(folder) / f"kernels-{family}.svg"
            texts = [e.text or "" for e in xml.parse(path).iter() if e.tag.endswith("text")
                     or e.tag.endswith("tspan")]
            for axis in axes:
                assert sum(axis in t for t in texts) == panels, (family, axis, texts)
            ids = re.findall(r'<g id="gnuplot_plot_(\d+)', path.read_text())
            lines = [int(i) for i in ids]
            assert lines.count(1) == panels and max(lines) <= 8, lines
            assert sum("variants" in t for t in texts) == panels, texts
        assert "8 fastest of" in (pathlib.Path(folder) / "kernels-reduce.svg").read_text()
        assert plot(str(CSV), folder, "reduction").returncode == 2
        broken = pathlib.Path(folder) / "broken.csv"
        broken.write_text(CSV.read_text().replace("batch_us", "batch"))
        assert plot(str(broken), folder).returncode not in (0, 2)
    print("at most eight lines a panel, named axes")
    return 0


sys.exit(main())
