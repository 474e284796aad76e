"""PageRank by the recurrence of docs/explanation/pagerank.md, in scipy: the reference of
tests/pagerank.rs. Usage: pagerank_reference.py EDGE-LIST ITERATIONS RESET VARIANT
Writes label, tab, rank, a vertex a line, by label.
"""

import gzip
import sys

import numpy as np
from scipy import sparse


def edge_list(path):
    """Source and target of every edge."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as text:
        pairs = [line.split()[:2] for line in text if line.strip() and not line.startswith("#")]
    return np.array(pairs, dtype=np.int64).T


def pagerank(source, target, iterations, reset, variant):
    """The vertices' labels and ranks."""
    labels, index = np.unique(np.concatenate([source, target]), return_inverse=True)
    n, (u, v) = len(labels), np.split(index, 2)
    out_degree = np.bincount(u, minlength=n)
    # Duplicate edges add up in the matrix, as each carries its own share.
    matrix = sparse.coo_array((1.0 / out_degree[u], (v, u)), shape=(n, n)).tocsr()
    ranks = np.ones(n)
    for _ in range(iterations):
        ranks = reset + (1.0 - reset) * (matrix @ ranks)
    if variant == "graphx-normalised":
        ranks *= n / ranks.sum()
    return labels, ranks


if __name__ == "__main__":
    path, iterations, reset, variant = sys.argv[1:]
    for label, rank in zip(*pagerank(*edge_list(path), int(iterations), float(reset), variant)):
        print(f"{label}\t{float(rank)!r}")
