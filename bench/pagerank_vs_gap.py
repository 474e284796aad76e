#!/usr/bin/env python3
"""PageRank's edges a second on one core beside the GAP Benchmark Suite: the same graph, the same order of vertices,
the same iterations, the same answer, interleaved pairs.

The suite (github.com/sbeamer/gapbs) must be there: name its folder, or a git directory of it, by --reference or
CROSSTALK_GAPBS. A copy is built by g++ with the suite's own -O3, for one thread, so that a trial waits for a line,
and the last one writes its scores. It has two programs: `pr_spmv`, which computes what ours computes, and `pr`, which
uses new scores at once and is compared where both have converged. Theirs compute in single precision; they are also
built for double precision, which is ours. A ratio is of edges a second: above 1, ours is faster. What is promised is
the ratio to the faster of the two in the same precision; that to single precision is shown beside it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lib import pagerank
from lib.figures import Figures
from lib.pairs import interleaved
from lib.signed_rank import ratio
from lib.wire import ROOT

PYTHON = ROOT / ".tools" / "venv" / "bin" / "python"
#: Scale and edges a vertex of the generated graphs, and pairs of runs, by the name of their promise.
GRAPHS = {"16 M edges": (20, 16, 40), "100 M edges": (23, 12, 16)}
PROGRAMS = ["pr", "pr_spmv"]
#: The suite's type of a score, and what separates equal answers.
PRECISIONS = {"double": 1e-9, "float": 1e-3}
#: Iterations after which both programs have converged: 0.85^200 is below what a double distinguishes.
CONVERGED = 200
#: In the suite's files: what becomes something else.
TRIALS = ("for (int iter=0; iter < cli.num_trials(); iter++) {",
          "std::string line;\n  for (int iter=0; std::getline(std::cin, line); iter++) {")
ANALYSIS = ("iter == (cli.num_trials()-1)", "line.size() > 0")
SCORES = ("  int k = 5;\n", """  std::ofstream file(getenv("SCORES"), ios::binary);
  file.write(reinterpret_cast<const char*>(scores.data()), scores.size() * sizeof(ScoreT));
  int k = 5;
