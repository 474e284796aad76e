#!/usr/bin/env python3
"""HPL on one rank and on two, beside hpcc's, in interleaved pairs; and beside the most that one core does.

A ratio is our Gflop/s over hpcc's: above 1, ours is faster. hpcc takes OpenBLAS's kernel that is the fastest here, of the
one that OpenBLAS chooses and SkylakeX's: on some processors with AVX-512 it does not choose that by itself. Both solve as
many equations, in equal blocks, on an equal grid, twice in a process, of which the better counts, and each verifies its
residual; both settings are printed. The most is of fused multiply-adds in registers (bench/peers/fma_peak.c), in pairs
with ours too; the large order is solved without hpcc, by the blocks that our program takes.

No other work may run meanwhile: two ranks need both processors.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import ROOT, cargo, output

RANK = ROOT / "target" / "release" / "examples" / "kernel_rank"
#: Rows and columns of a block, of both.
BLOCK = 192
#: By ranks: rows and columns of the grid, of both.
GRIDS = {1: (1, 1), 2: (1, 2)}
#: hpcc's input: one problem twice, with the other tests as small as they can be. It prints the better.
INPUT = """HPL
crosstalk
HPL.out
8
2
{order} {order} Ns
1
{block} NBs
0
1
{rows} Ps
{columns} Qs
16.0
1
2
1
4
1
2
1
1
1
1
1
1
2
64
0
0
1
8
separator
0
1200
0
40
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--order", type=int, default=4000)
    parser.add_argument("--large", type=int, default=22000, help="equations that fill 4 GB")
    parser.add_argument("--only", choices=["hpcc", "peak", "large"])
    options = parser.parse_args()
    figures = Figures("linpack", part=options.only is not None)
    cargo("build", "--package", "crosstalk-kernels", "--example", "kernel_rank")
    with tempfile.TemporaryDirectory(prefix="crosstalk-linpack-") as folder:
        if options.only in (None, "hpcc"):
            beside_hpcc(Path(folder), options, figures)
        if options.only != "hpcc":
            beside_peak(Path(folder), options, figures)
    figures.finish()


def beside_hpcc(folder, options, figures):
    metrics = {1: "Gflop/s over hpcc's, one rank", 2: "Gflop/s over hpcc's, two ranks"}
    why = cannot()
    if why:
        for metric in metrics.values():
            figures.missing(metric, why)
        return
    cores = fastest_cores(folder, options.order)
    for ranks, metric in metrics.items():
        rows, columns = GRIDS[ranks]
        if len(os.sched_getaffinity(0)) < ranks:
            figures.missing(metric, f"it needs {ranks} processors")
            continue
        print(f"both: N {options.order}, NB {BLOCK}, P × Q {rows} × {columns}; hpcc's OpenBLAS: {cores}")
        theirs = lambda: hpcc(folder, options.order, ranks, cores)[0]
        pairs = interleaved(lambda: ours(options.order, ranks), theirs, options.pairs, f"linpack {ranks}")
        figures.pairs("hpcc", metric, pairs, order=options.order, block=BLOCK, grid=f"{rows} × {columns}", openblas=cores)


def beside_peak(folder, options, figures):
    """One rank's share of what a core does at most, at the usual order and at a large one."""
    orders = {
        "share of the FMA peak": (options.order, options.pairs),
        "share of the FMA peak, 4 GB": (options.large, 1),
    }
    if shutil.which("gcc") is None:
        for metric in orders:
            figures.missing(metric, "there is no gcc")
        return
    program = folder / "fma_peak"
    subprocess.run(["gcc", "-O2", "-march=native", ROOT / "bench/peers/fma_peak.c", "-o", program], check=True)
    peak = lambda: float(output(["taskset", "-c", processors(1), program], 60))
    for metric, (order, pairs) in orders.items():
        if options.only == "large" and order != options.large:
            continue
        if pairs > 1:
            figures.pairs("peak", metric, interleaved(lambda: ours(order, 1), peak, pairs, metric), order=order)
        else:
            # It takes minutes: once, between two times of the peak.
            before, gflops, after = peak(), ours(order, 1, block=None), peak()
            most = max(before, after)
            figures.add(metric, gflops / most, "ratio", n=1, order=order, ours=gflops, theirs=most)


def cannot():
    """Why hpcc cannot be run here; `None` if it can."""
    missing = [program for program in ("hpcc", "mpirun.openmpi") if shutil.which(program) is None]
    if missing:
        return f"{' and '.join(missing)} is not here"
    linked = subprocess.run(["ldd", shutil.which("hpcc")], capture_output=True, text=True).stdout
    found = re.search(r"libblas\S* => (\S+)", linked)
    if found and "openblas" not in os.path.realpath(found.group(1)):
        return "hpcc's BLAS is not OpenBLAS: apt-get install libopenblas0-pthread"
    return None


def fastest_cores(folder, order):
    """The name of OpenBLAS's kernels with which hpcc is the fastest."""
    names = [None] + (["SkylakeX"] if "avx512f" in Path("/proc/cpuinfo").read_text() else [])
    found = dict(reversed(hpcc(folder, order, 1, name)) for name in names)
    for name, gflops in found.items():
        print(f"hpcc with OpenBLAS's kernels for {name}: {gflops:.1f} Gflop/s")
    return max(found, key=found.get)


def processors(ranks):
    return ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:ranks])


def ours(order, ranks, block=BLOCK):
    """Our Gflop/s; without a block's size, by the one that our program takes."""
    rows, columns = GRIDS[ranks]
    words = [f"n={order}", *([f"nb={block}"] if block else []), f"p={rows}", f"q={columns}", f"nodes={ranks}"]
    return float(output(["taskset", "-c", processors(ranks), RANK, "hpl", *words], 900).split()[1])


def hpcc(folder, order, ranks, cores):
    """hpcc's Gflop/s, and the kernels that OpenBLAS says it has taken."""
    rows, columns = GRIDS[ranks]
    (folder / "hpccinf.txt").write_text(INPUT.format(order=order, block=BLOCK, rows=rows, columns=columns))
    result = folder / "hpccoutf.txt"
    result.unlink(missing_ok=True)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_VERBOSE": "2"}
    if cores:
        environment["OPENBLAS_CORETYPE"] = cores
    words = ["mpirun.openmpi", "--allow-run-as-root", "-np", str(ranks), "--bind-to", "none", "hpcc"]
    done = subprocess.run(
        ["taskset", "-c", processors(ranks), *words],
        cwd=folder, check=True, capture_output=True, text=True, timeout=600, env=environment,
    )
    text = result.read_text()
    found, taken = re.search(r"HPL_Tflops=([\d.e+-]+)", text), re.search(r"Core: (\S+)", done.stdout + done.stderr)
    if found is None or taken is None:
        sys.exit("linpack: hpcc has printed no HPL_Tflops, or OpenBLAS not what it has taken")
    # The line of HPL's own check; other tests of hpcc have others.
    if re.search(r"^\|\|Ax-b\|\|.*PASSED$", text, re.MULTILINE) is None:
        sys.exit("linpack: hpcc's residual has not passed")
    return float(found.group(1)) * 1e3, taken.group(1)


if __name__ == "__main__":
    main()
