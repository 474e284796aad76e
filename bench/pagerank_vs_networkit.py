#!/usr/bin/env python3
"""PageRank's edges a second on one core beside NetworKit and scipy: the same
generated graph, the same iterations, the same answer, interleaved pairs.

The time of a run is that of its iterations; loading, partitioning and
relabelling come before it on every side, as GraphX's clock has it, and are
reported beside it. `make bench` calls this; tools/venv installs the peers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import ROOT, cargo

PYTHON = ROOT / ".tools" / "venv" / "bin" / "python"
KERNEL = ROOT / "target" / "release" / "examples" / "pagerank_kernel"
RESET = 0.15


def main():
    options = arguments()
    subprocess.run([ROOT / "tools" / "venv"], check=True)
    if Path(sys.prefix).resolve() != PYTHON.parent.parent.resolve():
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]]).returncode)
    cargo("build", "--package", "crosstalk-apps", "--example", "pagerank_kernel")
    with tempfile.TemporaryDirectory() as directory:
        compare(options, Path(directory))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--edge-factor", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def compare(options, directory):
    ours = Ours(options, directory)
    source, target = ours.edges()
    print(f"R-MAT scale {options.scale}, {len(source)} edges, {options.iterations} iterations, one core")
    print(f"loading: ours {ours.loading:.2f} s (generating included)")
    figures = Figures(
        "pagerank_vs_networkit", scale=options.scale, edges=len(source), iterations=options.iterations,
        seed=options.seed, our_loading=ours.loading,
    )
    peers = []
    for peer in [NetworKit, Scipy]:
        begin = time.perf_counter()
        theirs = peer(source, target, options.iterations)
        loading = time.perf_counter() - begin
        print(f"loading: {peer.name} {loading:.2f} s (of edges in memory)")
        times = interleaved(ours.run, theirs.run, options.pairs, options.seed)
        # Edges a second, so that higher is better.
        work = len(source) * options.iterations
        speeds = [(work / mine, work / other) for mine, other in times]
        figures.pairs(peer.name, f"edges_per_second one core, {peer.name}", speeds, loading=loading)
        peers.append(theirs)
    labels, ranks = ours.finish()
    for theirs in peers:
        agree(ranks, theirs.ranks()[labels], theirs.name)
    figures.finish()


def agree(ours, theirs, name):
    """Stops where the two have not computed the same, but for a common factor:
    NetworKit scales its ranks so that they add up to 1."""
    import numpy as np

    if not np.allclose(ours / ours.sum(), theirs / theirs.sum(), rtol=1e-9, atol=0):
        sys.exit(f"{name} has another answer: this compares nothing")


class Ours:
    """Our kernel, a process that waits for a line before each run."""

    def __init__(self, options, directory):
        self.edges_path, self.ranks_path = directory / "edges", directory / "ranks"
        numbers = [options.scale, options.edge_factor, options.seed, options.iterations]
        command = [KERNEL, *map(str, numbers), self.edges_path, self.ranks_path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.loading = float(self.process.stdout.readline().split()[0])

    def edges(self):
        import numpy as np

        pairs = np.fromfile(self.edges_path, dtype="<u4").reshape(-1, 2)
        return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)

    def run(self):
        print(file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def finish(self):
        import numpy as np

        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("our kernel failed")
        found = np.fromfile(self.ranks_path, dtype=[("label", "<u8"), ("rank", "<f8")])
        return found["label"], found["rank"]


class NetworKit:
    """Its PageRank for a fixed number of iterations, on one thread."""

    name = "networkit"

    def __init__(self, source, target, iterations):
        import networkit

        networkit.setNumberOfThreads(1)
        self.networkit, self.iterations = networkit, iterations
        self.count = int(max(source.max(), target.max())) + 1
        self.graph = networkit.GraphFromCoo((source, target), n=self.count, directed=True)

    def run(self):
        self.algorithm = self.networkit.centrality.PageRank(self.graph, damp=1 - RESET, tol=1e-300)
        self.algorithm.maxIterations = self.iterations
        begin = time.perf_counter()
        self.algorithm.run()
        spent = time.perf_counter() - begin
        if self.algorithm.numberOfIterations() != self.iterations:
            sys.exit(f"networkit made {self.algorithm.numberOfIterations()} iterations, not {self.iterations}")
        return spent

    def ranks(self):
        import numpy as np

        return np.array(self.algorithm.scores())


class Scipy:
    """Products of a sparse matrix and a vector: the simplest fast way in Python."""

    name = "scipy"

    def __init__(self, source, target, iterations):
        import numpy as np
        from scipy import sparse

        self.iterations, self.count = iterations, int(max(source.max(), target.max())) + 1
        out_degree = np.bincount(source, minlength=self.count)
        weights = 1.0 / out_degree[source]
        self.matrix = sparse.coo_array((weights, (target, source)), shape=(self.count, self.count)).tocsr()

    def run(self):
        import numpy as np

        begin = time.perf_counter()
        ranks = np.ones(self.count)
        for _ in range(self.iterations):
            ranks = RESET + (1 - RESET) * (self.matrix @ ranks)
        spent = time.perf_counter() - begin
        self.found = ranks
        return spent

    def ranks(self):
        return self.found


if __name__ == "__main__":
    main()
