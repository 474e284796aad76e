#!/usr/bin/env python3
"""Virtual completion times of the three analytics, beside an earlier build of the program that `CROSSTALK_BEFORE` names.

Both programs run the same study in turns, the first of each pair by chance: PageRank, the recommender and the
classifier with a master and six slaves, on two networks; and once more with processors that take next to no time, where
little but the rules for messages decides.
"""

import argparse
import hashlib
import json
import os
import random
import statistics
import subprocess
import tempfile
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.systems import idle
from lib.wire import ROOT

PAIRS = 24
#: Blocks of each run.
BLOCKS = 3
#: By the name of the experiment: the workload, its size made so that an attempt takes a few tenths of a second.
WORKS = {
    "pagerank": 'kind = "pagerank", slaves = 6, scale = 17, iterations = 3',
    "als": 'kind = "als", slaves = 6, scale = 0.3, rank = 8, lambda = 0.1, iterations = 10',
    "bayes": 'kind = "bayes", slaves = 6, documents = 500',
}
#: The systems, and the files that they stand in.
SYSTEMS = {"microblade": "microblade", "kosmos-srio": "kosmos"}


def main():
    options = arguments()
    ours.build()
    before = os.environ.get("CROSSTALK_BEFORE")
    part = before is None or options.pairs < PAIRS or options.blocks < BLOCKS
    program = {} if before is None else {"before": hashlib.sha256(Path(before).read_bytes()).hexdigest()[:16]}
    figures = Figures("analytics_before", part=part, **program)
    names = {f"{work} on {system}": (work, system) for work in WORKS for system in SYSTEMS}
    names |= {f"{work} on {system}, messages alone": (work, f"idle-{system}") for work in WORKS for system in SYSTEMS}
    if before is None:
        for name in names:
            figures.missing(name, "CROSSTALK_BEFORE names no program")
        figures.finish()
    with tempfile.TemporaryDirectory(prefix="crosstalk-analytics-") as folder:
        study(Path(folder), options.blocks)
        pairs = [pair(Path(folder), [str(ours.CROSSTALK), before], at) for at in range(options.pairs)]
    for name, cell in names.items():
        whole = [(now[cell], then[cell]) for now, then in pairs if cell in now and cell in then]
        if len(whole) == len(pairs):
            figures.pairs("an earlier build", name, whole)
        else:
            figures.missing(name, f"in {len(pairs) - len(whole)} of {len(pairs)} pairs a program's attempts were all unfaithful")
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--blocks", type=int, default=BLOCKS, help="blocks of each run; a cell's time is their median")
    return parser.parse_args()


def study(folder, blocks):
    """A study file, and copies of the systems whose processors take next to no time."""
    (folder / "systems").mkdir()
    for file in SYSTEMS.values():
        text = (ROOT / "systems" / f"{file}.toml").read_text()
        (folder / "systems" / f"idle-{file}.toml").write_text(idle(text))
    lines = ['schema = "crosstalk.study/1"', 'title = "The analytics"', f"looks = [{blocks}]"]
    systems = [*SYSTEMS, *(f"idle-{system}" for system in SYSTEMS)]
    for work, parameters in WORKS.items():
        lines += [
            f"[experiment.{work}]", f"work.w = {{ {parameters} }}",
            'conditions = { system = "$system", boards = "many" }', f"factors = {{ system = {json.dumps(systems)} }}",
        ]
    (folder / "s.toml").write_text("\n".join(lines) + "\n")


def pair(folder, programs, seed):
    """Virtual times by cell of each program, the first to run by chance; inputs and order of cells are the same."""
    order = [0, 1]
    random.Random(seed).shuffle(order)
    found = [None, None]
    for at in order:
        found[at] = times(folder, programs[at], seed)
    print(f"  {seed + 1}", flush=True)
    return tuple(found)


def times(folder, program, seed):
    """The median completion time (s, virtual) of each cell of one run, by workload and system."""
    out = f"{seed}-{Path(program).stat().st_ino}"
    run = [program, "run", "./s.toml", "--testbed", "local", "--catalogue", ".", "--out", out, "--seed", str(seed + 1), "--quiet"]
    subprocess.run(run, cwd=folder, check=True, capture_output=True, timeout=300)
    lines, found = runs.journal(folder / out), {}
    # Of an attempt that is unfaithful there is another try.
    whole = {line["attempt"]: line for line in lines if line["line"] == "attempt" and line["status"] == "finished"}
    for line in lines:
        attempt = whole.get(line.get("attempt"))
        if line["line"] == "sample" and line["metric"] == "completion_time" and attempt and not attempt["fidelity"]["reasons"]:
            found.setdefault((attempt["experiment"], attempt["levels"]["system"]), []).append(line["value"])
    return {cell: statistics.median(values) for cell, values in found.items()}


if __name__ == "__main__":
    main()
