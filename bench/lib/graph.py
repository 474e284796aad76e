"""A graph as every library of PageRank gets it: each edge once, no edge from a vertex to itself, and vertices
numbered in the order of their outgoing edges, those with the most first; vertices without an edge are left out.

That is what the GAP Benchmark Suite's builder leaves of a list of edges, in the order of vertices that its PageRank
is fastest with.
"""


class Graph:
    """Edges by source and by target: `out` and `into` are where each vertex's begin, `targets` and `sources` their
    other ends, ascending."""

    def __init__(self, source, target):
        import numpy as np

        source, target = once(source, target)
        count = int(max(source.max(), target.max())) + 1
        leaving, entering = (np.bincount(side, minlength=count) for side in (source, target))
        order = np.lexsort((-entering, -leaving))
        self.count = int(np.count_nonzero(leaving + entering))
        number = np.empty(count, dtype=np.uint32)
        number[order] = np.arange(count, dtype=np.uint32)
        self.edges = len(source)
        source, target = number[source], number[target]
        self.into, self.sources = self.rows(target, source)
        self.out, self.targets = self.rows(source, target)

    def rows(self, row, column):
        """Where each row's entries begin, with the end of the last, and all entries."""
        import numpy as np

        begin = np.zeros(self.count + 1, dtype=np.int64)
        np.cumsum(np.bincount(row, minlength=self.count), out=begin[1:])
        return begin, split(np.sort(joined(row, column)))[1]

    def pairs(self):
        """Sources and targets of all edges."""
        import numpy as np

        return np.repeat(np.arange(self.count, dtype=np.uint32), np.diff(self.out)), self.targets

    def write_pairs(self, path):
        """Source and target of every edge, 32-bit, as `pagerank_kernel` reads them."""
        import numpy as np

        np.stack(self.pairs(), axis=1).tofile(path)

    def write_gap(self, path):
        """The format `.sg` of the GAP Benchmark Suite: whether directed, edges, vertices, and both directions."""
        import numpy as np

        with open(path, "wb") as file:
            file.write(b"\1" + np.array([self.edges, self.count], dtype="<i8").tobytes())
            for begin, ends in ((self.out, self.targets), (self.into, self.sources)):
                begin.tofile(file)
                ends.astype("<i4").tofile(file)


def once(source, target):
    """Sources and targets of the edges that differ, without loops."""
    import numpy as np

    keys = np.sort(joined(source[source != target], target[source != target]))
    return split(keys[np.concatenate(([True], keys[1:] != keys[:-1]))])


def joined(high, low):
    """Pairs of 32-bit numbers as one number, which sorts as they do."""
    import numpy as np

    return high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)


def split(keys):
    """The pairs of `joined`."""
    import numpy as np

    return (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
