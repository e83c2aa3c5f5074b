"""First file of a worker process: scatter memory, take head's import path, start the session.

Run by path and with `-P`, so that nothing but this file decides what is importable.
"""

import json
import sys


def boot(job_file: str) -> int:
    with open(job_file, encoding="utf-8") as file:
        job = json.load(file)
    sys.path[:] = job["sys_path"]
    from random import Random

    from pytest_rlperf.measure.layout import BEFORE_IMPORTS, scatter

    seed = job["layout_seed"]
    alive = [] if seed is None else scatter(Random(seed), BEFORE_IMPORTS)
    from pytest_rlperf.measure.worker import work

    status = work(job)
    del alive  # kept until here: freed memory would be filled by the first imports
    return status


if __name__ == "__main__":
    sys.exit(boot(sys.argv[1]))
