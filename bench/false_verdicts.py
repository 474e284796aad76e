#!/usr/bin/env python3
"""How often a whole study errs, and how often it finds a true 5 % difference:
the simulated studies of `crates/stats/examples/false_verdicts.rs`.
"""

import argparse
import json
import tempfile
from pathlib import Path

from lib.figures import Figures
from lib.specs import example


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "report.json"
        words = ["--studies", options.studies, "--seed", options.seed, "--json", path]
        code, _, text = example("crosstalk-stats", "false_verdicts", words, 900)
        print(text, end="")
        if not path.exists():
            raise SystemExit(code)
        report = json.loads(path.read_text())
    figures = Figures("false_verdicts", studies=report["studies"], seed=report["seed"], looks=report["looks"])
    figures.add("false verdicts", report["worst_false_share"], "share", n=report["studies"])
    figures.add("false verdicts, upper bound", report["worst_false_share_upper_95"], "share", n=report["studies"])
    figures.add("power", report["power"], "share", low=report["power_lower_95"], outcomes=report["outcomes"])
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000, help="on each kind of machine, in each situation")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
