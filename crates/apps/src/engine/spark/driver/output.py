"""Answers written as text by the executors, in Spark's parts."""

import os
from glob import escape, iglob

from failure import Failure


def wanted(request):
    """The directory to write the answer to, if any: new, empty, or with an earlier
    answer, which goes."""
    if request.parts.get("output") is None:
        return None
    return os.path.abspath(request.text("output"))


def write(frame, directory):
    """A row a line, its columns between tabs; numbers with all their digits. An
    earlier answer's parts there are replaced; other files stay."""
    try:
        for name in ("part-*.csv", ".part-*.csv.crc", "_SUCCESS", "._SUCCESS.crc"):
            for path in iglob(os.path.join(escape(directory), name)):
                os.remove(path)
    except OSError as error:
        raise Failure(f"cannot replace {error.filename}: {error.strerror}") from error
    frame.write.option("sep", "\t").mode("append").csv(f"file://{directory}")
