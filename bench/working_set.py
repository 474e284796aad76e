#!/usr/bin/env python3
"""The working set that `crosstalk groups show --working-set` finds over one that was put in: a program in a group of
its own that reads a file again and again, beside anonymous memory and a file that it has read once or twice.
Sizes, orders and the time between two reads are random.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from contextlib import contextmanager

from lib import ours
from lib.figures import Figures
from lib.named import charged, registry
from lib.signed_rank import quantile
from lib.wire import ROOT

MIB = 1 << 20


def main():
    options = arguments()
    if os.geteuid() != 0:
        sys.exit("groups are made by root only")
    ours.build()
    figures = Figures("working_set", window=options.window, seed=options.seed, **ours.given())
    chance = random.Random(options.seed)
    with registry() as environment:
        runs = [measured(case(chance, options.window), number, environment, options) for number in range(options.runs)]
    ratios = [run["high"] / run["injected"] for run in runs]
    point, low, high = quantile(ratios, 0.5)
    what = "the working set that is found / the one that was put in, median"
    figures.add("found / injected", point, "ratio", low, high, len(runs), what, runs=runs)
    figures.add("largest error", max(abs(ratio - 1) for ratio in ratios), "ratio", n=len(runs))
    outside = sum(not run["low"] * 0.99 <= run["injected"] <= run["high"] * 1.01 for run in runs)
    figures.add("outside of what is printed", outside, "count", n=len(runs))
    figures.add("killed for memory", sum(run["kills"] for run in runs), "count", n=len(runs))
    back = [run["refaults"] * 4096 / run["memory"] for run in runs]
    figures.add("came back", max(back), "ratio", n=len(runs), what="pages that came back / the group's memory, most")
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--window", type=float, default=1.0, help="in seconds")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def case(chance, window):
    """A program, as `lib/rereader.py` takes it."""
    return {
        "hot": chance.randint(16, 256),
        # Without any, what is found would be all that the group has.
        "cold": chance.randint(16, 256),
        "anonymous": chance.choice([0, chance.randint(4, 128)]),
        "interval": chance.uniform(0.05, 0.8) * window,
        "cold_reads": chance.choice([1, 1, 2]),
        "shuffled": chance.choice([False, True]),
    }


def measured(given, number, environment, options):
    """What is found of a program, and what was put in."""
    name = f"bench-{os.getpid()}-{number}"
    crosstalk(["create", name], environment)
    with running(name, given, environment) as base:
        found = crosstalk(["show", "--working-set", "--window", f"{options.window} s", name], environment)[0]
        kills = crosstalk(["show", name], environment)[0]["oom_kills"]
    crosstalk(["remove", "--kill", name], environment)
    injected = base + (given["hot"] + given["anonymous"]) * MIB
    print(f"{json.dumps(given)}: {found['high'] / injected:.3f}, {found['stopped']}", file=sys.stderr, flush=True)
    return {**given, **found, "injected": injected, "kills": kills}


@contextmanager
def running(name, given, environment):
    """Bytes that the group had before the program read anything."""
    with tempfile.TemporaryDirectory() as folder:
        reader = [sys.executable, str(ROOT / "bench" / "lib" / "rereader.py"), folder, json.dumps(given)]
        command = [str(ours.CROSSTALK), "exec", "--group", name, "--", *reader]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, env=environment, **pipes)
        try:
            expect(process, "base")
            base = charged(name)
            process.stdin.write("\n")
            process.stdin.flush()
            expect(process, "ready")
            yield base
        finally:
            process.terminate()
            process.wait()


def expect(process, word):
    line = process.stdout.readline().strip()
    if line != word:
        sys.exit(f"expected {word} of the program, found {line!r}")


def crosstalk(words, environment):
    """The lines of JSON of a command."""
    command = [str(ours.CROSSTALK), "--json", "groups", *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    main()
