#!/usr/bin/env python3
"""ALS on one core beside cmfrec and implicit, at 1, 10 and 100 times MovieLens's ratings: the same generated ratings,
rank, lambda and iterations, interleaved pairs, with the error of each on the ratings it was trained with.

The time of a run is from ratings in memory, in the order in which they were
written, to the model. cmfrec is set to do what docs/explanation/als.md says: no biases, no
centring, lambda times a row's ratings, Cholesky's method; it starts from other
random numbers, so that the models are compared by their error on the ratings,
and each by the equations that its last half step must have solved. implicit
solves other equations, of as many numbers: a rating is confidence that a user
likes an item, and what is not rated counts, too. So its error is shown, and
decides nothing. Both compute in single precision, which is their faster way;
ours sums and solves in double, as MLlib does. `make bench` calls this;
tools/venv installs the peers.
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
#: Times the ratings; and the ranks, of which larger data have the middle one alone: 100 times take ten minutes.
SCALES, RANKS, LARGE_RANKS = [1, 10, 100], [8, 12, 64], [12]


def main():
    options = arguments()
    subprocess.run([ROOT / "tools" / "venv"], check=True)
    if Path(sys.prefix).resolve() != PYTHON.parent.parent.resolve():
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]]).returncode)
    cargo("build", "--package", "crosstalk-apps", "--example", "als_kernel")
    part = set(options.scales) != set(SCALES) or set(options.ranks) != set(RANKS)
    figures = Figures("als_vs_peer", part=part, iterations=options.iterations, seed=options.seed)
    for scale in options.scales:
        for rank in options.ranks if scale == 1 else [rank for rank in options.ranks if rank in LARGE_RANKS]:
            with tempfile.TemporaryDirectory() as directory:
                compare(options, scale, rank, Path(directory), figures)
    figures.finish()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=int, nargs="+", choices=SCALES, default=SCALES, help="times MovieLens's 100,004 ratings")
    parser.add_argument("--ranks", type=int, nargs="+", default=RANKS)
    parser.add_argument("--lambda", type=float, default=0.1, dest="weight")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=12, help="of the ratings as they are; 6 of more")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def compare(options, scale, rank, directory, figures):
    ours = Ours(options, scale, rank, directory)
    users, items, stars = ours.ratings()
    peers = [peer(users, items, stars, rank, options) for peer in (Cmfrec, Implicit)]
    pairs = options.pairs if scale == 1 else 6
    # Uses of a rating a second, so that higher is better.
    work = 2 * len(stars) * options.iterations
    speeds = {}
    for peer in peers:
        times = interleaved(ours.run, peer.run, pairs, f"{options.seed}{scale}{rank}{peer.name}")
        speeds[peer.name] = [(work / mine, work / other) for mine, other in times]
    sorting = sorted(ours.sorting)[len(ours.sorting) // 2]
    mine = ours.finish()
    solved("ours", mine, users, items, stars, options.weight)
    errors = {peer.name: error(peer.model(), users, items, stars) for peer in peers}
    own = error(mine, users, items, stars)
    cmfrec = peers[0]
    solved(cmfrec.name, cmfrec.model(), users, items, stars, options.weight)
    if abs(own / errors[cmfrec.name] - 1) > 0.02:
        sys.exit(f"cmfrec has another error ({own / errors[cmfrec.name]:.3f}): this compares nothing")
    size = "" if scale == 1 else f", {scale} times the ratings"
    for peer in peers:
        besides = "" if peer is cmfrec else f", {peer.name}"
        print(f"rank {rank}{size}: error on the ratings: ours {own:.4f}, {peer.name} {errors[peer.name]:.4f}")
        figures.pairs(
            peer.name, f"ratings_per_second one core, rank {rank}{size}{besides}", speeds[peer.name],
            scale=scale, ratings=len(stars), our_sorting=sorting, our_rmse=own, their_rmse=errors[peer.name],
        )


def error(model, users, items, stars):
    """The root of the mean squared error on the ratings, a million at a time."""
    import numpy as np

    total = 0.0
    for begin in range(0, len(stars), 1_000_000):
        some = slice(begin, begin + 1_000_000)
        total += np.sum((np.einsum("rk,rk->r", model[0][users[some]], model[1][items[some]]) - stars[some]) ** 2)
    return float(np.sqrt(total / len(stars)))


def solved(name, model, users, items, stars, weight):
    """Stops where a model does not solve its equations. Users came last in ours, and in cmfrec's one of the two."""
    left = min(residual(model[0], model[1], users, items, stars, weight),
               residual(model[1], model[0], items, users, stars, weight))
    if left > 1e-3:
        sys.exit(f"{name}: the model does not solve the equations ({left:.1e} is left): this compares nothing")


def residual(rows, columns, row, column, stars, weight):
    """How far the rows' vectors are from solving their equations: the largest of
    all, relative to the right-hand sides'."""
    import numpy as np
    from scipy.sparse import csr_array

    shape = (len(rows), len(columns))
    off = np.empty(len(stars))
    for begin in range(0, len(stars), 1_000_000):
        some = slice(begin, begin + 1_000_000)
        off[some] = np.einsum("rk,rk->r", rows[row[some]], columns[column[some]]) - stars[some]
    left, right = (csr_array((values, (row, column)), shape=shape) @ columns for values in (off, stars))
    left += weight * np.bincount(row, minlength=len(rows))[:, None] * rows
    return np.abs(left).max() / np.abs(right).max()


class Ours:
    """Our kernel, a process that waits for a line before each run."""

    def __init__(self, options, scale, rank, directory):
        self.ratings_path, self.factors_path = directory / "ratings", directory / "factors"
        self.rank, self.sorting = rank, []
        numbers = [scale, options.seed, rank, options.weight, options.iterations]
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

    name = "cmfrec"

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


class Implicit:
    """Its ALS by Cholesky's method, on one thread: the same products and solutions a rating and a row."""

    name = "implicit"

    def __init__(self, users, items, stars, rank, options):
        import numpy as np
        from scipy.sparse import coo_matrix

        self.matrix = coo_matrix((stars.astype(np.float32), (users.astype(np.int32), items.astype(np.int32))))
        self.rank, self.options = rank, options

    def run(self):
        import time

        from implicit.cpu.als import AlternatingLeastSquares

        model = AlternatingLeastSquares(
            factors=self.rank, regularization=self.options.weight, iterations=self.options.iterations, alpha=1.0,
            use_native=True, use_cg=False, num_threads=1, random_state=self.options.seed,
        )
        begin = time.perf_counter()
        model.fit(self.matrix.tocsr(), show_progress=False)
        spent = time.perf_counter() - begin
        self.fitted = model
        return spent

    def model(self):
        return [factors.astype(float) for factors in (self.fitted.user_factors, self.fitted.item_factors)]


if __name__ == "__main__":
    main()
