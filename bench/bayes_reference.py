#!/usr/bin/env python3
"""Articles classified beside scikit-learn's ComplementNB on the same features,
for 1, 2, 4 and 6 slaves: the tests of `crates/apps/tests/bayes.rs`.
`CROSSTALK_DATA` names the directory of the sample of Wikipedia.
"""

import argparse

from lib.figures import PROMISES, Figures
from lib.specs import specification


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    code, found, skipped = specification("crosstalk-apps", "bayes", "with_scikit_learn")
    figures = Figures("bayes_reference")
    for metric in PROMISES["bayes_reference"]:
        corpus, _, what = metric.partition(", ")
        of_it = [line for line in found if line.get("corpus") == corpus]
        if not of_it:
            figures.missing(metric, "; ".join(sorted({*skipped})))
            continue
        key, unit = {"accuracy": ("accuracy_off", "share"), "decisions": ("differing", "count")}[what]
        by_slaves = {str(line["slaves"]): line[key] for line in of_it}
        more = {"accuracy": of_it[0]["accuracy"], "tested": of_it[0]["tested"]}
        figures.add(metric, max(by_slaves.values()), unit, n=len(by_slaves), by_slaves=by_slaves, **more)
    figures.failed = code != 0
    figures.finish()


if __name__ == "__main__":
    main()
