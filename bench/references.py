#!/usr/bin/env python3
"""PageRank beside scipy's on real graphs and ALS beside numpy's on real ratings,
for 1, 2, 4 and 6 slaves: the tests of `crates/apps/tests/pagerank.rs` and `als.rs`.
`CROSSTALK_DATA` names the directory of the data.
"""

import argparse

from lib.figures import PROMISES, Figures
from lib.specs import specification


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    code, found, skipped = specification("crosstalk-apps", "pagerank", "with_scipy")
    als, of_als, skipped_als = specification("crosstalk-apps", "als", "with_numpy")
    found, skipped = found + of_als, skipped + skipped_als
    figures = Figures("references")
    for metric in PROMISES["references"]:
        of_it = [line for line in found if metric in (line.get("data"), f"{line.get('graph')} {line.get('variant')}")]
        if not of_it:
            figures.missing(metric, next((why for why in skipped if metric.split()[0] in why), "; ".join(sorted({*skipped}))))
            continue
        errors = {str(line["slaves"]): line["worst_error"] for line in of_it}
        figures.add(metric, max(errors.values()), "relative", n=len(errors), by_slaves=errors)
    figures.failed = code != 0 or als != 0
    figures.finish()


if __name__ == "__main__":
    main()
