#!/usr/bin/env python3
"""PageRank's edges a second on one core beside NetworKit and scipy: the same
generated graph, the same order of vertices, the same iterations, the same
answer, interleaved pairs.

The time of a run is that of its iterations; loading, partitioning and
relabelling come before it on every side, as GraphX's clock has it. Every side
gets the graph with vertices in the order of their outgoing edges, which is what
each is fastest with. `make bench` calls this; tools/venv installs the peers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib import pagerank
from lib.figures import Figures
from lib.pairs import interleaved
from lib.pagerank import RESET
from lib.wire import ROOT

PYTHON = ROOT / ".tools" / "venv" / "bin" / "python"


def main():
    options = arguments()
    subprocess.run([ROOT / "tools" / "venv"], check=True)
    if Path(sys.prefix).resolve() != PYTHON.parent.parent.resolve():
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]]).returncode)
    pagerank.build()
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
    graph = pagerank.generated(options.scale, options.edge_factor, options.seed)
    print(f"R-MAT scale {options.scale}: {graph.edges} edges left, {graph.count} vertices, {options.iterations} iterations, one core")
    ours = pagerank.Ours(graph, options.iterations, directory)
    figures = Figures(
        "pagerank_vs_networkit", scale=options.scale, edges=graph.edges, iterations=options.iterations,
        seed=options.seed, our_loading=ours.loading,
    )
    peers = []
    for peer in [NetworKit, Scipy]:
        begin = time.perf_counter()
        theirs = peer(graph, options.iterations)
        loading = time.perf_counter() - begin
        print(f"loading: ours {ours.loading:.2f} s, {peer.name} {loading:.2f} s (of edges in memory)")
        times = interleaved(ours.run, theirs.run, options.pairs, options.seed)
        # Edges a second, so that higher is better.
        work = graph.edges * options.iterations
        speeds = [(work / mine, work / other) for mine, other in times]
        figures.pairs(peer.name, f"edges_per_second one core, {peer.name}", speeds, loading=loading)
        peers.append(theirs)
    ranks = ours.finish()
    for theirs in peers:
        pagerank.agree(ranks, theirs.ranks(), theirs.name, 1e-9)
    figures.finish()


class NetworKit:
    """Its PageRank for a fixed number of iterations, on one thread."""

    name = "networkit"

    def __init__(self, graph, iterations):
        import networkit
        import numpy as np

        networkit.setNumberOfThreads(1)
        self.networkit, self.iterations = networkit, iterations
        pairs = tuple(side.astype(np.int64) for side in graph.pairs())
        self.graph = networkit.GraphFromCoo(pairs, n=graph.count, directed=True)

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

    def __init__(self, graph, iterations):
        import numpy as np
        from scipy import sparse

        self.iterations, self.count = iterations, graph.count
        weights = 1.0 / np.diff(graph.out)[graph.sources]
        shape = (graph.count, graph.count)
        self.matrix = sparse.csr_array((weights, graph.sources.astype(np.int32), graph.into), shape=shape)

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
