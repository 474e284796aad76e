"""ALS by the recurrence of docs/explanation/als.md, in numpy: the reference of tests/als.rs.
Usage: als_reference.py RATINGS PERSONAL SEED RANK,… LAMBDA,… ITERATIONS,…
PERSONAL is a file like CloudSuite's myratings.csv, or - for the stand-in. Prints
one JSON object: every model's validation RMSE, the best model, its test RMSE, the
baseline's, the 50 recommendations and the best model's factors.
"""

import itertools
import json
import sys

import numpy as np

NEW_USER = 0


def read(ratings, personal):
    """(user, item, stars) for training, for validation and for the test."""
    table = np.loadtxt(ratings, delimiter=",", skiprows=1)
    pairs, stars = table[:, :2].astype(np.int64), table[:, 2].astype(np.float32)
    digit = table[:, 3].astype(np.int64) % 10
    parts = [(pairs[where], stars[where]) for where in (digit < 6, (digit >= 6) & (digit < 8), digit >= 8)]
    pairs, stars = parts[0]
    if personal == "-":
        items, counts = np.unique(pairs[:, 1], return_counts=True)
        items = items[np.argsort(-counts, kind="stable")][:11]
        mine = np.array([[3.0, 4.0, 5.0][i % 3] for i in range(len(items))])
    else:
        table = np.loadtxt(personal, delimiter=",", ndmin=2)
        table = table[table[:, 2] > 0]
        items, mine = table[:, 1].astype(np.int64), table[:, 2]
    own = np.stack([np.full(len(items), NEW_USER), items], axis=1)
    parts[0] = np.concatenate([pairs, own]), np.concatenate([stars, mine.astype(np.float32)])
    return parts


def mix(x):
    """SplitMix64's finaliser."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def counted(seed, index):
    with np.errstate(over="ignore"):
        return mix(seed + index * np.uint64(0x9E3779B97F4A7C15))


def uniform(stream, index):
    return ((counted(stream, index) >> np.uint64(11)) + np.uint64(1)).astype(float) / 2.0**53


def start(ids, rank, seed):
    """A random direction a row, from its id and the seed."""
    stream = counted(np.uint64(seed), ids.astype(np.uint64))[:, None]
    index = np.arange(rank, dtype=np.uint64)
    radius = np.sqrt(-2 * np.log(uniform(stream, 2 * index)))
    normal = radius * np.cos(2 * np.pi * uniform(stream, 2 * index + np.uint64(1)))
    return (normal / np.linalg.norm(normal, axis=1, keepdims=True)).astype(np.float32)


class Side:
    """One side's rows with their ratings of the other side's rows."""

    def __init__(self, rows, columns, stars):
        order = np.lexsort((columns, rows))
        self.columns, self.stars = columns[order], stars[order].astype(float)
        self.begins = np.concatenate([[0], np.flatnonzero(np.diff(rows[order])) + 1])
        self.counts = np.diff(np.concatenate([self.begins, [len(rows)]]))

    def step(self, other, weight):
        """x = (Σ f fᵀ + λ n I)⁻¹ Σ r f for every row."""
        f = other[self.columns].astype(float)
        rank = f.shape[1]
        matrix = np.add.reduceat(f[:, :, None] * f[:, None, :], self.begins)
        matrix += (weight * self.counts)[:, None, None] * np.eye(rank)
        right = np.add.reduceat(self.stars[:, None] * f, self.begins)
        return np.linalg.solve(matrix, right[:, :, None])[:, :, 0].astype(np.float32)


def squares(part, ids, factors):
    """The squared errors on the pairs that both have factors."""
    pairs, stars = part
    places = [np.searchsorted(ids[side], pairs[:, side]).clip(max=len(ids[side]) - 1) for side in (0, 1)]
    known = (ids[0][places[0]] == pairs[:, 0]) & (ids[1][places[1]] == pairs[:, 1])
    users, items = (factors[side][places[side][known]].astype(float) for side in (0, 1))
    return (((users * items).sum(axis=1) - stars[known]) ** 2).sum()


def main():
    ratings, personal, seed, *grid = sys.argv[1:]
    training, validation, test = read(ratings, personal)
    pairs, stars = training
    ids, index = zip(*(np.unique(pairs[:, side], return_inverse=True) for side in (0, 1)))
    users, items = Side(index[0], index[1], stars), Side(index[1], index[0], stars)
    models, best = [], None
    for rank, weight, iterations in itertools.product(*(map(float, values.split(",")) for values in grid)):
        of_users = start(ids[0], int(rank), int(seed))
        for _ in range(int(iterations)):
            of_items = items.step(of_users, weight)
            of_users = users.step(of_items, weight)
        rmse = np.sqrt(squares(validation, ids, (of_users, of_items)) / len(validation[1]))
        models.append([rank, weight, iterations, rmse])
        if best is None or rmse < best[0]:
            best = (rmse, models[-1], of_users, of_items)
    rmse, model, of_users, of_items = best
    known = np.concatenate([stars, validation[1]]).astype(float)
    predicted = of_items.astype(float) @ of_users[np.searchsorted(ids[0], NEW_USER)].astype(float)
    rated = set(pairs[pairs[:, 0] == NEW_USER, 1].tolist())
    order = [place for place in np.lexsort((ids[1], -predicted)) if int(ids[1][place]) not in rated]
    print(json.dumps({
        "models": models,
        "best": model,
        "rmse_test": np.sqrt(squares(test, ids, (of_users, of_items)) / len(test[1])),
        "rmse_baseline": np.sqrt(((known.mean() - test[1].astype(float)) ** 2).mean()),
        "recommendations": [[int(ids[1][place]), float(predicted[place])] for place in order[:50]],
        "users": {int(row): vector.tolist() for row, vector in zip(ids[0], of_users)},
        "items": {int(row): vector.tolist() for row, vector in zip(ids[1], of_items)},
    }))


if __name__ == "__main__":
    main()
