#!/usr/bin/env python3
"""The floor of differences: real runs of the real program that compare equals with equals, reported as they came out.
`bench/studies/aa.toml`, 60 runs, each with a seed of its own; less than 20 minutes.

The floor is what 95 of 100 such comparisons stay below: the quantile of their distances from 1, with its interval by order
statistics. Of 60 runs its upper end is the largest distance; with fewer, the interval does not hold 95 %.
"""

import argparse
import collections
import math
import sys
import tempfile
import time
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.signed_rank import quantile
from lib.specs import whole

#: Runs from which on the largest one is an upper end of the 95 % quantile at 95 %: 1 - 0.95^59 > 0.95.
ENOUGH = 59


def main():
    options = arguments()
    ours.build()
    began = time.monotonic()
    comparisons = [found for seed in range(1, options.runs + 1) for found in once(seed)]
    took = time.monotonic() - began
    figures = Figures("aa", **ours.given())
    for experiment in dict.fromkeys(found["experiment"] for found in comparisons):
        add(figures, experiment, [found for found in comparisons if found["experiment"] == experiment])
    figures.add("A/A runs took", took, "s", n=options.runs)
    print(f"  {options.runs} runs took {took / 60:.1f} minutes, 60 take {took / options.runs:.1f}")
    if options.runs < ENOUGH:
        print(f"  fewer than {ENOUGH} runs: the ends of the floors are of these runs only")
    figures.finish()


def add(figures, experiment, found):
    verdicts = collections.Counter(one["verdict"] for one in found)
    ratios = [one["ratio"] and [one["ratio"]["value"], *(one["ratio"]["interval"] or [])] for one in found]
    figures.add(
        f"A/A runs found different, {experiment}", verdicts["better"] + verdicts["worse"], "count", n=len(found),
        verdicts=dict(verdicts), ratios=ratios,
    )
    print("  " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
    distances = distances_of(ratios)
    if distances:
        for what, share in [("middle", 0.5), ("floor", 0.95)]:
            point, low, high = quantile(distances, share)
            figures.add(f"A/A {what}, {experiment}", point, "ratio", low=low, high=high, n=len(distances))


def distances_of(ratios):
    """How far each ratio is from 1, as a factor of at least 1; runs without a ratio are left out."""
    return [math.exp(abs(math.log(ratio[0]))) for ratio in ratios if ratio]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs: expected at least 1")
    return options


def once(seed):
    """One comparison for each experiment of one run, also where none could be made."""
    with tempfile.TemporaryDirectory() as directory:
        command = runs.run(runs.STUDIES / "aa.toml", Path(directory) / "run", "--seed", str(seed))
        code, text = whole(command, 300)
        if code != 0:
            sys.exit(f"the run ended with {code}:\n{text[-2000:]}")
    findings = runs.result(text)["findings"]
    made = {found["experiment"]: found for found in findings["comparisons"]}
    none = {"verdict": "not compared", "ratio": None}
    experiments = dict.fromkeys(cell["experiment"] for cell in findings["cells"])
    return [made.get(name, {"experiment": name, **none}) for name in experiments]


if __name__ == "__main__":
    main()
