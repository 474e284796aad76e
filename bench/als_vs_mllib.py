#!/usr/bin/env python3
"""ALS beside Spark MLlib's: the same ratings, split and grid, and the errors of
the models that come out. MLlib starts from other random numbers, so that the
errors agree only nearly.

Runs by itself, or by `make bench` where Java and the real ratings are there
(`CROSSTALK_DATA` names the directory that has movielens/ratings.csv);
`tools/venv spark` installs pyspark, `apt-get install openjdk-17-jre-headless` Java.
"""

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.figures import Figures
from lib.wire import ROOT, cargo

PYTHON = ROOT / ".tools" / "venv-spark" / "bin" / "python"
CLUSTER = ROOT / "target" / "release" / "examples" / "application_cluster"
RATINGS = Path(os.environ.get("CROSSTALK_DATA", "data")) / "movielens" / "ratings.csv"
PERSONAL = [3.0, 4.0, 5.0]


def main():
    options = arguments()
    figures = Figures("als_vs_mllib", slaves=options.slaves, iterations=options.iterations)
    lacking = None
    if not RATINGS.is_file():
        lacking = f"no {RATINGS} (CROSSTALK_DATA names the directory)"
    elif shutil.which("java") is None:
        lacking = "no Java (apt-get install openjdk-17-jre-headless)"
    if lacking:
        for metric in ("rmse_test", "rmse_validation"):
            figures.missing(metric, lacking)
        figures.finish()
    subprocess.run([ROOT / "tools" / "venv", "spark"], check=True)
    if Path(sys.prefix).resolve() != PYTHON.parent.parent.resolve():
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]]).returncode)
    cargo("build", "--package", "crosstalk-apps", "--example", "application_cluster")
    compare(options, figures)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slaves", type=int, default=2)
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 12])
    parser.add_argument("--lambdas", type=float, nargs="+", default=[0.1, 10.0])
    parser.add_argument("--iterations", type=int, nargs="+", default=[10, 20])
    return parser.parse_args()


def compare(options, figures):
    ours = run_ours(options)
    theirs = run_mllib(options)
    worst = max((mine[3] / other[3] for mine, other in zip(ours["models"], theirs["models"])), key=lambda r: abs(r - 1))
    best = {side["best"]: name for name, side in (("ours", ours), ("mllib", theirs))}
    for name, side in (("ours", ours), ("mllib", theirs)):
        print(f"{name}: best model {side['best']}, test {side['rmse_test']:.5f}, {side['seconds']:.1f} s in all")
    # Where the two choose another best model (20 iterations hardly differ from
    # 10), the test errors of both choices are compared.
    figures.add(
        "rmse_test", ours["rmse_test"] / theirs["rmse_test"], "ratio", n=1, ours=ours["rmse_test"],
        theirs=theirs["rmse_test"], best=list(best), our_seconds=ours["seconds"], their_seconds=theirs["seconds"],
    )
    figures.add(
        "rmse_validation", worst, "ratio", n=len(ours["models"]),
        ours=ours["models"], theirs=theirs["models"],
    )


def run_ours(options):
    """Our program, a process a node; its models in the grid's order."""
    found, begin = [], time.perf_counter()
    grid = itertools.product(options.ranks, options.lambdas, options.iterations)
    for rank, weight, iterations in grid:
        words = [f"slaves={options.slaves}", f"ratings={RATINGS}", f"rank={rank}", f"lambda={weight}", f"iterations={iterations}"]
        done = subprocess.run([CLUSTER, "als", *words], stdout=subprocess.PIPE, text=True, timeout=300)
        if done.returncode != 0:
            sys.exit(done.returncode)
        readings = [json.loads(line) for line in done.stdout.splitlines()]
        whole = {reading["metric"]: reading["value"] for reading in readings if not reading.get("labels")}
        found.append([rank, weight, iterations, whole["rmse_validation"], whole["rmse_test"]])
    return judged(found, begin)


def run_mllib(options):
    """As CloudSuite's MovieLensALS calls it."""
    import numpy as np

    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark import SparkConf, SparkContext
    from pyspark.mllib.recommendation import ALS, Rating

    table = np.loadtxt(RATINGS, delimiter=",", skiprows=1)
    digit = table[:, 3].astype(np.int64) % 10
    items, counts = np.unique(table[digit < 6, 1], return_counts=True)
    popular = items[np.argsort(-counts, kind="stable")][:11]
    own = np.array([[0, item, PERSONAL[place % 3], 0] for place, item in enumerate(popular)])
    training = np.concatenate([table[digit < 6], own])
    parts = [table[(digit >= 6) & (digit < 8)], table[digit >= 8]]
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.local.dir": scratch,
                    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        conf = SparkConf().setMaster("local[2]").setAppName("als_vs_mllib").setAll(list(settings.items()))
        context = SparkContext(conf=conf)
        context.setLogLevel("ERROR")
        try:
            rows = context.parallelize([Rating(int(u), int(i), float(r)) for u, i, r, _ in training], 4).cache()
            found = []
            for rank, weight, iterations in itertools.product(options.ranks, options.lambdas, options.iterations):
                model = ALS.train(rows, rank, iterations, weight, seed=1)
                factors = [dict(side.collect()) for side in (model.userFeatures(), model.productFeatures())]
                found.append([rank, weight, iterations, *(error(part, factors) for part in parts)])
        finally:
            context.stop()
    return judged(found, begin)


def error(part, factors):
    """CloudSuite's: over the pairs that can be predicted, divided by all."""
    import numpy as np

    users, items = factors
    squares = 0.0
    for user, item, stars, _ in part:
        x, y = users.get(int(user)), items.get(int(item))
        if x is not None and y is not None:
            squares += (np.dot(x, y) - stars) ** 2
    return float(np.sqrt(squares / len(part)))


def judged(found, begin):
    best = min(found, key=lambda model: model[3])
    return {"models": found, "best": tuple(best[:3]), "rmse_test": best[4], "seconds": time.perf_counter() - begin}


if __name__ == "__main__":
    main()
