#!/usr/bin/env python3
"""Virtual time against closed forms, against undilated truth on a real veth,
and against itself on one and two cores, alone and beside a busy neighbour.

The closed forms and the truth are those of `crates/comm/tests`. For the last
the same PageRank runs once in each condition and block, in random order; the
datum is a block's ratio to two idle cores. Attempts that the fidelity monitor
refuses are counted, not left out.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from lib import ours, runs
from lib.figures import Figures
from lib.signed_rank import ratio
from lib.specs import specification, whole

#: Name -> how many cores, and whether beside a hog. The first is compared with.
CONDITIONS = {
    "two cores, idle": (2, False),
    "one core, idle": (1, False),
    "one core, hog": (1, True),
    "two cores, hog": (2, True),
}
PATTERNS = ["ping_pong", "token_ring", "all_to_all", "incast_six_to_one", "pipeline"]


def main():
    options = arguments()
    figures = Figures("virtual_time")
    parts = {"forms": closed_forms, "truth": truth, "cores": independence}
    for part in options.parts.split(","):
        parts[part](figures, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="forms,truth,cores")
    parser.add_argument("--blocks", type=int, default=16, help="of PageRank in the four conditions, at least 6")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.blocks < 6:
        parser.error("an interval of 95 % needs 6 blocks")
    return options


def closed_forms(figures, _):
    code, found, _ = specification("crosstalk-comm", "closed_forms")
    figures.failed |= code != 0
    errors = {line["pattern"]: line["worst_error"] for line in found if "pattern" in line}
    for pattern in PATTERNS:
        if pattern in errors:
            figures.add(f"closed form {pattern}", errors[pattern], "share", n=32, of="sizes, fabrics, idle or not")
        else:
            figures.missing(f"closed form {pattern}", "its test ended without a figure")


def truth(figures, _):
    code, found, skipped = specification("crosstalk-comm", "truth")
    figures.failed |= code != 0
    comparisons = {line["place"]: line for line in found if "place" in line}
    for place in ["veth", "loopback"]:
        # Emulated over real has the transport's own unsteadiness in it: between measuring and program a wake-up changes its
        # price, most where processors are virtual. Emulated over measured has not.
        for metric, of, what in [
            (f"truth {place}", "emulated_over_real", f"two ranks, emulated / undilated truth on the {place}"),
            (f"measured {place}", "emulated_over_measured", f"two ranks, emulated / what was measured on the {place}"),
        ]:
            ratios = comparisons.get(place, {}).get(of, [])
            if len(ratios) < 6:
                figures.missing(metric, "; ".join(skipped) or "its test ended without a figure")
                continue
            point, low, high = ratio([(one, 1.0) for one in ratios])
            # The test says where real time was too unsteady to be a truth.
            figures.add(metric, point, "ratio", low, high, len(ratios), what, ratios=ratios, doubts=skipped)


def independence(figures, options):
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        for name in list(CONDITIONS)[1:]:
            figures.missing(name, f"needs two cores, found {len(cores)}")
        return
    ours.build()
    order = random.Random(options.seed)
    times, doubted = {name: [] for name in CONDITIONS}, dict.fromkeys(CONDITIONS, 0)
    for block in range(options.blocks):
        for name in order.sample(list(CONDITIONS), len(CONDITIONS)):
            count, hog = CONDITIONS[name]
            time, faithful = once(cores[:count], hog)
            times[name].append(time)
            doubted[name] += not faithful
        if sys.stderr.isatty():
            print(f"\r  block {block + 1} of {options.blocks}", end="", file=sys.stderr, flush=True)
    base, *others = CONDITIONS
    for name in others:
        point, low, high = ratio(list(zip(times[name], times[base])))
        figures.add(
            name, point, "ratio", low, high, options.blocks, seconds=times[name], base_seconds=times[base],
            not_faithful=doubted[name], base_not_faithful=doubted[base],
        )


def once(cores, hog):
    """Seconds of virtual time on these cores, and whether the monitor trusts them."""
    pinned = ["taskset", "-c", ",".join(map(str, cores))]
    busy = subprocess.Popen([*pinned, sys.executable, "-c", "while True: pass"]) if hog else None
    try:
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "run"
            study = runs.STUDIES / "one_to_six.toml"
            code, text = whole(pinned + runs.run(study, out, "--testbed", "local"), 120)
            lines = runs.journal(out)
    finally:
        if busy:
            busy.kill()
            busy.wait()
    found = [line["value"] for line in lines if line.get("metric") == "completion_time" and line["line"] == "sample"]
    if code != 0 or not found:
        sys.exit(f"the run ended with {code}:\n{text[-2000:]}")
    doubts = [line["fidelity"]["reasons"] for line in lines if line.get("fidelity")]
    return found[0], not any(doubts)


if __name__ == "__main__":
    main()
