"""First file of a rank: take head's import path, leave a supervisor behind, start the session.

Run by path and with `-P`, so that nothing but this file decides what is importable.
"""

import json
import os
import sys


def boot(order_file: str) -> int:
    with open(order_file, encoding="utf-8") as file:
        order = json.load(file)
    sys.path[:] = order["job"]["sys_path"]
    from pytest_rlperf.mpi.rank_files import RANK_NAMES, RankFiles, rank_of
    from pytest_rlperf.mpi.supervisor import supervise

    rank = rank_of(os.environ)
    if rank is None:
        names = ", ".join(RANK_NAMES)
        print(f"the launcher tells its ranks none of {names}; use another", file=sys.stderr)
        return 2
    files = RankFiles(order["folder"], rank)
    supervise(files, order["host"], order["controller"])
    from random import Random

    from pytest_rlperf.worker.boot import BEFORE_IMPORTS, scatter

    seed = order["job"]["layout_seed"]
    alive = [] if seed is None else scatter(Random(f"{seed}/{rank}"), BEFORE_IMPORTS)
    from pytest_rlperf.mpi.rank_session import play
    from pytest_rlperf.wire import RankOrder, typed

    status = play(typed(RankOrder, order), files)
    del alive  # kept until here: freed memory would be filled by the first imports
    return status


if __name__ == "__main__":
    sys.exit(boot(sys.argv[1]))
