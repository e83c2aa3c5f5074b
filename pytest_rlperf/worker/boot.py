"""First file of a worker process: scatter memory, take head's import path, start the session.

Run by path and with `-P`, so that nothing but this file decides what is importable.

The memory layout is random, so that no block shares its luck with another. Where code and data land
decides cache conflicts. Fresh processes alone do not sample that: they repeat the same allocations
in the same order, and byte-identical code can read several percent slower in every block. Hence
this imports next to nothing: it runs before everything else.
"""

import gc
import json
import sys
from random import Random

SMALL_SIZES = range(1, 512)
LARGE_SIZES = range(1024, 1 << 20)
LARGE_MAX = 48
BEFORE_IMPORTS = 20_000
BEFORE_TEST = 4_000
BEFORE_SLICE = 600
"""The most small objects at each of these moments: as many as are not felt in a run's time."""


def scatter(rng: Random, most: int) -> list[bytearray]:
    """Move code and data: random junk, small and large, of which a random half stays alive."""
    return stir(rng, most) + _half(rng.choices(LARGE_SIZES, k=rng.randrange(LARGE_MAX)))


def stir(rng: Random, most: int = BEFORE_SLICE) -> list[bytearray]:
    """Change the free lists that the next slice allocates from.

    Now and then (5 of 912 measured blocks) an allocating function is about twice as slow for the
    whole life of its process, as if a pool of small objects filled and emptied with every call;
    so something else must move.
    """
    return _half(rng.choices(SMALL_SIZES, k=rng.randrange(most)))


def _half(sizes: list[int]) -> list[bytearray]:
    junk = [bytearray(size) for size in sizes]
    return [block for block in junk if len(block) % 2]


def boot(job_file: str) -> int:
    """Run the session that the job file describes, and return its exit status."""
    with open(job_file, encoding="utf-8") as file:
        job = json.load(file)
    sys.path[:] = job["sys_path"]
    seed = job["layout_seed"]
    alive = [] if seed is None else scatter(Random(seed), BEFORE_IMPORTS)
    gc.disable()  # nothing of what is imported is garbage, and looking for it takes 7 of 130 ms
    from pytest_rlperf.reading import typed
    from pytest_rlperf.wire import Job
    from pytest_rlperf.worker.session import work

    gc.enable()
    status = work(typed(Job, job))
    del alive  # kept until here: freed memory would be filled by the first imports
    return status


if __name__ == "__main__":
    sys.exit(boot(sys.argv[1]))
