#!/usr/bin/env python3
"""Classification of articles on one core beside scikit-learn: the same generated
corpus, the same split, the same features for CountVectorizer, interleaved pairs.

Both begin with the articles' texts in memory. CountVectorizer with
TfidfTransformer computes what ours does, but for √tf; HashingVectorizer (2^20
columns) does less: it keeps no dictionary and lets features collide. Then, ours
alone: MB/s of each stage; and a larger corpus with a memory limit of a tenth of it,
beside the same without a limit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.figures import Figures
from lib.pairs import interleaved
from lib.wire import ROOT, cargo

PYTHON = ROOT / ".tools" / "venv" / "bin" / "python"
KERNEL = ROOT / "target" / "release" / "examples" / "bayes_kernel"
#: The least memory limit of a slave, in bytes.
LEAST = 256 << 10
PHASES = {
    "features": ["count words", "share words", "count pairs", "share pairs", "weigh"],
    "train": ["train"],
    "test": ["test"],
}


def main():
    options = arguments()
    # One core on either side: read when the libraries are loaded.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    subprocess.run([ROOT / "tools" / "venv"], check=True)
    if Path(sys.prefix).resolve() != PYTHON.parent.parent.resolve():
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]]).returncode)
    cargo("build", "--package", "crosstalk-apps", "--example", "bayes_kernel")
    with tempfile.TemporaryDirectory() as directory:
        compare(options, Path(directory))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--words", type=int, default=400)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--large", type=int, default=24_000, help="articles of the corpus of ten times the memory")
    parser.add_argument("--large-pairs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def generate(path, documents, words):
    """A generated corpus as a file."""
    with open(path, "wb") as file:
        subprocess.run([KERNEL, "--generate", str(documents), str(words)], stdout=file, check=True)


def compare(options, folder):
    path = folder / "corpus.xml"
    generate(path, options.documents, options.words)
    articles = Articles(path)
    print(f"{options.documents} articles, {articles.bytes / 1e6:.1f} MB of text, one core")
    figures = Figures("bayes_vs_sklearn", documents=options.documents, bytes=articles.bytes, seed=options.seed)
    ours = Ours(path, 1 << 34)
    for peer in [Counting, Hashing]:
        theirs = peer(articles)
        runs = interleaved(ours.run, theirs.run, options.pairs, options.seed)
        for phase in ["whole", *PHASES]:
            speeds = [(articles.bytes / mine[phase], articles.bytes / other[phase]) for mine, other in runs]
            figures.pairs(peer.name, f"{phase} one core, {peer.name}", speeds)
        if abs(ours.accuracy - theirs.accuracy) > 0.01:
            sys.exit(f"{peer.name} is right about {theirs.accuracy}, ours about {ours.accuracy}: this compares nothing")
    shares(figures, ours, articles.bytes)
    spilling(figures, folder / "large.xml", options)
    figures.finish()


def shares(figures, ours, size):
    """What each stage takes of the whole, in the run that took the middle time."""
    runs = sorted(ours.all, key=lambda stages: sum(stages.values()))
    stages = runs[len(runs) // 2]
    whole = sum(stages.values())
    figures.add("throughput", size / whole, "B/s", n=len(runs), what="bytes of text a second and core, all stages")
    for stage, seconds in stages.items():
        figures.add(f"share of {stage}", seconds / whole, "share", n=len(runs), what=f"share of stage {stage}")


def spilling(figures, path, options):
    """A tenth of a corpus as memory limit, beside no limit; and the kernel's account of the memory beside ours."""
    generate(path, options.large, options.words)
    size = path.stat().st_size
    limit = size // 10
    if limit < LEAST:
        sys.exit(f"a tenth of {size} B is less than the least memory, {LEAST} B: raise --large")
    print(f"{options.large} articles, {size / 1e6:.1f} MB, {limit / 1e6:.1f} MB of memory")
    limited, free = Ours(path, limit), Ours(path, 1 << 34)
    runs = interleaved(limited.run, free.run, options.large_pairs, options.seed)
    speeds = [(size / mine["whole"], size / other["whole"]) for mine, other in runs]
    large = {"large": options.large, "corpus": size, "limit": limit}
    figures.pairs("no limit", "speed, memory of a tenth of the corpus", speeds, **large)
    for name, side in [("memory of a tenth of the corpus", 0), ("no limit", 1)]:
        speed = statistics.median(pair[side] for pair in speeds)
        figures.add(f"throughput, {name}", speed, "B/s", n=len(speeds), what=f"bytes of the large corpus a second and core, {name}", **large)
    for table, count in limited.segments.items():
        figures.add(f"segments of {table}", count, "segments", what=f"segments of {table}, memory of a tenth of the corpus", **large)
    for metric, value, what in [
        ("spilled", limited.spilled / size, "bytes spilled, memory of a tenth of the corpus / bytes of the corpus"),
        ("peak", limited.peak / limit, "peak resident set (VmHWM) of the whole process / the limit"),
        ("peak without a limit", free.peak / limit, "the same without a limit / that limit"),
    ]:
        figures.add(metric, value, "ratio", what=what, **large)
    if limited.checksum != free.checksum or limited.accuracy != free.accuracy:
        sys.exit("another answer with less memory")
    if set(free.segments.values()) != {1} or free.spilled > 0:
        sys.exit("what fits is spilled")


