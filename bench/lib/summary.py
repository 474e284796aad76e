"""Every promised figure beside what was measured, then the figures that promise
nothing, then the sum: how many are reached, and the names of the others. `python -m lib.summary [NAME…]` speaks of those benches only.
"""

import json
import sys

from lib.figures import PROMISES, RESULTS, bound, keeps, quantity


def main():
    wanted = sys.argv[1:] or sorted({*PROMISES, *(path.stem for path in RESULTS.glob("*.json"))}, key=place)
    measured = [(name, row) for name in wanted for row in rows(name)]
    lines, failed, missing = promised(wanted, measured)
    table("promised", lines)
    kept = lambda name, row: row["metric"] in PROMISES.get(name, {})
    table("also measured", [(row["what"], value(row), "", "") for name, row in measured if not kept(name, row)])
    print(summary_of(len(lines), failed, missing))
    sys.exit(1 if failed or missing else 0)


def promised(wanted, measured):
    """A line for each promise, also of what no bench has measured; those that are not reached, and those without
    a figure."""
    lines, failed, missing = [], [], []
    for name, metric in [(name, metric) for name in wanted for metric in PROMISES.get(name, {})]:
        promise = PROMISES[name][metric]
        found = [row for bench, row in measured if bench == name and row["metric"] == metric]
        # A bench may have measured it more than once: the worst counts.
        row = next((row for row in found if not is_reached(promise, row)), found[0] if found else None)
        if row is None or row["value"] is None:
            missing.append(f"{name}: {metric}")
            why = f"not measured here: {row['why']}" if row else "not measured here"
            lines.append((promise["what"], "–", promise["must"], why))
        elif is_reached(promise, row):
            lines.append((promise["what"], value(row), bound({**row, "must": promise["must"]}), "yes"))
        else:
            failed.append(f"{name}: {metric}")
            lines.append((promise["what"], value(row), bound({**row, "must": promise["must"]}), "NO"))
    return lines, failed, missing


def is_reached(promise, row):
    """By the bench's own account, and by what is promised now."""
    if row["value"] is None or row["reached"] is not True:
        return False
    ends = [row["value"] if row[end] is None else row[end] for end in ("low", "high")]
    return keeps(promise["must"], *ends)


def summary_of(promises, failed, missing):
    """The sum, with the names of what is not as promised."""
    reached = promises - len(failed) - len(missing)
    lines = [f"\n{reached} of {promises} reached, {len(failed)} not reached, {len(missing)} without a figure"]
    lines += [f"  not reached: {name}" for name in failed]
    return "\n".join(lines + [f"  without a figure: {name}" for name in missing])


def place(name):
    """Benches in the order of their promises."""
    names = list(PROMISES)
    return (names.index(name) if name in names else len(names), name)


def rows(name):
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else []


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