""")
HEADERS = ("#include <iostream>\n", "#include <cstdlib>\n#include <fstream>\n#include <iostream>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", default=os.environ.get("CROSSTALK_GAPBS"), help="the suite's folder or git directory")
    parser.add_argument("--graphs", nargs="+", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--pairs", type=int, help="of each comparison [default: 40 of the small graph, 16 of the large one]")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    subprocess.run([ROOT / "tools" / "venv"], check=True)
    if Path(sys.prefix).resolve() != PYTHON.parent.parent.resolve():
        sys.exit(subprocess.run([PYTHON, __file__, *sys.argv[1:]]).returncode)
    figures = Figures(
        "pagerank_vs_gap", part=len(options.graphs) < len(GRAPHS), iterations=options.iterations, seed=options.seed,
    )
    why = cannot(options.reference)
    if why:
        for name in options.graphs:
            figures.missing(promised(name), why)
        figures.finish()
    pagerank.build()
    with tempfile.TemporaryDirectory(prefix="crosstalk-gap-") as directory:
        suite = unpacked(options.reference, Path(directory) / "suite")
        programs = {(name, precision): compiled(suite, name, precision) for precision in PRECISIONS for name in PROGRAMS}
        for name in options.graphs:
            compare(name, programs, options, Path(directory), figures)
    figures.finish()


def promised(graph):
    return f"edges_per_second one core, {graph}"


def cannot(reference):
    """Why the suite cannot be built here; `None` if it can."""
    if not reference or not Path(reference).is_dir():
        return "the GAP Benchmark Suite is not here: name its folder by CROSSTALK_GAPBS"
    return None if shutil.which("g++") else "g++ is not here"


def unpacked(reference, folder):
    """A copy of the suite's sources."""
    if (Path(reference) / "src" / "pr.cc").is_file():
        shutil.copytree(reference, folder)
    else:
        folder.mkdir()
        archive = subprocess.run(["git", "-C", reference, "archive", "HEAD"], check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    change(folder / "src" / "benchmark.h", [TRIALS, ANALYSIS])
    for name in PROGRAMS:
        change(folder / "src" / f"{name}.cc", [SCORES, HEADERS])
    return folder


def change(path, changes):
    """Replaces parts of a file that must be there."""
    text = path.read_text()
    for before, after in changes:
        if before not in text:
            sys.exit(f"pagerank_vs_gap: {path.name} is another than that of the suite's version 1.5: it lacks `{before.strip()}`")
        text = text.replace(before, after)
    path.write_text(text)


def compiled(suite, name, precision):
    """One of the suite's programs in a precision."""
    text = (suite / "src" / f"{name}.cc").read_text()
    if precision == "double":
        text = text.replace("typedef float ScoreT", "typedef double ScoreT")
        text = text.replace("const float kDamp", "const double kDamp").replace("1.0f", "1.0")
    source, program = suite / "src" / f"{name}_{precision}.cc", suite / f"{name}_{precision}"
    source.write_text(text)
    subprocess.run(["g++", "-std=c++11", "-O3", "-w", source, "-o", program], check=True)
    return program


def compare(name, programs, options, directory, figures):
    scale, edge_factor, pairs = GRAPHS[name]
    graph = pagerank.generated(scale, edge_factor, options.seed)
    print(f"R-MAT scale {scale}: {graph.edges} edges left, {graph.count} vertices, {options.iterations} iterations, one core")
    serialised = directory / "graph.sg"
    graph.write_gap(serialised)
    answers = {iterations: answer(graph, iterations, directory) for iterations in (options.iterations, CONVERGED)}
    ours = pagerank.Ours(graph, options.iterations, directory)
    work = graph.edges * options.iterations
    conditions = dict(edges=graph.edges, vertices=graph.count, our_loading=ours.loading)
    speeds = {}
    for (program, precision), path in programs.items():
        iterations = CONVERGED if program == "pr" else options.iterations
        scores = Gap(path, serialised, iterations, directory).finish(precision)
        pagerank.agree(answers[iterations], scores, f"{program} in {precision}", PRECISIONS[precision])
        theirs = Gap(path, serialised, options.iterations, directory)
        times = interleaved(ours.run, theirs.run, options.pairs or pairs, f"{name}{program}{precision}")
        theirs.finish(precision)
        found = [(work / mine, work / other) for mine, other in times]
        speeds[program, precision] = found
        figures.pairs(program, f"{promised(name)}, {program} in {precision}", found, **conditions)
    ours.finish()
    fastest = min(PROGRAMS, key=lambda program: ratio(speeds[program, "double"])[0])
    figures.pairs(fastest, promised(name), speeds[fastest, "double"], faster=fastest, **conditions)


def answer(graph, iterations, directory):
    """Our ranks after so many iterations."""
    ours = pagerank.Ours(graph, iterations, directory)
    ours.run()
    return ours.finish()


class Gap:
    """One of the suite's programs, a process that waits for a line before each trial; one that is not empty is followed
    by the scores."""

    def __init__(self, program, graph, iterations, directory):
        self.scores = directory / "scores"
        command = ["stdbuf", "-oL", program, "-f", graph, "-i", str(iterations), "-t", "0", "-a"]
        environment = {**os.environ, "SCORES": str(self.scores)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )

    def run(self, line=""):
        """Seconds of the iterations."""
        print(line, file=self.process.stdin, flush=True)
        for said in self.process.stdout:
            if said.startswith("Trial Time"):
                return float(said.split()[-1])
        sys.exit("pagerank_vs_gap: the suite's program has ended")

    def finish(self, precision):
        """The scores of a last trial."""
        import numpy as np

        self.run("and its scores")
        self.process.communicate()
        if self.process.returncode != 0:
            sys.exit("pagerank_vs_gap: the suite's program failed")
        return np.fromfile(self.scores, dtype={"double": "<f8", "float": "<f4"}[precision]).astype(float)


if __name__ == "__main__":
    main()
