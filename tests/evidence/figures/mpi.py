"""`python -m tests.evidence.figures.mpi [ROUNDS [STEPS]]`: what training over MPI costs and learns.

Each round trains in one rank, in two, in two with mpi-async, in one serial process and in two that
run together and know nothing of each other (apart), in random order. All processes live from the
first round to the last, each in a session of its own, as MPICH gives one to every rank: the
scheduler then treats all alike. A ratio is the median over rounds of the ratio inside a round, with
quartiles.

Then each round learns from the beginning: serial, and in two ranks in each way, the same number of
steps in all. Bytes are those that ranks send, beside a float32 table at every exchange.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from statistics import median

from rl_impls.envs.games import rules
from rl_impls.runtimes.mpi.messages import CODECS
from rl_impls.runtimes.mpi.runtime import Traffic
from tests.evidence.figures.machine import circumstances
from tests.evidence.figures.mpi_side import Done, Order

N_STEPS = 100_000_000  # of all processes together, a second and a half
LEARNING_STEPS = 1_000_000
N_RANKS = 2
DENSE_BYTES = 4 * rules().n_states * rules().n_actions
MPIEXEC = str(Path(sys.executable).with_name("mpiexec"))
SIDE = [sys.executable, "-m", "tests.evidence.figures.mpi_side"]


@contextmanager
def started(words: list[str], kind: str, n: int, number: int = 0) -> Iterator[list[Connection]]:
    """The pipes of a job's processes, in the order of ranks."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"{folder}/pipe"
        with Listener(address, "AF_UNIX", backlog=n) as listener:
            job = subprocess.Popen(
                [*words, *SIDE, address, kind, str(number)],
                stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            pipes = [listener.accept() for _ in range(n)]
        ranked = {pipe.recv(): pipe for pipe in pipes}
        yield [pipe for _, pipe in sorted(ranked.items())]
        for pipe in pipes:
            pipe.send(None)
        job.wait()


def carried_out(pipes: Sequence[Connection], order: Order) -> tuple[float, list[Done]]:
    """Seconds until all are done, and what each did."""
    begin = time.perf_counter()
    for pipe in pipes:
        pipe.send(order)
    done: list[Done] = [pipe.recv() for pipe in pipes]
    return time.perf_counter() - begin, done


def speed(pipes: Sequence[Connection], total: int, order: Order) -> float:
    return total / carried_out(pipes, order)[0]


def measure(ways: dict[str, Callable[[], float]], n_rounds: int) -> list[dict[str, float]]:
    return [
        {way: ways[way]() for way in random.sample(sorted(ways), len(ways))}
        for _ in range(n_rounds)
    ]


def spread(numbers: Sequence[float], form: str) -> str:
    ordered = sorted(numbers)
    low, high = ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]
    return f"{median(ordered):{form}} ({low:{form}}, {high:{form}})"


def render(rounds: list[dict[str, float]]) -> str:
    lines = [f"{way:26}{median(each[way] for each in rounds):>12,.0f} steps/s" for way in rounds[0]]
    for title, own, other, times in (
        ("1 rank / serial", "1 rank", "serial", 1),
        ("2 ranks / apart", "2 ranks", "apart", 1),
        ("2 ranks / (2 x serial)", "2 ranks", "serial", N_RANKS),
        ("2 ranks, async / apart", "2 ranks, async", "apart", 1),
    ):
        ratios = [each[own] / times / each[other] for each in rounds]
        lines.append(f"{title:26}{spread(ratios, '.3f')}")
    return "\n".join(lines)


def bytes_told(traffic: Traffic, how: str, n_steps: int) -> str:
    told = f"{traffic.bytes_sent / n_steps:.4f} bytes a step in {traffic.syncs} "
    if how == "mpi-async":
        return f"{told}merges"
    dense = traffic.syncs * N_RANKS * (N_RANKS - 1) * DENSE_BYTES
    return f"{told}exchanges, {dense / traffic.bytes_sent:.1f} times less than dense tables"


def learn(how: str, pipes: Sequence[Connection], n_rounds: int, n_steps: int) -> str:
    rounds = [carried_out(pipes, Order(n_steps, seed, how))[1] for seed in range(1, n_rounds + 1)]
    won = spread([done[0].win_rate for done in rounds], ".1%")
    lost = spread([done[0].loss_rate for done in rounds], ".1%")
    traffic = rounds[-1][0].traffic
    sent = "" if traffic is None else f"; {bytes_told(traffic, how, n_steps)}"
    return f"{how:26}won {won}, lost {lost}{sent}"


def main(argv: list[str]) -> None:
    n_rounds, total = map(int, [*argv, *("15", str(N_STEPS))[len(argv) :]])
    print(
        f"{circumstances()}\npython -m tests.evidence.figures.mpi {n_rounds} {total}: "
        f"{total:,} steps a round, wall time; median (quartiles)"
    )
    with ExitStack() as stack:
        enter = stack.enter_context
        (lone,) = enter(started([MPIEXEC, "-n", "1"], "mpi", 1))
        ranks = enter(started([MPIEXEC, "-n", str(N_RANKS)], "mpi", N_RANKS))
        serial = [enter(started([], "serial", 1, number))[0] for number in range(N_RANKS)]
        half = total // N_RANKS
        ways: dict[str, Callable[[], float]] = {
            "serial": lambda: speed(serial[:1], half, Order(half)),
            "1 rank": lambda: speed([lone], half, Order(half)),
            "apart": lambda: speed(serial, total, Order(half)),
            "2 ranks": lambda: speed(ranks, total, Order(total)),
            "2 ranks, async": lambda: speed(ranks, total, Order(total, how="mpi-async")),
        }
        for pipes in ([lone], ranks, serial):  # nobody compiles while it is measured
            carried_out(pipes, Order(0))
        carried_out(ranks, Order(0, how="mpi-async"))
        print(render(measure(ways, n_rounds)), flush=True)
        traffic = carried_out(ranks, Order(total, seed=0))[1][0].traffic
        assert traffic is not None
        print(f"{'2 ranks, float16':26}{bytes_told(traffic, 'float16', total)}")
        n_steps = min(total, LEARNING_STEPS)
        print(f"learned in {n_steps:,} steps in all, {n_rounds} seeds, 10,000 games each")
        print(learn("serial", serial[:1], n_rounds, n_steps), flush=True)
        for how in (*CODECS, "mpi-async"):
            print(learn(how, ranks, n_rounds, n_steps), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
