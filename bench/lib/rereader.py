"""A program of a known working set: `rereader.py FOLDER '{"hot": …, "cold": …, "anonymous": …, …}'`.

It makes two files, drops them from memory, says `base`, and waits for a line. Then it fills anonymous memory, reads
`hot` (and `cold`, once or twice) and says `ready`. From then on it reads `hot` again, once in each `interval`, evenly,
in the order of the file or in another one. Sizes are in MiB, times in seconds.
"""

import json
import os
import random
import sys
import time

BLOCK = 256 << 10
MIB = 1 << 20


def main():
    folder, case = sys.argv[1], json.loads(sys.argv[2])
    hot, cold = (make(f"{folder}/{name}", case[name]) for name in ("hot", "cold"))
    buffer, order = bytearray(BLOCK), list(range(case["hot"] * MIB // BLOCK))
    if case["shuffled"]:
        os.posix_fadvise(hot, 0, 0, os.POSIX_FADV_RANDOM)
        random.Random(1).shuffle(order)
    say("base")
    sys.stdin.readline()
    anonymous = bytearray(case["anonymous"] * MIB)
    for page in range(0, len(anonymous), 4096):
        anonymous[page] = 1
    read(hot, order, buffer)
    read(hot, order, buffer)
    for _ in range(case["cold_reads"]):
        read(cold, range(case["cold"] * MIB // BLOCK), buffer)
    say("ready")
    while True:
        read(hot, order, buffer, case["interval"])


def make(path, size):
    with open(path, "wb") as file:
        for _ in range(size):
            file.write(os.urandom(MIB))
        file.flush()
        os.fsync(file.fileno())
    found = os.open(path, os.O_RDONLY)
    os.posix_fadvise(found, 0, 0, os.POSIX_FADV_DONTNEED)
    return found


def read(file, blocks, buffer, seconds=0.0):
    """Reads blocks, evenly within the time."""
    began = time.monotonic()
    for number, block in enumerate(blocks, 1):
        os.preadv(file, [buffer], block * BLOCK)
        early = began + seconds * number / len(blocks) - time.monotonic()
        if early > 0:
            time.sleep(early)


def say(word):
    print(word, flush=True)


if __name__ == "__main__":
    main()
