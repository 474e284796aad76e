"""The graph that every library gets: a small one by hand."""

import importlib.util
import unittest

from lib.graph import Graph


@unittest.skipIf(importlib.util.find_spec("numpy") is None, "skipped: needs numpy")
class SmallGraph(unittest.TestCase):
    def test_each_edge_once_and_vertices_by_their_outgoing_edges(self):
        import numpy as np

        # 5 → 0 twice, a loop at 2, no edge at 1.
        source, target = np.array([5, 5, 5, 0, 2, 2, 9]), np.array([0, 0, 2, 2, 2, 0, 5])
        graph = Graph(source, target)
        self.assertEqual((graph.count, graph.edges), (4, 5))
        # 5 has two outgoing edges; 0 and 2 one, and two incoming; 9 one, and none.
        pairs = [(int(one), int(other)) for one, other in zip(*graph.pairs())]
        self.assertEqual(pairs, [(0, 1), (0, 2), (1, 2), (2, 1), (3, 0)])
        self.assertEqual(graph.into.tolist(), [0, 1, 3, 5, 5])
        self.assertEqual(graph.sources.tolist(), [3, 0, 2, 0, 1])


if __name__ == "__main__":
    unittest.main()
