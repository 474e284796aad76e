#!/usr/bin/env python3
"""How long until 64 nodes answer, as root and without, and until nothing is
left of them after kill -9 at many moments.
"""

import argparse
import os

from lib.figures import Figures
from lib.specs import example, specification


def main():
    options = arguments()
    figures = Figures("cluster", nodes=options.nodes)
    raised(figures, "up as root", options, root=True)
    raised(figures, "up without root", options, root=False)
    killed(figures, options)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--raises", type=int, default=10)
    parser.add_argument("--kills", type=int, default=50)
    return parser.parse_args()


def raised(figures, metric, options, root):
    is_root = os.geteuid() == 0
    if root and not is_root:
        figures.missing(metric, "not root")
        return
    words = [options.nodes, options.raises] + ([] if root or not is_root else ["--rootless"])
    code, found, text = example("crosstalk-testbed", "create", words, 30 + 10 * options.raises)
    if code != 0 or not found:
        figures.missing(metric, text.strip().splitlines()[-1] if text.strip() else f"it ended with {code}")
        return
    seconds = found[0]["answered_seconds"]
    rest = {name: found[0][name] for name in ("raised_seconds", "gone_seconds")}
    figures.add(metric, max(seconds), "s", n=len(seconds), answered_seconds=seconds, **rest)


def killed(figures, options):
    """The slowest of all moments, as root and then as the user `nobody` where we are root."""
    seconds = 60 + 6 * options.kills
    environment = {
        "CROSSTALK_KILLS": str(options.kills), "CROSSTALK_NODES": str(options.nodes),
        "CROSSTALK_DEADLINE": str(seconds),
    }
    wanted = "a_killed_owner_of_a_virtual_cluster"
    code, found, skipped = specification("crosstalk-testbed", "kill", wanted, 2 * seconds, environment, own_main=True)
    found = [line for line in found if line.get("owner") == "own-virtual"]
    if found:
        slowest = [line["slowest_seconds"] for line in found]
        kills = options.kills * len(found)
        figures.add("gone after kill -9", max(slowest), "s", n=kills, slowest_seconds=slowest)
        figures.add("host touched", sum(not line["host_untouched"] for line in found), "count", n=kills)
    else:
        for metric in ("gone after kill -9", "host touched"):
            figures.missing(metric, "; ".join(skipped) or "the test ended without a figure")
    if code != 0:
        figures.failed = True


if __name__ == "__main__":
    main()
