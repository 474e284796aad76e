#!/usr/bin/env python3
"""The NAS kernels on one rank beside the reference in Fortran and C, in interleaved pairs on one processor.

The reference is NPB 3.4 without OpenMP, which its users have to have: name its folder (with BT, CG …, config, sys) by
--reference or CROSSTALK_NPB. It is built in a copy, by gfortran and gcc with -O3 -march=native, and with the faster of its
random number generators. A ratio is our Mop/s over the reference's: above 1, ours is faster. Both verify their results.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lib.figures import Figures
from lib.pairs import interleaved
from lib.signed_rank import middle, ratio
from lib.wire import ROOT, cargo, output

RANK = ROOT / "target" / "release" / "examples" / "kernel_rank"
#: Classes of each kernel. Class S is too short to time, and so is W of IS and CG.
CLASSES = {"ep": "WA", "is": "A", "cg": "A", "mg": "WA", "ft": "WA", "lu": "WA", "sp": "WA", "bt": "WA"}
#: Seconds after which a run is taken to hang: class A takes up to 20 on an idle core.
LONGEST = 300
FLAGS = "-O3 -march=native"
MAKE = f"""FC = gfortran
FLINK = $(FC)
F_LIB =
F_INC =
FFLAGS = {FLAGS} -fallow-invalid-boz -fallow-argument-mismatch
FLINKFLAGS = $(FFLAGS)
CC = gcc
CLINK = $(CC)
C_LIB = -lm
C_INC =
CFLAGS = {FLAGS}
CLINKFLAGS = $(CFLAGS)
UCC = gcc
BINDIR = ../bin
RAND = randi8
WTIME = wtime.c
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--kernels", default=",".join(CLASSES))
    parser.add_argument("--reference", default=os.environ.get("CROSSTALK_NPB"), help="its folder")
    options = parser.parse_args()
    kernels = options.kernels.split(",")
    figures = Figures("kernels", part=len(kernels) < len(CLASSES))
    why = cannot(options.reference)
    if why:
        figures.missing("Mop/s over the reference's, geometric mean", why)
        figures.missing("Mop/s over the reference's, worst", why)
        return figures.finish()
    cargo("build", "--package", "crosstalk-kernels", "--example", "kernel_rank")
    with tempfile.TemporaryDirectory(prefix="crosstalk-npb-") as folder:
        reference = Path(folder) / "npb"
        shutil.copytree(options.reference, reference)
        (reference / "config" / "make.def").write_text(MAKE)
        (reference / "bin").mkdir(exist_ok=True)
        cases = [(kernel, letter) for kernel in kernels for letter in CLASSES[kernel]]
        found = {case: measure(*case, reference, options.pairs, figures) for case in cases}
    means = [statistics.geometric_mean(of_pair) for of_pair in zip(*found.values())]
    point, low, high = ratio([(mean, 1.0) for mean in means])
    figures.add("Mop/s over the reference's, geometric mean", point, "ratio", low, high, len(means))
    worst = min(found, key=lambda case: middle(sorted(found[case])))
    point, low, high = ratio([(one, 1.0) for one in found[worst]])
    figures.add("Mop/s over the reference's, worst", point, "ratio", low, high, len(means), of=" ".join(worst))
    figures.finish()


def cannot(reference):
    """Why the reference cannot be built here; `None` if it can."""
    if not reference or not (Path(reference) / "config").is_dir():
        return "NPB 3.4 is not here: name its folder by CROSSTALK_NPB"
    missing = [program for program in ("gfortran", "gcc", "make") if shutil.which(program) is None]
    return f"{', '.join(missing)} is not here" if missing else None


def measure(kernel, letter, reference, pairs, figures):
    """Ratios of our Mop/s over the reference's."""
    make = ["make", "-s", "SHELL=/bin/bash", kernel, f"CLASS={letter}"]
    subprocess.run(make, cwd=reference, check=True, capture_output=True, timeout=600)
    program = reference / "bin" / f"{kernel}.{letter}.x"
    theirs = lambda: mops(output(["taskset", "-c", "0", program], LONGEST), kernel)
    ours = lambda: float(output(["taskset", "-c", "0", RANK, kernel, letter], LONGEST).split()[1])
    ratios = [mine / other for mine, other in interleaved(ours, theirs, pairs, kernel + letter)]
    point, low, high = ratio([(one, 1.0) for one in ratios])
    figures.add(f"{kernel}, class {letter}: Mop/s over the reference's", point, "ratio", low, high, len(ratios))
    return ratios


def mops(text, kernel):
    """The Mop/s that the reference prints, once it has verified."""
    rate = re.search(r"Mop/s total\s*=\s*([\d.]+)", text)
    if rate is None or not re.search(r"Verification\s*=\s*SUCCESSFUL", text):
        sys.exit(f"kernels: the reference's {kernel} has not verified")
    return float(rate.group(1))


if __name__ == "__main__":
    main()
