"""Every promised figure beside what was measured, then the figures that promise
nothing. `python -m lib.summary [NAME…]` speaks of those benches only.
"""

import json
import sys

from lib.figures import PROMISES, RESULTS, bound, quantity


def main():
    wanted = sys.argv[1:] or sorted({*PROMISES, *(path.stem for path in RESULTS.glob("*.json"))}, key=place)
    measured = [(name, row) for name in wanted for row in rows(name)]
    table("promised", [promised(name, metric, measured) for name in wanted for metric in PROMISES.get(name, {})])
    table("also measured", [(row["what"], value(row), "", "") for _, row in measured if row["must"] is None])
    failed = sum(row["reached"] is False for _, row in measured)
    known = {(name, row["metric"]) for name, row in measured}
    missing = sum((name, metric) not in known for name in wanted for metric in PROMISES.get(name, {}))
    print(f"\n{failed} not reached, {missing} without a figure" if failed or missing else "")
    sys.exit(1 if failed or missing else 0)


def place(name):
    """Benches in the order of their promises."""
    names = list(PROMISES)
    return (names.index(name) if name in names else len(names), name)


def rows(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


def promised(name, metric, measured):
    """A line of the table, also of what no bench has measured."""
    promise = PROMISES[name][metric]
    found = next((row for bench, row in measured if bench == name and row["metric"] == metric), None)
    if found is None or found["value"] is None:
        why = f"not measured here: {found['why']}" if found else "not measured here"
        return promise["what"], "–", promise["must"], why
    return promise["what"], value(found), bound(found), "yes" if found["reached"] else "NO"


def value(row):
    if row["value"] is None:
        return f"– ({row['why']})"
    return quantity(row) + (f", n = {row['n']}" if row["n"] else "")


def table(title, lines):
    if not lines:
        return
    lines = [("", "value (95 %)", "must", "reached"), *lines] if title == "promised" else lines
    widths = [max(len(cells[column]) for cells in lines) for column in range(3)]
    print(f"\n{title}")
    for cells in lines:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)) + f"  {cells[3]}".rstrip())


if __name__ == "__main__":
    main()
