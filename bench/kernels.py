#!/usr/bin/env python3
"""The NAS kernels: how many runs verify; and on one rank beside the reference in Fortran and C, in interleaved pairs on one
processor.

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
from lib.signed_rank import ratio
from lib.specs import whole
from lib.wire import ROOT, cargo, output

RANK = ROOT / "target" / "release" / "examples" / "kernel_rank"
KERNELS = ["ep", "is", "cg", "mg", "ft", "lu", "sp", "bt"]
CLASSES = ["W", "A"]
#: What takes about a second or less is run several times, and the median taken.
SHORT = {("is", "W"): 9, ("is", "A"): 5, ("cg", "W"): 5, ("mg", "W"): 5, ("ft", "W"): 5}
#: Over the kernels of a class.
MEAN, WORST = "Mop/s over the reference's, geometric mean", "Mop/s over the reference's, worst"
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
    parser.add_argument("--kernels", default=",".join(KERNELS))
    parser.add_argument("--reference", default=os.environ.get("CROSSTALK_NPB"), help="its folder")
    options = parser.parse_args()
    kernels = options.kernels.split(",")
    figures = Figures("kernels", part=len(kernels) < len(KERNELS))
    if len(kernels) == len(KERNELS):
        verify(figures)
    beside_reference(kernels, options, figures)
    figures.finish()


def verify(figures):
    """All kernels of classes W and A on several ranks, by both clocks (crates/kernels/tests/larger.rs)."""
    cargo("test", "--no-run", "--package", "crosstalk-kernels", "--test", "all")
    test = ["cargo", "test", "--release", "--locked", "--package", "crosstalk-kernels", "--test", "all", "larger_classes"]
    _, text = whole([*test, "--", "--ignored", "--nocapture"], 1800)
    found = re.search(r"verified (\d+) of (\d+)", text)
    if found is None:
        sys.exit(f"kernels: the test of larger classes has printed no count:\n{text[-2000:]}")
    verified, runs = map(int, found.groups())
    figures.add("runs verified", verified / runs, "share", n=runs)


def beside_reference(kernels, options, figures):
    metrics = [f"{metric}, class {letter}" for letter in CLASSES for metric in (MEAN, WORST)]
    why = cannot(options.reference)
    if why:
        for metric in metrics:
            figures.missing(metric, why)
        return
    cargo("build", "--package", "crosstalk-kernels", "--example", "kernel_rank")
    with tempfile.TemporaryDirectory(prefix="crosstalk-npb-") as folder:
        reference = Path(folder) / "npb"
        shutil.copytree(options.reference, reference)
        (reference / "config" / "make.def").write_text(MAKE)
        (reference / "bin").mkdir(exist_ok=True)
        for letter in CLASSES:
            found = {kernel: measure(kernel, letter, reference, options.pairs, figures) for kernel in kernels}
            if figures.part:
                continue
            means = [statistics.geometric_mean(of_pair) for of_pair in zip(*found.values())]
            figures.add(f"{MEAN}, class {letter}", *of_ratios(means))
            worst = min(found, key=lambda kernel: of_ratios(found[kernel])[2])
            figures.add(f"{WORST}, class {letter}", *of_ratios(found[worst]), of=worst)


def of_ratios(ratios):
    """Value, unit, ends of the interval and number, as a figure takes them."""
    point, low, high = ratio([(one, 1.0) for one in ratios])
    return point, "ratio", low, high, len(ratios)


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
    times = SHORT.get((kernel, letter), 1)
    middle_of = lambda one: statistics.median(one() for _ in range(times))
    theirs = lambda: mops(output(["taskset", "-c", "0", program], LONGEST), kernel)
    ours = lambda: float(output(["taskset", "-c", "0", RANK, kernel, letter], LONGEST).split()[1])
    pairs = interleaved(lambda: middle_of(ours), lambda: middle_of(theirs), pairs, kernel + letter)
    ratios = [mine / other for mine, other in pairs]
    figures.add(f"{kernel}, class {letter}: Mop/s over the reference's", *of_ratios(ratios))
    return ratios


def mops(text, kernel):
    """The Mop/s that the reference prints, once it has verified."""
    rate = re.search(r"Mop/s total\s*=\s*([\d.]+)", text)
    if rate is None or not re.search(r"Verification\s*=\s*SUCCESSFUL", text):
        sys.exit(f"kernels: the reference's {kernel} has not verified")
    return float(rate.group(1))


if __name__ == "__main__":
    main()
