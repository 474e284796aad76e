#!/usr/bin/env python3
"""`crosstalk run kosmos` whole, until its first look, and its quick part on Spark: how
long they take beside what `crosstalk plan` says just before, how many attempts are
not faithful, and whether the publication's three tables have figures in them.

The whole study takes an hour, the quick part on Spark half of one; the latter needs
Java and what `tools/venv spark` installs.
"""

import argparse
import os
import sys
import tempfile
import tomllib
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.wire import ROOT

#: Longer than either takes.
LIMIT = 4 * 3600
#: What is run → its arguments; the study's first look alone.
RUNS = {"native": [], "spark": ["--engine", "spark", "--quick"]}


def main():
    options = arguments()
    os.environ.setdefault("CROSSTALK_SPARK", str(ROOT / ".tools" / "venv-spark"))
    ours.build()
    figures = Figures("kosmos_whole", part=set(options.runs) != set(RUNS))
    for name in options.runs:
        with tempfile.TemporaryDirectory() as directory:
            measure(figures, name, Path(options.keep or directory) / name)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", nargs="+", default=list(RUNS), choices=RUNS)
    parser.add_argument("--keep", help="leave the runs' directories here")
    return parser.parse_args()


def measure(figures, name, out):
    arguments = ["kosmos", *RUNS[name]]
    if name == "native":
        arguments.append(f"--looks={first_look()}")
    planned, taken, code, text = runs.planned_and_taken(arguments, out, LIMIT)
    if code != 0:
        sys.exit(f"{name} ended with {code}:\n{text[-2000:]}")
    findings = runs.result(text)["findings"]
    attempts = findings["run"]["attempts"]
    figures.add(f"{name}: planned / taken", planned / taken, "ratio", n=1, planned=planned, taken=taken)
    unfaithful = sum(cell["unfaithful"] or 0 for cell in findings["cells"])
    taken_away, spoilt, cells = watched(out)
    if cells:
        figures.add(
            f"{name}: attempts not faithful", unfaithful, "count", n=1, attempts=attempts, hypervisor=taken_away
        )
        figures.add(f"{name}: cells not faithful", spoilt, "count", n=1, cells=cells)
    else:
        for what in ["attempts", "cells"]:
            figures.missing(f"{name}: {what} not faithful", "the fidelity monitor watched no cell")
    filled = tables(findings)
    figures.add(f"{name}: published tables", len(filled), "count", n=1, tables=filled)
    for claim in findings["claims"]:
        print(f"  {claim['verdict']:>18}  {claim['statement']}")
    print(f"  {findings['headline']['text']}")


def watched(out):
    """What the fidelity monitor saw: the share of the CPU time that the hypervisor took,
    of how many cells of a block no attempt is faithful, and of how many in all."""
    stolen = computed = 0
    last = {}
    for line in runs.journal(out):
        if line["line"] != "attempt" or not line.get("fidelity"):
            continue
        counters = line["fidelity"]["counters"]
        stolen += counters.get("steal_seconds", 0)
        computed += counters.get("cpu_seconds", 0)
        last[line["experiment"], line["cell"], line["block"]] = bool(line["fidelity"]["reasons"])
    return stolen / (stolen + computed) if computed else 0, sum(last.values()), len(last)


def first_look():
    return tomllib.loads((ROOT / "studies" / "kosmos.toml").read_text())["looks"][0]


def tables(findings):
    """The publication's tables that have a published figure and one of this run; a heading alone is none."""
    ending = "analytics across boards: completion time over that of KOSMOS over SRIO"
    return [table["title"] for table in findings["tables"] if table["title"].endswith(ending) and is_filled(table)]


def is_filled(table):
    origins = [cell["origin"] for row in table["rows"] for cell in row if isinstance(cell, dict)]
    return "published" in origins and any(origin != "published" for origin in origins)


if __name__ == "__main__":
    main()
