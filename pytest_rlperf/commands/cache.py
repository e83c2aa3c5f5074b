"""`rlperf cache`: what is kept between runs, how large it is, and how to be rid of it."""

import os
from argparse import ArgumentParser, Namespace

from pytest_rlperf.model.quantity import format_bytes
from pytest_rlperf.report.text import aligned
from pytest_rlperf.trees.cache import LIMIT, cache_folder, cache_limit, clear, sizes


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--clear", action="store_true", help="drop all that a run makes again, if no run holds it"
    )


def run(arguments: Namespace) -> int:
    cache, most_bytes = cache_folder(os.environ), cache_limit(os.environ)
    if arguments.clear:
        before = sum(sizes(cache).values())
        clear(cache)
        print(f"dropped {format_bytes(before - sum(sizes(cache).values()))}")
    there = sizes(cache)
    whole = format_bytes(sum(there.values()))
    print(f"{cache}: {whole} of at most {format_bytes(most_bytes)} ({LIMIT} sets another limit)")
    for line in aligned([[format_bytes(size), words] for words, size in there.items()]):
        print(f"  {line}")
    return 0
