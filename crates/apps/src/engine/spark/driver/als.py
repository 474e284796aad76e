"""ALS by MLlib, as CloudSuite's In-Memory Analytics uses it, in the JVM: no rating
goes through Python. `pyspark.ml.recommendation.ALS` is what `mllib`'s ALS, which
CloudSuite calls, hands over to.

Request: `ratings` (MovieLens's ratings.csv), `personal` (the new user's, as
CloudSuite's file; without it the 11 items with most ratings for training, with 3, 4
and 5 stars by turns), `rank`, `lambda`, `iterations` (a number or a list each: the
grid), `recommend` (50), `seed` (1), `partitions` (of the ratings, and blocks of
users and of items), `passes`, `output`.

The clock runs from reading the ratings to the last recommendation, and so `loading`,
until the ratings are split, dealt and cached, is in every pass's time. Finding the
stand-in for `personal` is not. What is computed is in docs/explanation/als.md; predictions are
in single precision, as MLlib's are.

Answer: `times` and whether they are `warm`, `loading` (s, the last pass's), `models` ([rank, lambda, iterations,
validation error] in the grid's order), `best` (its first three), `rmse_validation`,
`rmse_test`, `rmse_mean` (of predicting the mean), `recommendations` ([item,
prediction], best first), `nodes`. `output` gets the best model of the last pass in
`users/` and `items/`: id and vector a line, between tabs.
"""

import itertools
import math
import os
import time

from pyspark.ml.recommendation import ALS
from pyspark.sql import functions as F

import output
import passes
from failure import Failure
from values import table

SCHEMA = "user INT, item INT, rating FLOAT, time LONG"
#: Who is recommended to.
NEW_USER = 0
#: How the stand-in rates, and how many items.
STARS, POPULAR = [3.0, 4.0, 5.0], 11
#: Parts of the ratings by the last digit of their time.
TRAINING, VALIDATION, TEST = 0, 1, 2


def run(request, cluster, progress):
    ratings, target = request.file("ratings"), output.wanted(request)
    work = Work(
        session=cluster.session, ratings=ratings, own=None, parts=request.whole("partitions", least=1),
        recommend=request.whole("recommend", 50, least=1), seed=request.whole("seed", 1),
        grid=list(itertools.product(
            request.numbers("rank", [8, 12], 1, whole=True), request.numbers("lambda", [0.1, 10], 0),
            request.numbers("iterations", [10, 20], 1, whole=True),
        )),
    )
    cluster.session.conf.set("spark.sql.shuffle.partitions", work.parts)
    personal = request.file("personal", optional=True)
    work.own = told(personal) if personal else work.popular()
    timed, answer = passes.until_warm(request, cluster, progress, work.once, lambda found: None)
    model = answer.pop("model")
    answer |= timed | {"nodes": cluster.nodes()}
    if target:
        for side, vectors in (("users", model.userFactors), ("items", model.itemFactors)):
            numbers = [F.col("features")[place].alias(f"v{place}") for place in range(model.rank)]
            output.write(vectors.select("id", *numbers), os.path.join(target, side))
    return answer


def told(path):
    """(item, stars) of a file like CloudSuite's myratings.csv."""
    try:
        with open(path) as text:
            rows = [line.split(",") for line in text if line.strip()]
        own = [(int(item), float(stars)) for _, item, stars in (row[:3] for row in rows)]
    except ValueError as error:
        raise Failure(f"`personal`: expected `0,item,rating` a line: {error}") from error
    own = [(item, stars) for item, stars in own if stars > 0]
    if not own:
        raise Failure(f"`personal`: there is no rating in {path}")
    return own


class Work:
    """What a request asks for, and one pass of it."""

    def __init__(self, **parts):
        self.__dict__.update(parts)

    def read(self):
        """The file's ratings, each with the part that it belongs to."""
        read = self.session.read.schema(SCHEMA).option("header", True).option("mode", "FAILFAST")
        digit = F.col("time") % 10
        part = F.when(digit < 6, TRAINING).when(digit < 8, VALIDATION).otherwise(TEST)
        return read.csv(f"file://{self.ratings}").select("user", "item", "rating", part.alias("part"))

    def popular(self):
        """The stand-in for the new user's own ratings."""
        counts = self.read().where(F.col("part") == TRAINING).groupBy("item").count()
        items = [row.item for row in counts.orderBy(F.desc("count"), "item").limit(POPULAR).collect()]
        return [(item, STARS[place % len(STARS)]) for place, item in enumerate(items)]

    def once(self):
        begin = time.perf_counter()
        own = [(NEW_USER, item, stars, TRAINING) for item, stars in self.own]
        own = table(self.session, "user INT, item INT, rating FLOAT, part INT", own)
        ratings = self.read().unionByName(own).repartition(self.parts).persist()
        try:
            sums = [F.count("*").alias("n"), F.sum("rating").alias("sum")]
            sums.append(F.sum(F.pow("rating", F.lit(2))).alias("squares"))
            sums = {row.part: row for row in ratings.groupBy("part").agg(*sums).collect()}
            if len(sums) < 3:
                raise Failure("there are no ratings to train, to validate or to test with")
            loading = time.perf_counter() - begin
            parts = [ratings.where(F.col("part") == part) for part in (TRAINING, VALIDATION, TEST)]
            return self.analysed(parts, sums) | {"loading": loading}
        finally:
            ratings.unpersist()

    def analysed(self, parts, sums):
        """Everything from the ratings in memory to the recommendations."""
        training, validation, test = parts
        models, best = [], None
        for rank, weight, iterations in self.grid:
            als = ALS(
                rank=rank, maxIter=iterations, regParam=weight, seed=self.seed, coldStartStrategy="drop",
                numUserBlocks=self.parts, numItemBlocks=self.parts, userCol="user", itemCol="item", ratingCol="rating",
            )
            model = als.fit(training)
            models.append([rank, weight, iterations, error(model, validation, sums[VALIDATION].n)])
            if best is None or models[-1][3] < best[0][3]:
                best = models[-1], model
        chosen, model = best
        return {
            "models": models, "best": chosen[:3], "rmse_validation": chosen[3],
            "rmse_test": error(model, test, sums[TEST].n), "rmse_mean": error_of_mean(sums),
            "recommendations": self.recommended(model), "model": model,
        }

    def recommended(self, model):
        """The items with the highest predictions, without those that were rated."""
        user = table(self.session, "user INT", [(NEW_USER,)])
        rated = {item for item, _ in self.own}
        rows = model.recommendForUserSubset(user, self.recommend + len(rated)).collect()
        found = [[one.item, one.rating] for row in rows for one in row.recommendations if one.item not in rated]
        return found[:self.recommend]


def error(model, part, count):
    """CloudSuite's: squared over the pairs that can be predicted, divided by all."""
    difference = F.col("prediction").cast("double") - F.col("rating")
    squares = model.transform(part).agg(F.sum(difference * difference)).first()[0]
    return math.sqrt((squares or 0.0) / count)


def error_of_mean(sums):
    """The test error of predicting the mean of all ratings for training and
    validation. Sums of half stars are exact."""
    known, test = [sums[TRAINING], sums[VALIDATION]], sums[TEST]
    mean = sum(part["sum"] for part in known) / sum(part.n for part in known)
    return math.sqrt(test.squares / test.n - 2 * mean * test["sum"] / test.n + mean * mean)
