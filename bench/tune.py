#!/usr/bin/env python3
"""What `crosstalk groups tune` finds beside an exhaustive grid, on three mixes that were fixed beforehand. It is run
as an operator runs it. Then every grouping of the grid runs in a few interleaved blocks, and the one whose makespans
are least is the grid's best. Fresh blocks of the two say how much longer the one found takes; the grid's best has no
advantage there from having been selected.

The mix `few-large` is held out: it is not run while the search is changed.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from lib import ours
from lib.figures import Figures
from lib.signed_rank import ratio

MIXES = {
    "streaming": "streaming",
    "uneven": "uneven",
    "few-large": str(Path(__file__).resolve().parent / "mixes" / "few-large.mix"),
}


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("groups are made by root only")
    ours.build()
    figures = Figures("tune", part=len(options.mix) < len(MIXES), blocks=options.blocks, fresh=options.fresh, **ours.given())
    for mix in options.mix:
        measure(figures, mix, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mix", nargs="+", choices=MIXES, default=list(MIXES))
    parser.add_argument("--memory", default="512MiB")
    parser.add_argument("--read-rate", default="200 MB")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=3, help="of the grid")
    parser.add_argument("--fresh", type=int, default=20, help="blocks of the one found and the grid's best")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def measure(figures, mix, options):
    found = tune(mix, options, options.seed)
    chosen = found["chosen"]
    runs, verdict = len(found["runs"]), found["verdict"]
    grid = tune(mix, options, options.seed + 1000, "--exhaustive", options.blocks)
    best, means = grid["chosen"], by_grouping(grid)
    note = {"mix": mix, "chosen": chosen, "best": best, "runs": runs, "grid": means}
    figures.add(f"{mix}: runs of the search", runs, "count", n=1)
    if verdict is not None:
        what = f"{mix}: plain's makespan / that of {chosen}, fresh pairs"
        ends = (verdict["speedup"], "ratio", verdict["low"], verdict["high"], len(verdict["pairs"]))
        figures.add(f"{mix}: speed-up", *ends, what, mix=mix)
    metric = f"{mix}: found / best of the grid"
    if chosen == best:
        # A ratio of 1 would be implied, and no evidence.
        figures.missing(metric, f"the one found, {chosen}, is the grid's best: nothing to compare")
        return
    figures.add(metric, *fresh(mix, options, chosen, best), **note)


def fresh(mix, options, chosen, best):
    """How much longer the one found takes than the grid's best, in blocks that neither was selected by."""
    only = [word for code in (chosen, best) for word in ("--only", code)]
    runs = tune(mix, options, options.seed + 2000, "--exhaustive", options.fresh, *only)["runs"]
    blocks = {}
    for run in runs:
        if run["makespan"] is not None:
            blocks.setdefault(run["block"], {})[run["grouping"]] = run["makespan"]
    pairs = [(block[chosen], block[best]) for block in blocks.values() if {chosen, best} <= block.keys()]
    if len(pairs) < 6:
        sys.exit(f"{mix}: expected {options.fresh} blocks of {chosen} and {best}, found {len(pairs)}")
    point, low, high = ratio(pairs)
    return point, "ratio", low, high, len(pairs)


def by_grouping(grid):
    """The geometric mean of each grouping's makespans; none where a program was killed."""
    logs = {}
    for run in grid["runs"]:
        if run["block"] > 0:
            logs.setdefault(run["grouping"], []).append(run["makespan"] and math.log(run["makespan"]))
    mean = lambda values: None if None in values else math.exp(statistics.fmean(values))
    return {grouping: mean(values) for grouping, values in logs.items()}


def tune(mix, options, seed, *more):
    """The result of a run of the command."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "tune.json"
        command = [
            ours.CROSSTALK, "--json", "groups", "tune", "--mix", MIXES[mix], "--memory", options.memory, "--read-rate",
            options.read_rate, "--jobs", options.jobs, "--seed", seed, "--out", out, *more,
        ]
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout.splitlines()[-1:]}")
        return json.loads(out.read_text())


if __name__ == "__main__":
    main()
