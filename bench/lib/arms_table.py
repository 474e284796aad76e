"""The table of three arms: alone, `exec` in the idle class only, and the guard."""

HEAD = [
    "load", "time exec / alone", "time guard / alone", "speed guard / exec", "background exec", "background guard",
    "background guard / exec", "speed at equal background", "n", "guard beats exec",
]


def table(rows):
    """The rows that compare arms as lines of Markdown; nothing where there are none."""
    compared = [cells(row) for row in rows if "beats" in row]
    if not compared:
        return []
    columns = list(zip(HEAD, *compared))
    widths = [max(map(len, column)) for column in columns]
    line = lambda words: "| " + " | ".join(word.ljust(width) for word, width in zip(words, widths)) + " |"
    return [line(HEAD), line(["-" * width for width in widths]), *map(line, compared)]


def cells(row):
    left = lambda arm: f"{row[f'background_{arm}']:.3f} {row['background_unit']}"
    return [
        row["load"], estimate(row["exec"]), estimate(row["guard"]), estimate(row), left("exec"), left("guard"),
        estimate(row["background"]), estimate(row["equal"]), str(row["n"]), row["beats"],
    ]


def estimate(interval):
    """A ratio with its 95 % interval, where it has one."""
    if interval["low"] is None:
        return f"{interval['value']:.3f}"
    return f"{interval['value']:.3f} ({interval['low']:.3f}–{interval['high']:.3f})"
