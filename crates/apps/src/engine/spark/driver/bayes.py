"""Complementary Naive Bayes on Wikipedia's articles as docs/explanation/bayes.md has it, in
Spark's own tables: MLlib's `NaiveBayes` wants a vector a document, which nothing in
the JVM makes of counted features, and holds a model of labels × features at the driver.

Request: `corpus` (a MediaWiki export, plain or bz2), `partitions`, `remove_labels`
(false), `ngrams` (2), `min_support` (2), `max_df` (99), `test_percent` (20),
`split_seed` (1), `alpha` (1), `norm` (false), `passes`, `output`.

The clock starts when all pages are dealt and cached, and ends when the confusion
matrix is here.

Answer: `times` and whether they are `warm`, `loading` (s), `train`, `test` (documents), `features`, `accuracy`,
`confusion` ([category, category given, how many]), `nodes`. `output` gets the last
pass's decisions: page number from 0, category, category given, between tabs.

How: a feature is the 64-bit hash of a word or of two (among a million features, two
are the same with a probability of 3e-8). Documents are dealt by their number, so that
a document's features are counted where it is. The counts are shuffled once, by
feature. Whatever is by feature (support, idf, model) is then where they are; what is
by document (lengths, scores) is added up there before it moves.
"""

import math
import time

from pyspark.sql import functions as F

import articles
import output
import passes
from articles import LABELS
from failure import Failure
from values import table

OWN = {
    # Sums of 64-bit hashes and products wrap round.
    "spark.sql.ansi.enabled": "false",
    # The plan is as below: what is dealt by feature stays there.
    "spark.sql.adaptive.enabled": "false",
    # Hashes and weights hardly get smaller by it, and trying takes long.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    # The weights by label of a feature are gathered in a hash table.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": str(1 << 20),
}


def run(request, cluster, progress):
    path, target = request.file("corpus"), output.wanted(request)
    session, parts = cluster.session, request.whole("partitions", least=1)
    work = Work(
        remove_labels=request.flag("remove_labels", False), ngrams=request.whole("ngrams", 2, 1, 2),
        min_support=request.whole("min_support", 2, 1), max_df=request.number("max_df", 99, 0, 100),
        percent=request.whole("test_percent", 20, 1, 99), seed=request.whole("split_seed", 1),
        session=session, alpha=request.number("alpha", 1, 1e-10), norm=request.flag("norm", False), parts=parts,
    )
    before = {name: session.conf.get(name) for name in OWN}
    for name, value in {**OWN, "spark.sql.shuffle.partitions": parts}.items():
        session.conf.set(name, value)
    progress("loading the pages")
    begin = time.perf_counter()
    pages = articles.pages(session, path, parts).persist()
    try:
        if pages.count() == 0:
            raise Failure(f"`corpus`: {path} has no <page>")
        loading = time.perf_counter() - begin
        timed, answer = passes.until_warm(request, cluster, progress, lambda: work.once(pages), Work.drop)
        answer |= timed | {"loading": loading, "nodes": cluster.nodes()}
        if target:
            output.write(decisions(articles.numbered(pages), answer["decided"]), target)
        Work.drop(answer)
        del answer["decided"]
        return answer
    finally:
        pages.unpersist()
        for name, value in before.items():
            session.conf.set(name, value)


def decisions(numbers, decided):
    """Page number, category and category given."""
    named = lambda name: F.element_at(F.array(*map(F.lit, LABELS)), F.col(name) + 1)
    return decided.join(numbers, "id").orderBy("number").select("number", named("label"), named("given"))


