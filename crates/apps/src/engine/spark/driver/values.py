"""A few rows as a table. PySpark's `createDataFrame` would start Python on the
executors for them, where there may be none."""


def table(session, schema, rows):
    """`schema` is of whole numbers and numbers, as in "user INT, rating FLOAT"."""
    names, types = zip(*(column.split() for column in schema.split(", ")))
    spelt = ", ".join("(" + ", ".join(map(spell, row)) + ")" for row in rows)
    columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in zip(names, types))
    return session.sql(f"SELECT {columns} FROM VALUES {spelt} AS t({', '.join(names)})")


def spell(number):
    return f"{number!r}D" if isinstance(number, float) else str(int(number))
