"""PageRank by GraphX, called in the JVM: no rank goes through Python.

Request: `edges` (a file of GraphX's edge list, plain or gzip), `partitions`,
`iterations` (3), `reset` (0.15), `normalised` (false), `passes`, `output`; and
how the graph is held: `storage` (MEMORY_ONLY), and `strategy`, GraphX's
PartitionStrategy (EdgePartition2D, by which a quarter less is shuffled and a fifth
less computed), or `none`: edges stay where the file's parts are, as CloudSuite leaves
them. As many partitions as there are cores are best.

The clock starts when the edge list is loaded, dealt and cached, and ends when the
sum of all ranks and the ten highest are here. As CloudSuite's, but for the ten.

Answer: `times` and whether they are `warm`, `loading` (s), `vertices`, `edges`, `sum`, `top` ([label, rank],
of equal ranks the lowest label first), `nodes`. `output` gets the last pass's ranks
(label, tab, rank, a vertex a line), as many files as partitions.
"""

import gzip
import os
import shutil
import tempfile
import time
from contextlib import contextmanager

from pyspark.sql import DataFrame

import output
import passes

TOP = 10
STRATEGIES = ["EdgePartition2D", "EdgePartition1D", "none", "RandomVertexCut", "CanonicalRandomVertexCut"]
STORAGE = ["MEMORY_ONLY", "MEMORY_AND_DISK", "MEMORY_ONLY_SER", "MEMORY_AND_DISK_SER"]


def run(request, cluster, progress):
    path, target = request.file("edges"), output.wanted(request)
    iterations, reset = request.whole("iterations", 3, least=1), request.number("reset", 0.15, 0, 1)
    normalised = request.flag("normalised", False)
    held = {"parts": request.whole("partitions", least=1), "storage": request.choice("storage", STORAGE, STORAGE[0]),
            "strategy": request.choice("strategy", STRATEGIES, STRATEGIES[0])}
    progress("loading the graph")
    with plain(path, cluster.scratch) as path:
        begin = time.perf_counter()
        graph = loaded(cluster, path, **held)
        vertices, edges = graph.vertices().count(), graph.edges().count()
        loading = time.perf_counter() - begin
        timed, (ranks, total, top) = passes.until_warm(
            request, cluster, progress,
            lambda: ranked(cluster, graph, iterations, reset, normalised),
            lambda found: found[0].unpersist(False),
        )
        nodes = cluster.nodes()
        if target:
            output.write(labelled(cluster, ranks), target)
        ranks.unpersist(False)
        graph.unpersist(False)
    return timed | {"loading": loading, "vertices": vertices, "edges": edges,
            "sum": total, "top": top, "nodes": nodes}


def loaded(cluster, path, parts, storage, strategy):
    """The graph, dealt and cached."""
    graphx, context = cluster.context._jvm.org.apache.spark.graphx, cluster.context._jsc.sc()
    level = getattr(cluster.context._jvm.org.apache.spark.storage.StorageLevel, storage)()
    graph = graphx.GraphLoader.edgeListFile(context, f"file://{path}", False, parts, level, level)
    if strategy != "none":
        graph = graph.partitionBy(graphx.PartitionStrategy.fromString(strategy), parts)
    return graph.cache()


def ranked(cluster, graph, iterations, reset, normalised):
    """The graph of the ranks, their sum, and the highest with their labels."""
    java = cluster.context._jvm
    tag, nobody = java.scala.reflect.ClassTag.Int(), java.scala.Option.empty()
    pagerank = java.org.apache.spark.graphx.lib.PageRank
    found = pagerank.runWithOptions(graph, iterations, reset, nobody, normalised, tag, tag)
    # Normalised ranks are not cached yet.
    pairs = java.org.apache.spark.api.java.JavaPairRDD(found.vertices().cache(), tag, tag)
    ranks, labels = pairs.values(), pairs.keys()
    total = java.org.apache.spark.api.java.JavaDoubleRDD(ranks.rdd()).sum()
    highest = ranks.zip(labels).rdd().top(TOP, by_rank(java))
    return found, total, [[one._2(), one._1()] for one in highest]


def by_rank(java):
    """Scala's ordering of (rank, label): the higher rank, then the lower label."""
    ranks = module(java, "scala.math.Ordering$Double$TotalOrdering$")
    labels = module(java, "scala.math.Ordering$Long$").reverse()
    return module(java, "scala.math.Ordering$").Tuple2(ranks, labels)


def module(java, name):
    """A Scala object."""
    return getattr(getattr(java, name), "MODULE$")


def labelled(cluster, ranks):
    """The ranks by label, as a table that can be written."""
    encoders, session = cluster.context._jvm.org.apache.spark.sql.Encoders, cluster.session
    pair = encoders.tuple(encoders.scalaLong(), encoders.scalaDouble())
    return DataFrame(session._jsparkSession.createDataset(ranks.vertices(), pair).toDF(), session)


@contextmanager
def plain(path, scratch):
    """The file, unpacked while it is used: a packed one has one reader, who would
    hold all vertices. On a cluster without a common file system this cannot help:
    an edge list must be plain there."""
    if not path.endswith(".gz"):
        yield path
        return
    with tempfile.NamedTemporaryFile(dir=scratch, suffix=".txt") as unpacked:
        with gzip.open(path) as packed:
            shutil.copyfileobj(packed, unpacked)
        unpacked.flush()
        os.chmod(unpacked.name, 0o644)
        yield unpacked.name
