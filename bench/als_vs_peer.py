#!/usr/bin/env python3
"""ALS on one core beside cmfrec: the same generated ratings, rank, lambda and
iterations, the same model, interleaved pairs.

The time of a run is from ratings in memory, in the order in which they were
written, to the model. cmfrec is set to do what docs/explanation/als.md says: no biases, no
centring, lambda times a row's ratings, Cholesky's method; it starts from other
random numbers, so that the models are compared by their error on the ratings,
and each by the equations that its last half step must have solved. It computes
in single precision, which is its faster way; ours sums and solves in double, as
MLlib does. `make bench` calls this; tools/venv installs the peer.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Before numpy and its libraries are loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import ROOT, cargo

PYTHON = ROOT / ".tools" / "venv" / "bin" / "python"
KERNEL = ROOT / "target" / "release" / "examples" / "als_kernel"


def main():
    options = arguments()
    subprocess.run([ROOT / "tools" / "venv"], check=True)
    if Path(sys.prefix).resolve() != PYTHON.parent.parent.resolve():
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]]).returncode)
    cargo("build", "--package", "crosstalk-apps", "--example", "als_kernel")
    figures = Figures("als_vs_peer", scale=options.scale, iterations=options.iterations, seed=options.seed)
    for rank in options.ranks:
        with tempfile.TemporaryDirectory() as directory:
            compare(options, rank, Path(directory), figures)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="times MovieLens's 100,004 ratings")
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 12, 64])
    parser.add_argument("--lambda", type=float, default=0.1, dest="weight")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def compare(options, rank, directory, figures):
    ours = Ours(options, rank, directory)
    users, items, stars = ours.ratings()
    theirs = Cmfrec(users, items, stars, rank, options)
    times = interleaved(ours.run, theirs.run, options.pairs, options.seed)
    # Uses of a rating a second, so that higher is better.
    work = 2 * len(stars) * options.iterations
    speeds = [(work / mine, work / other) for mine, other in times]
    sorting = sorted(ours.sorting)[len(ours.sorting) // 2]
    error = agree(ours.finish(), theirs.model(), users, items, stars, options.weight)
    figures.pairs(
        "cmfrec", f"ratings_per_second one core, rank {rank}", speeds,
        ratings=len(stars), our_sorting=sorting, rmse_ours_over_theirs=error,
    )


def agree(ours, theirs, users, items, stars, weight):
    """Stops where the two have not done the same; the ratio of their errors on
    the ratings they were trained with."""
    import numpy as np

    def error(model):
        return np.sqrt(np.mean((np.einsum("rk,rk->r", model[0][users], model[1][items]) - stars) ** 2))

    for name, model in (("ours", ours), ("cmfrec", theirs)):
        # Users came last in ours, and in cmfrec's one of the two.
        left = min(residual(model[0], model[1], users, items, stars, weight),
                   residual(model[1], model[0], items, users, stars, weight))
        if left > 1e-3:
            sys.exit(f"{name}: the model does not solve the equations ({left:.1e} is left): this compares nothing")
    ratio = error(ours) / error(theirs)
    if abs(ratio - 1) > 0.02:
        sys.exit(f"cmfrec has another error ({ratio:.3f}): this compares nothing")
    return ratio


def residual(rows, columns, row, column, stars, weight):
    """How far the rows' vectors are from solving their equations: the largest of
    all, relative to the right-hand sides'."""
    import numpy as np

    f = columns[column].astype(float)
    off = np.einsum("rk,rk->r", rows[row], f) - stars
    left, right = np.zeros(rows.shape), np.zeros(rows.shape)
    np.add.at(left, row, off[:, None] * f)
    np.add.at(right, row, stars[:, None] * f)
    left += weight * np.bincount(row, minlength=len(rows))[:, None] * rows
    return np.abs(left).max() / np.abs(right).max()


class Ours:
    """Our kernel, a process that waits for a line before each run."""

    def __init__(self, options, rank, directory):
        self.ratings_path, self.factors_path = directory / "ratings", directory / "factors"
        self.rank, self.sorting = rank, []
        numbers = [options.scale, options.seed, rank, options.weight, options.iterations]
        command = [KERNEL, *map(str, numbers), self.ratings_path, self.factors_path]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def ratings(self):
        """Users and items by their places among the ids that occur, and stars."""
        import numpy as np

        found = np.fromfile(self.ratings_path, dtype=[("user", "<u4"), ("item", "<u4"), ("stars", "<f4")])
        self.ids, places = zip(*(np.unique(found[side], return_inverse=True) for side in ("user", "item")))
        return *places, found["stars"].astype(float)

    def run(self):
        print(file=self.process.stdin, flush=True)
        total, sorting = map(float, self.process.stdout.readline().split())
        self.sorting.append(sorting)
        return total

    def finish(self):
        import numpy as np

        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("our kernel failed")
        found = np.fromfile(self.factors_path, dtype=[("side", "<u4"), ("id", "<u4"), ("x", "<f4", self.rank)])
        # Written in the order of ids, users first.
        return [found["x"][found["side"] == side].astype(float) for side in (0, 1)]


class Cmfrec:
    """Its explicit ALS, on one thread."""

    def __init__(self, users, items, stars, rank, options):
        import numpy as np
        from cmfrec import CMF
        from scipy.sparse import coo_array

        self.matrix = coo_array((stars.astype(np.float32), (users.astype(np.int32), items.astype(np.int32))))
        self.new = lambda: CMF(
            k=rank, lambda_=options.weight, method="als", use_cg=False, niter=options.iterations,
            scale_lam=True, user_bias=False, item_bias=False, center=False, use_float=True, nthreads=1,
            precompute_for_predictions=False, finalize_chol=False, random_state=options.seed, verbose=False,
        )

    def run(self):
        import time

        model = self.new()
        begin = time.perf_counter()
        model.fit(self.matrix)
        spent = time.perf_counter() - begin
        self.fitted = model
        return spent

    def model(self):
        return [factors.astype(float) for factors in (self.fitted.A_, self.fitted.B_)]


if __name__ == "__main__":
    main()