class Work:
    """What a request asks for, and one pass of it."""

    def __init__(self, **parts):
        self.__dict__.update(parts)

    @staticmethod
    def drop(found):
        found["decided"].unpersist()

    def once(self, pages):
        kept = []

        def keep(frame):
            kept.append(frame.persist())
            return kept[-1]

        try:
            documents = keep(articles.labelled(pages, self.remove_labels, self.percent, self.seed))
            counts = {row.test: row["count"] for row in documents.groupBy("test").count().collect()}
            train, test = counts.get(False, 0), counts.get(True, 0)
            if not train or not test:
                raise Failure(f"the corpus has {train} documents to train with and {test} to test with",
                              remedy="take a larger corpus, or another `test_percent` or `split_seed`")
            counted = keep(self.counted(documents))
            weights = self.normed(keep(self.weighed(counted, train + test)), keep)
            model = keep(self.learnt(weights))
            features, labels = self.totals(weights, model)
            decided = self.decided(documents, weights, model, labels, keep).persist()
            confusion = decided.groupBy("label", "given").count().collect()
        finally:
            for one in kept:
                one.unpersist()
        right = sum(row["count"] for row in confusion if row.label == row.given)
        named = sorted([LABELS[row.label], LABELS[row.given], row["count"]] for row in confusion)
        return {"train": train, "test": test, "features": features, "accuracy": right / test,
                "confusion": named, "decided": decided}

    def counted(self, documents):
        """`feature`, `id`, `label`, `test` and how often (`tf`), dealt by feature."""
        words = documents.select("id", "label", "test", articles.words("text").alias("words"))
        if self.ngrams == 1:
            hashes = words.select("id", "label", "test", F.explode("words").alias("word"))
            hashes = hashes.select("id", "label", "test", F.xxhash64("word").alias("feature"))
        else:
            pairs = F.arrays_zip("words", F.expr("slice(words, 2, size(words))").alias("next"))
            pairs = words.select("id", "label", "test", F.inline(pairs).alias("one", "next"))
            both = F.array(F.xxhash64("one"), F.when(F.isnotnull("next"), F.xxhash64("one", "next")))
            hashes = pairs.select("id", "label", "test", F.explode(both).alias("feature")).where("feature IS NOT NULL")
        counted = hashes.groupBy("id", "label", "test", "feature").agg(F.count("*").alias("tf"))
        return counted.repartition(self.parts, "feature")

    def weighed(self, counted, count):
        """Those that are features, with √tf · idf as `weight`."""
        often = counted.groupBy("feature").agg(F.sum("tf").alias("total"), F.count("*").alias("df"))
        often = often.where((F.col("total") >= self.min_support) & (100 * F.col("df") <= self.max_df * count))
        idf = F.log((count + 1) / (F.col("df") + 1)) + 1
        often = often.select("feature", idf.alias("idf"))
        joined = counted.join(often.hint("shuffle_hash"), "feature")
        return joined.select("feature", "id", "label", "test", (F.sqrt("tf") * F.col("idf")).alias("weight"))

    def normed(self, weights, keep):
        """The same, each document's vector divided by its length."""
        weight, length = F.col("weight"), F.col("length")
        lengths = keep(weights.groupBy("id").agg(F.sqrt(F.sum(weight * weight)).alias("length")))
        return weights.join(F.broadcast(lengths), "id").withColumn("weight", weight / length).drop("length")

    def learnt(self, weights):
        """What each feature of the training documents has: `base`, the logarithm for
        a label without it, and in `parts`, for every label with it, its `sum` of
        weights and by how much `more` than the base its logarithm is."""
        trained = weights.where(~F.col("test")).groupBy("feature", "label").agg(F.sum("weight").alias("sum"))
        parts = F.collect_list(F.struct("label", "sum"))
        model = trained.groupBy("feature").agg(F.sum("sum").alias("all"), parts.alias("parts"))
        base = F.log(self.alpha + F.col("all"))
        more = lambda part: F.log(self.alpha + F.greatest(F.col("all") - part["sum"], F.lit(0.0))) - base
        completed = lambda part: F.struct(part["label"], part["sum"], more(part).alias("more"))
        return model.select("feature", base.alias("base"), F.transform("parts", completed).alias("parts"))

    def totals(self, weights, model):
        """How many features there are; and for every label that can be given, the
        logarithm of the sum of its complement (`whole`) and what its scores are
        divided by (`norm`)."""
        features = weights.select("feature").distinct().count()
        trained, base = model.agg(F.count("*"), F.sum("base")).first()
        base += (features - trained) * math.log(self.alpha)
        sums = model.select(F.inline("parts")).groupBy("label")
        sums = sums.agg(F.sum("sum").alias("sum"), F.sum("more").alias("more")).collect()
        everything, labels = sum(row["sum"] for row in sums), []
        for row in sums:
            whole = math.log(self.alpha * features + everything - row["sum"])
            labels.append((row.label, whole, features * whole - base - row.more if self.norm else 1.0))
        return features, labels

    def decided(self, documents, weights, model, labels, keep):
        """`id`, `label` and `given` of the documents that were held back. A label's
        score is Σ weight · (whole − base − more) / norm."""
        held = weights.where("test").join(model.hint("shuffle_hash"), "feature", "left")
        weight, base = F.col("weight"), F.coalesce("base", F.lit(math.log(self.alpha)))
        # One row for the document, without a label, and one for each label.
        row = lambda *columns: F.struct(*[one.alias(name) for one, name in zip(columns, ("of", "weight", "taken"))])
        alone = F.array(row(F.lit(None).cast("int"), weight, weight * base))
        each = F.transform("parts", lambda part: row(part["label"], F.lit(0.0), weight * part["more"]))
        rows = held.select("id", F.inline(F.concat(alone, F.coalesce(each, F.array()))))
        sums = keep(rows.groupBy("id", "of").agg(F.sum("weight").alias("weight"), F.sum("taken").alias("taken")))
        whole = sums.where("of IS NULL").select("id", "weight", "taken")
        parts = sums.where("of IS NOT NULL").select("id", F.col("of").alias("given"), F.col("taken").alias("more"))
        given = table(self.session, "given INT, whole DOUBLE, norm DOUBLE", labels)
        tried = documents.where("test").select("id", "label").crossJoin(F.broadcast(given))
        tried = tried.join(whole, "id", "left").join(parts, ["id", "given"], "left").fillna(0.0)
        score = (F.col("weight") * F.col("whole") - F.col("taken") - F.col("more")) / F.col("norm")
        # Of equal scores the first label of the alphabet.
        best = F.max_by("given", F.struct(score, -F.col("given")))
        return tried.groupBy("id", "label").agg(best.alias("given"))
