#!/usr/bin/env python3
"""Virtual time beside real time with seven nodes: an incast, an all-to-all, a ring,
a pipeline, and PageRank on one master and six slaves.

Real time is that of seven network namespaces on links so slow that two cores carry
every frame, and processors are idle for most of the time. As root all runs come before
other programs (nice -10). Each round first fits L, o, g and G to two nodes on such
links: round trips and streams. Then it runs each pattern once by each clock, in random
order; what it was fitted to is not among them. The datum is a round's ratio of virtual
over real time, so that intervals hold the noise of the fit, too. A run that fails ends
the bench with 1.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from lib import loggops, ours, runs
from lib.figures import Figures
from lib.signed_rank import middle, ratio
from lib.specs import whole

#: The fabric, and the system on it.
LINKS = "slow-links"
#: Messages of a stream: `IN_A_PIPELINE` in crates/probe/src/collective/function.rs.
MESSAGES = 8
PATTERNS = {"incast": "gatherv", "all-to-all": "alltoall", "ring": "sendrecv", "pipeline": "pipeline"}


def main():
    options = arguments()
    ours.build()
    if os.geteuid() == 0:
        # Ranks that wake up late would be waited for by all others.
        os.nice(-10)
    rounds = []
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory() as directory:
            rounds.append(one_round(Path(directory), options, options.seed + number))
        if sys.stderr.isatty():
            print(f"\r  round {number + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
    if options.thin:
        for key, (virtual, real) in rounds[0][1].items():
            print(f"{title(key)}: {virtual / real:.3f}")
        return
    figures = Figures("truth_patterns", rate=options.rate * 1e6, **ours.given())
    report(figures, rounds)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12, help="at least 6")
    parser.add_argument("--rate", type=float, default=20, help="of each link, in Mbit/s")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thin", action="store_true", help="one round, printed and not written: whether it runs at all")
    options = parser.parse_args()
    if options.thin:
        options.rounds = 1
    elif options.rounds < 6:
        parser.error("an interval of 95 % needs 6 rounds")
    return options


def one_round(directory, options, seed):
    """The costs that were fitted, and (pattern, size) -> (virtual, real), in seconds."""
    catalogue, rate = directory / "catalogue", options.rate * 1e6
    loggops.write(catalogue, LINKS, rate, loggops.nominal(rate))
    two = measured("slow_links_two.toml", directory / "two", catalogue, seed)
    times = lambda experiment: {int(size): seconds for (name, _, size), seconds in two.items() if name == experiment}
    costs = loggops.fit(times("round_trips"), times("streams"), MESSAGES)
    loggops.write(catalogue, LINKS, rate, costs)
    seven = measured("slow_links_seven.toml", directory / "seven", catalogue, seed)
    of = lambda experiment: {key[1:]: seconds for key, seconds in seven.items() if key[0] == experiment}
    pairs = {}
    for virtual, real in (("virtual", "real"), ("pagerank-virtual", "pagerank-real")):
        virtual, real = of(virtual), of(real)
        if virtual.keys() != real.keys() or not real:
            sys.exit(f"expected the same times by both clocks, found {sorted(virtual)} and {sorted(real)}")
        pairs |= {key: (virtual[key], real[key]) for key in real}
    return costs, pairs


def measured(study, out, catalogue, seed):
    """(experiment, level, size) -> seconds, of a study's only block."""
    options = ["--catalogue", str(catalogue), "--seed", str(seed)]
    code, text = whole(runs.run(runs.STUDIES / study, out, *options), 300)
    lines = runs.journal(out)
    if code != 0:
        sys.exit(f"{study}: the run ended with {code}:\n{text[-2000:]}")
    attempts = {line["attempt"]: line for line in lines if line["line"] == "attempt"}
    failed = [line for line in attempts.values() if line["status"] != "finished"]
    if failed:
        sys.exit(f"{study}: an attempt has not finished: {failed[0]}")
    found = {}
    for line in lines:
        if line["line"] != "sample" or line["metric"] not in ("time", "completion_time"):
            continue
        attempt = attempts[line["attempt"]]
        level = next(iter(attempt["levels"].values()))
        found[attempt["experiment"], level, line.get("labels", {}).get("size", "0")] = line["value"]
    return found


def report(figures, rounds):
    fitted = {name: [getattr(costs, name) for costs, _ in rounds] for name in loggops.Costs._fields}
    for name, values in fitted.items():
        figures.add(f"fitted {name}", middle(sorted(values)), "s", n=len(values), values=values)
    for key in rounds[0][1]:
        name = title(key)
        both = [pairs[key] for _, pairs in rounds]
        point, low, high = ratio(both)
        virtual, real = (middle(sorted(side)) for side in zip(*both))
        figures.add(
            name, point, "ratio", low, high, len(both), f"{name}: virtual time / real time", virtual=virtual, real=real,
            ratios=[one / other for one, other in both],
        )


def title(key):
    """The metric's name."""
    level, size = key
    functions = {function: pattern for pattern, function in PATTERNS.items()}
    return f"{functions[level]} of {int(size) // 1024} KiB" if level in functions else f"PageRank of 2^{level}"


if __name__ == "__main__":
    main()