class Articles:
    """What scikit-learn begins with."""

    def __init__(self, path):
        sys.path.insert(0, str(ROOT / "tools"))
        import bayes_reference as reference
        import numpy as np

        texts = [(title, text) for title, text in reference.pages(str(path))]
        self.labels = np.array([reference.category(text) for _, text in texts])
        self.tests = np.array([reference.held_back(title) for title, _ in texts])
        self.texts = [reference.LINK.sub("", text) for _, text in texts]
        self.bytes = sum(len(text.encode()) for text in self.texts)
        self.word = reference.WORD.pattern


class Ours:
    """Our stages, a process that waits for a line before each run."""

    def __init__(self, path, limit):
        command = [KERNEL, path, str(limit)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.all = []

    def run(self):
        print(file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("our kernel failed")
        answer = json.loads(line)
        self.accuracy, self.features = answer["accuracy"], answer["features"]
        self.checksum, self.segments = answer["checksum"], answer["segments"]
        self.spilled, self.peak = answer["spilled"], answer["peak"]
        self.all.append(answer["stages"])
        found = {phase: sum(answer["stages"][stage] for stage in stages) for phase, stages in PHASES.items()}
        return {**found, "whole": sum(found.values())}


class Sklearn:
    """Weights, then ComplementNB."""

    def __init__(self, articles):
        self.articles = articles

    def run(self):
        from sklearn.naive_bayes import ComplementNB

        articles, times = self.articles, [time.perf_counter()]
        weights = self.weigh(articles.texts)
        times.append(time.perf_counter())
        model = ComplementNB().fit(weights[~articles.tests], articles.labels[~articles.tests])
        times.append(time.perf_counter())
        decided = model.predict(weights[articles.tests])
        times.append(time.perf_counter())
        self.accuracy = (decided == articles.labels[articles.tests]).mean()
        found = {phase: b - a for phase, a, b in zip(PHASES, times, times[1:])}
        return {**found, "whole": times[-1] - times[0]}


class Counting(Sklearn):
    name = "CountVectorizer"

    def weigh(self, texts):
        from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

        word = self.articles.word
        counts = CountVectorizer(ngram_range=(1, 2), token_pattern=word, min_df=2, max_df=0.99).fit_transform(texts)
        return TfidfTransformer().fit_transform(counts)


class Hashing(Sklearn):
    name = "HashingVectorizer"

    def weigh(self, texts):
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        word = self.articles.word
        counts = HashingVectorizer(
            ngram_range=(1, 2), token_pattern=word, norm=None, alternate_sign=False
        ).transform(texts)
        return TfidfTransformer().fit_transform(counts)


if __name__ == "__main__":
    main()
