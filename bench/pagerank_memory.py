#!/usr/bin/env python3
"""The memory that PageRank takes on 100 million generated edges: the peaks of
all processes, master and loading included, added up. Each is its resident set
at its largest (VmHWM), so pages that processes share count several times.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLUSTER = ROOT / "target" / "release" / "examples" / "pagerank_cluster"
MOST = 1.5e9


def main():
    options = arguments()
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--package", "crosstalk-work", "--example", "pagerank_cluster"],
        cwd=ROOT, check=True,
    )
    rows = [weigh(int(slaves), options) for slaves in options.slaves.split(",")]
    path = ROOT / "bench" / "results" / "pagerank_memory.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1) + "\n")
    print(f"written to {path.relative_to(ROOT)}")
    sys.exit(0 if all(row["reached"] for row in rows) else 1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slaves", default="1,6")
    parser.add_argument("--scale", type=int, default=23)
    parser.add_argument("--edge-factor", type=int, default=12)
    return parser.parse_args()


def weigh(slaves, options):
    """Runs once with so many slaves; one line of the result."""
    words = [f"slaves={slaves}", f"scale={options.scale}", f"edge_factor={options.edge_factor}"]
    done = subprocess.run([CLUSTER, *words], stdout=subprocess.PIPE, text=True, timeout=900)
    if done.returncode != 0:
        sys.exit(done.returncode)
    readings = [json.loads(line) for line in done.stdout.splitlines()]
    total = sum(reading["value"] for reading in readings if reading["metric"] == "peak_memory")
    whole = {reading["metric"]: reading["value"] for reading in readings if not reading.get("labels")}
    edges = options.edge_factor << options.scale
    print(f"{slaves} slaves, {edges} edges: {total / 1e9:.2f} GB in all, must be <= {MOST / 1e9} GB")
    return {
        "name": "pagerank_memory", "metric": "peak_memory", "slaves": slaves, "edges": edges,
        "ours": total, "must": f"<= {MOST:.0f}", "reached": total <= MOST,
        "load_time": whole["load_time"], "completion_time": whole["completion_time"],
    }


if __name__ == "__main__":
    main()
