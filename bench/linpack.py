#!/usr/bin/env python3
"""HPL on one rank beside hpcc's, in interleaved pairs.

hpcc's OpenBLAS is set to its kernel for AVX-512 where the processor has that: it does not choose it by itself on some. A
ratio is our Gflop/s over hpcc's: above 1, ours is faster.
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
#: hpcc's input: of one problem, with the other tests as small as they can be.
INPUT = """HPL
crosstalk
HPL.out
8
1
{order} Ns
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
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--order", type=int, default=4000)
    options = parser.parse_args()
    figures = Figures("linpack", order=options.order)
    cargo("build", "--package", "crosstalk-kernels", "--example", "kernel_rank")
    if shutil.which("hpcc") is None or shutil.which("mpirun.openmpi") is None:
        figures.missing("Gflop/s over hpcc's, one rank", "hpcc or Open MPI is not here")
        return figures.finish()
    with tempfile.TemporaryDirectory(prefix="crosstalk-hpcc-") as folder:
        theirs = lambda: hpcc(Path(folder), options.order)
        pairs = interleaved(lambda: ours(options.order), theirs, options.pairs, "linpack")
    figures.pairs("hpcc", "Gflop/s over hpcc's, one rank", pairs)
    figures.finish()


def ours(order):
    return float(output(["taskset", "-c", "0", RANK, "hpl", f"n={order}"]).split()[1])


def hpcc(folder, order):
    """hpcc's Gflop/s on one rank."""
    (folder / "hpccinf.txt").write_text(INPUT.format(order=order, block=192, rows=1, columns=1))
    result = folder / "hpccoutf.txt"
    result.unlink(missing_ok=True)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if "avx512f" in Path("/proc/cpuinfo").read_text():
        environment["OPENBLAS_CORETYPE"] = "SkylakeX"
    words = ["taskset", "-c", "0", "mpirun.openmpi", "--allow-run-as-root", "-np", "1", "--bind-to", "none", "hpcc"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=600, env=environment)
    found = re.search(r"HPL_Tflops=([\d.e+-]+)", result.read_text())
    if found is None:
        sys.exit("linpack: hpcc has printed no HPL_Tflops")
    return float(found.group(1)) * 1e3


if __name__ == "__main__":
    main()
