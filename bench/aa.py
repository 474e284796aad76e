#!/usr/bin/env python3
"""Real runs of the real program that compare equals with equals, reported as
they came out: `bench/studies/aa.toml`, each run with a seed of its own.
"""

import argparse
import collections
import sys
import tempfile
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.specs import whole


def main():
    options = arguments()
    ours.build()
    comparisons = [found for seed in range(1, options.runs + 1) for found in once(seed)]
    figures = Figures("aa")
    for experiment in dict.fromkeys(found["experiment"] for found in comparisons):
        of_it = [found for found in comparisons if found["experiment"] == experiment]
        verdicts = collections.Counter(found["verdict"] for found in of_it)
        different = verdicts["better"] + verdicts["worse"]
        ratios = [found["ratio"] and [found["ratio"]["value"], *(found["ratio"]["interval"] or [])] for found in of_it]
        figures.add(
            f"A/A runs found different, {experiment}", different, "count", n=len(of_it),
            verdicts=dict(verdicts), ratios=ratios,
        )
        print("  " + ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    return parser.parse_args()


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
