#!/usr/bin/env python3
"""The memory that PageRank takes on 100 million generated edges: the peaks of
all processes, master and loading included, added up. Each is its resident set
at its largest (VmHWM), so pages that processes share count several times.
"""

import argparse
import json
import subprocess
import sys

from lib.figures import Figures
from lib.wire import ROOT, cargo

CLUSTER = ROOT / "target" / "release" / "examples" / "application_cluster"


def main():
    options = arguments()
    cargo("build", "--package", "crosstalk-apps", "--example", "application_cluster")
    figures = Figures("pagerank_memory", edges=options.edge_factor << options.scale)
    for slaves in options.slaves.split(","):
        weigh(int(slaves), options, figures)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slaves", default="1,6")
    parser.add_argument("--scale", type=int, default=23)
    parser.add_argument("--edge-factor", type=int, default=12)
    return parser.parse_args()


def weigh(slaves, options, figures):
    """Runs once with so many slaves."""
    words = ["pagerank", f"slaves={slaves}", f"scale={options.scale}", f"edge_factor={options.edge_factor}"]
    done = subprocess.run([CLUSTER, *words], stdout=subprocess.PIPE, text=True, timeout=900)
    if done.returncode != 0:
        sys.exit(done.returncode)
    readings = [json.loads(line) for line in done.stdout.splitlines()]
    total = sum(reading["value"] for reading in readings if reading["metric"] == "peak_memory")
    whole = {reading["metric"]: reading["value"] for reading in readings if not reading.get("labels")}
    times = {metric: whole[metric] for metric in ("load_time", "completion_time")}
    metric = f"peak_memory, {slaves} slave" + ("s" if slaves > 1 else "")
    figures.add(metric, total, "bytes", n=1, slaves=slaves, **times)


if __name__ == "__main__":
    main()
