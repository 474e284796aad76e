#!/usr/bin/env python3
"""How often the interval over the ranges of a model's parameters holds the truth: true machines are drawn from the
ranges, a study of each is simulated and analysed, and its claim's interval is compared with the machine's own ratio
(`crates/study/tests/ranges.rs`).
"""

import argparse

from lib.figures import Figures
from lib.specs import specification

TEST = "ranges::the_interval_holds_the_truth_of_true_machines"
#: What of a finding's intervals must hold it, as the test prints it.
INTERVALS = ("of the model", "of both")


def main():
    options = arguments()
    environment = {"CROSSTALK_MACHINES": str(options.machines)}
    code, printed, _ = specification("crosstalk-study", "all", TEST, environment=environment)
    figures = Figures("model_coverage")
    found = {row["interval"]: row for row in printed}
    for name in INTERVALS:
        metric = f"held by the interval {name}"
        if name in found:
            row = found[name]
            figures.add(metric, row["share"], "share", row["low"], row["high"], row["machines"])
        else:
            figures.missing(metric, f"the test ended with {code} before it")
    figures.failed = code != 0
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=2000, help="true machines; the test itself draws 200")
    return parser.parse_args()


if __name__ == "__main__":
    main()
