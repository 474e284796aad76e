#!/usr/bin/env python3
"""The three analytics on our own programs and on Spark, in interleaved blocks of
one run on the same nodes (`crosstalk run engines`), every answer of Spark held
against ours; then with 10 and 100 times the data. At every size the first attempt on Spark
makes passes until two take the same time, 8 at most, and later ones make one; where
8 did not suffice, the next attempt makes more. A figure says how many of the attempts
ended on two equal passes or came after one that did (`warm`).

Needs Java and what `tools/venv spark` installs.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.signed_rank import middle, ratio
from lib.specs import whole
from lib.wire import ROOT

#: Times the data → the study's parameters that make it so. A graph grows by powers of two.
SIZES = {
    1: {"graph": {"pagerank.scale": 16}, "in-memory": {"als.scale": 1}, "data": {"bayes.documents": 2000}},
    10: {"graph": {"pagerank.scale": 19, "pagerank.edge_factor": 20}, "in-memory": {"als.scale": 10}, "data": {"bayes.documents": 20_000}},
    100: {"graph": {"pagerank.scale": 22, "pagerank.edge_factor": 25}, "in-memory": {"als.scale": 100}, "data": {"bayes.documents": 200_000}},
}
#: The most passes until Java is taken for warm.
PASSES = 8
#: Times the data → an executor's heap, where the engine's own is too small.
HEAP = {100: "6 GiB"}
#: Longer than anything here takes: 8 passes over 100 times the data, too.
LIMIT = 4 * 3600


def main():
    options = arguments()
    os.environ.setdefault("CROSSTALK_SPARK", str(ROOT / ".tools" / "venv-spark"))
    ours.build()
    whole_bench = set(options.times) == set(SIZES) and set(options.experiments) == set(SIZES[1])
    figures = Figures("native_vs_spark", part=not whole_bench, slaves=2)
    for times in options.times:
        for experiment, settings in SIZES[times].items():
            if experiment in options.experiments:
                compare(figures, experiment, times, settings, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10, 100], choices=SIZES)
    parser.add_argument("--experiments", nargs="+", default=list(SIZES[1]), choices=SIZES[1])
    parser.add_argument("--blocks", type=int, default=8, help="of the data as they are; fewer of more data")
    return parser.parse_args()


def compare(figures, experiment, times, settings, options):
    metric = f"{experiment}, {times} times the data"
    blocks = max(options.blocks // times, 2 if times < 100 else 1)
    changes = [f"--set={experiment}.{name}={value}" for name, value in settings.items()]
    asked = {"passes": PASSES} | ({"worker_memory": HEAP[times]} if times in HEAP else {})
    for work in {name.split(".")[0] for name in settings}:
        changes += [f"--set={experiment}.{work}.{name}={value}" for name, value in asked.items()]
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "run"
        study = only(experiment, Path(directory))
        code, text = whole(runs.run(study, out, f"--looks={blocks}", f"--deadline={LIMIT} s", *changes), LIMIT)
        pairs, made = (blockwise(out), passes(out)) if code == 0 else ([], [])
        why = next((line["reason"] for line in runs.journal(out) if line.get("reason")), text[-300:])
    if not pairs:
        figures.missing(metric, why)
        return
    point, low, high = ratio(pairs)
    spark, native = (middle(sorted(side)) for side in zip(*pairs))
    what = f"{metric}: Spark's completion time / ours"
    figures.add(
        metric, point, "ratio", low, high, len(pairs), what, spark=spark, native=native, times=times, settings=settings,
        passes=made, warm=warm(made),
    )


def only(experiment, directory):
    """The study with one experiment: what does not run need not be sized."""
    text = (ROOT / "studies" / "engines.toml").read_text()
    kept, keep = [], True
    for line in text.splitlines():
        if line.startswith("["):
            parts = line.strip("[]").split(".")
            of = {"experiment": lambda: parts[1] == experiment, "figure": lambda: parts[1] == experiment}
            keep = of.get(parts[0], lambda: False)()
        if keep:
            kept.append(line)
    path = directory / "engines.toml"
    path.write_text("\n".join(kept) + "\n")
    return path


def passes(directory):
    """How many each of Spark's attempts made, in their order: warm are those of the
    last block."""
    return [line["value"] for line in runs.samples(directory) if line["metric"] == "passes"]


def warm(made):
    """How many attempts were warm: those that needed fewer passes than the most, and all after the first of them."""
    return next((len(made) - index for index, count in enumerate(made) if count < PASSES), 0)


def blockwise(directory):
    """(Spark's, our) completion times of every block that has both."""
    attempts, times = {}, {}
    for line in runs.journal(directory):
        if line["line"] == "attempt":
            attempts[line["attempt"]] = line
        elif line["line"] == "sample" and line["metric"] == "completion_time":
            times[line["attempt"]] = line["value"]
    found = {}
    for number, line in attempts.items():
        if line["status"] == "finished" and number in times:
            found.setdefault(line["block"], {})[line["levels"]["engine"]] = times[number]
    return [(block["spark"], block["native"]) for block in found.values() if len(block) == 2]


if __name__ == "__main__":
    main()
