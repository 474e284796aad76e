#!/usr/bin/env python3
"""How long the quick form of each bundled study takes, beside an earlier build of the program that
`CROSSTALK_BEFORE` names: a few blocks of each study, by both programs in turns.

How many blocks a study needs is left to neither: both run as many.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.specs import whole

#: Blocks a run of each study, so that its cells, not its start, take most of the time.
BLOCKS = {"kosmos": 2, "latency": 1, "volunteer": 1}


def main():
    options = arguments()
    ours.build()
    before = os.environ.get("CROSSTALK_BEFORE")
    figures = Figures("quick_studies", part=set(options.studies) != set(BLOCKS))
    for study in options.studies:
        metric = f"{study}: seconds of a few blocks"
        if before is None:
            figures.missing(metric, "CROSSTALK_BEFORE names no program")
            continue
        programs = [str(ours.CROSSTALK), before]
        pairs = [pair(study, programs, options.seed + at) for at in range(options.pairs)]
        figures.pairs("an earlier build", metric, pairs)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("studies", nargs="*", default=list(BLOCKS))
    return parser.parse_args()


def pair(study, programs, seed):
    """Seconds of each program, the first to run by chance; inputs and order of cells are the same."""
    order = [0, 1]
    random.Random(seed).shuffle(order)
    taken = [0.0, 0.0]
    for at in order:
        taken[at] = seconds(study, programs[at], seed)
    print(f"  {study}: {taken[0]:.1f} s, before {taken[1]:.1f} s", flush=True)
    return tuple(taken)


def seconds(study, program, seed):
    with tempfile.TemporaryDirectory() as directory:
        command = runs.run(study, Path(directory) / "run", "--quick", "--runs", str(BLOCKS[study]), "--seed", str(seed))
        began = time.monotonic()
        code, text = whole([program, *command[1:]], 400)
        taken = time.monotonic() - began
    if code != 0:
        sys.exit(f"{program} ended with {code}:\n{text[-2000:]}")
    return taken


if __name__ == "__main__":
    main()
