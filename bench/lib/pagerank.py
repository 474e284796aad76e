"""What the benches of PageRank share: the same graph for every library, and our kernel."""

import subprocess
import sys
import tempfile
from pathlib import Path

from lib.graph import Graph
from lib.wire import ROOT, cargo, output

KERNEL = ROOT / "target" / "release" / "examples" / "pagerank_kernel"
RESET = 0.15


def build():
    """Builds our kernel."""
    cargo("build", "--package", "crosstalk-apps", "--example", "pagerank_kernel")


def generated(scale, edge_factor, seed):
    """An R-MAT graph, as all get it."""
    import numpy as np

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "edges"
        output([KERNEL, "generate", *map(str, (scale, edge_factor, seed)), path], 600)
        pairs = np.fromfile(path, dtype="<u4").reshape(-1, 2)
    return Graph(pairs[:, 0], pairs[:, 1])


class Ours:
    """Our kernel, a process that waits for a line before each run."""

    def __init__(self, graph, iterations, directory):
        edges, self.ranks_path = directory / "edges", directory / "ranks"
        graph.write_pairs(edges)
        command = [KERNEL, "rank", edges, str(iterations), self.ranks_path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.loading = float(self.process.stdout.readline())

    def run(self):
        """Seconds of the iterations."""
        print(file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def finish(self):
        """All ranks, by vertex."""
        import numpy as np

        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("our kernel failed")
        found = np.fromfile(self.ranks_path, dtype=[("label", "<u8"), ("rank", "<f8")])
        ranks = np.empty(len(found))
        ranks[found["label"]] = found["rank"]
        return ranks


def agree(ours, theirs, name, tolerance):
    """Stops where the two have not computed the same, but for a common factor: some scale ranks so that they add up to 1."""
    import numpy as np

    if not np.allclose(ours / ours.sum(), theirs / theirs.sum(), rtol=tolerance, atol=0):
        sys.exit(f"{name} has another answer: this compares nothing")
