#!/usr/bin/env python3
"""What it takes a core to hand a cache line to another, beside core-to-core-latency's first
bench (compare-and-swap on one shared line): the same two processors, interleaved pairs.

The peer reports the mean of its samples, which whatever else runs on a processor makes longer; we
report a median. So it is asked for one sample again and again, of which the median counts. How far a line's
home is from the two processors depends on its address, and each program has one line: so ours, too, is
started as often, and a pair compares medians over as many lines on both sides.
"""

import argparse
import shutil
import statistics
import subprocess
import sys

from lib import ours
from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import ROOT, output

NAME, VERSION = "core-to-core-latency", "1.2.0"
PEERS = ROOT / "target" / "peers"
#: Rounds in a sample, as many as in one of our batches; before each it leaves one out.
ROUNDS, SAMPLES = 1000, 25
#: Of ours, in a start: the fewest.
BATCHES = 6


def main():
    options = arguments()
    ours.build()
    figures = Figures("cores_vs_peer", pin=options.pin, peer_version=VERSION)
    program = peer()
    if program is None:
        figures.missing("hand_over", f"{NAME} {VERSION} cannot be installed here")
        figures.finish()
    cpus = options.pin

    def mine():
        command = [str(word) for word in ours.PROBE + ["cores", "--set", f"cpus={cpus}", "--set", f"batches={BATCHES}"]]
        return statistics.median(
            ours.one(ours.counted_readings(output(command, 120)), "hand_over")[0] for _ in range(SAMPLES)
        )

    def theirs():
        command = [str(program), str(ROUNDS), "1", "--csv", "--cores", cpus]
        return statistics.median(hand_over(output(command, 60)) for _ in range(SAMPLES))

    figures.pairs(NAME, "hand_over", interleaved(mine, theirs, options.pairs, options.seed))
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--pin", default="0,1", help="the two processors")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def peer():
    """Where the peer is; built where it is missing and can be had."""
    if found := shutil.which(NAME):
        return found
    program = PEERS / "bin" / NAME
    if not program.exists():
        words = ["cargo", "install", NAME, "--version", VERSION, "--locked", "--quiet", "--root", str(PEERS)]
        subprocess.run(words, cwd="/", stderr=sys.stderr)
    return program if program.exists() else None


def hand_over(text):
    """Seconds, of the only pair in a matrix of nanoseconds with commas."""
    (found,) = [float(cell) for line in text.split() for cell in line.split(",") if cell]
    return found * 1e-9


if __name__ == "__main__":
    main()
