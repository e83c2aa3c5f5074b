"""Work whose memory is known. ``GROWN`` is set on head where a growth is to be found."""

import multiprocessing

GROWN = False
MIB = 2**20
KEPT: list[bytes] = []


def filled(size):
    return bytearray(b"x") * size


def hold():
    """5 MiB, and 2 MiB more."""
    return filled(7 * MIB if GROWN else 5 * MIB)


def leak():
    if GROWN:
        KEPT.append(bytes(10 * 1024))


def spike():
    """Allocated, touched and freed at once."""
    filled(50 * MIB if GROWN else MIB)


def child():
    """Fill memory in a process of its own."""
    process = multiprocessing.get_context("fork").Process(
        target=filled, args=(60 * MIB if GROWN else 20 * MIB,)
    )
    process.start()
    process.join()


def rank(comm):
    """Fill more memory in one rank of two."""
    grown = GROWN and comm.Get_rank() == 1
    held = filled(20 * MIB if grown else 10 * MIB)
    comm.Barrier()
    return len(held)
