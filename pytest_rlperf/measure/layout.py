"""Random memory layout, so that no block shares its luck with another.

Where code and data land decides cache conflicts. Fresh processes alone do not sample that:
they repeat the same allocations in the same order, and byte-identical code can read several
percent slower in every block. Imports nothing but `random`: it runs before everything else.
"""

from random import Random

SMALL_SIZES = range(1, 512)
LARGE_SIZES = range(1024, 1 << 20)
LARGE_MAX = 48
BEFORE_IMPORTS = 20_000
BEFORE_SLICES = 4_000
"""Most small objects at a time; a tenth of a second for them would be felt in every test."""


def scatter(rng: Random, most: int) -> list[bytearray]:
    """Allocate random junk, free a random half of it, and return what has to stay alive."""
    sizes = rng.choices(SMALL_SIZES, k=rng.randrange(most))
    sizes += rng.choices(LARGE_SIZES, k=rng.randrange(LARGE_MAX))
    junk = [bytearray(size) for size in sizes]
    return [block for block in junk if len(block) % 2]
