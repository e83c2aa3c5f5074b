"""Who is left agrees on what was done; errors of MPI that tell of no death stay what they are."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from rl_impls.errors import WorkerDied
from rl_impls.runtimes.mpi import world
from rl_impls.runtimes.mpi.world import Crew, deaths_named, leave

UNKNOWN, FAILED, PENDING, REVOKED, TRUNCATED = range(5)


class MpiError(RuntimeError):
    def Get_error_class(self):  # noqa: N802
        return self.args[0]


class Comm:
    """Of three ranks, one of which may be gone."""

    def __init__(self, said=1, size=3):
        self.calls: list[Any] = []
        self._said, self._size = said, size

    def Get_size(self):  # noqa: N802
        return self._size

    def Get_rank(self):  # noqa: N802
        return 0

    def Ibarrier(self):  # noqa: N802
        return Late()

    def Revoke(self):  # noqa: N802
        self.calls.append("revoke")

    def Agree(self, flag):  # noqa: N802
        self.calls.append(flag)
        if isinstance(self._said, Exception):
            raise self._said
        return flag & self._said

    def Shrink(self):  # noqa: N802
        return Comm(size=2)


class Late:
    """A request that is over some time after its communicator was revoked."""

    n_tests = 0

    def Test(self):  # noqa: N802
        self.n_tests += 1
        if self.n_tests == 3:
            raise MpiError(REVOKED)
        return False


@pytest.fixture(autouse=True)
def mpi(monkeypatch):
    library = SimpleNamespace(
        Exception=MpiError, ERR_UNKNOWN=UNKNOWN, ERR_PROC_FAILED=FAILED,
        ERR_PROC_FAILED_PENDING=PENDING, ERR_REVOKED=REVOKED,
    )  # fmt: skip
    monkeypatch.setattr(world, "library", lambda: library)
    return library


def crew_of(comm: Any):
    return Crew(comm)


def failing(code):
    def work():
        raise MpiError(code)

    return work


def test_what_all_did_is_done():
    comm = Comm()
    ranks = crew_of(comm)
    assert ranks.all_did(lambda: None, list)
    assert ranks.comm is comm
    assert comm.calls == [1]


@pytest.mark.parametrize("code", [FAILED, PENDING, REVOKED])
def test_who_hears_of_a_death_tells_the_others_and_goes_on_with_them(code, capsys):
    comm, late = Comm(), Late()
    ranks = crew_of(comm)
    assert not ranks.all_did(failing(code), lambda: [late])
    assert comm.calls == ["revoke", 0]
    assert late.n_tests == 3
    assert ranks.comm.Get_size() == 2
    assert capsys.readouterr().err == "rl_impls: 2 of 3 ranks are left and go on.\n"
    assert ranks.all_did(lambda: None, list)


@pytest.mark.parametrize("said", [0, MpiError(FAILED)])
def test_who_was_done_before_is_told(said):
    ranks = crew_of(Comm(said))
    assert not ranks.all_did(lambda: None, list)
    assert ranks.comm.Get_size() == 2


def test_who_leaves_does_not_mind_who_is_gone(monkeypatch):
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    comm: Any = Comm()
    leave(comm)
    assert ended == [0]


def test_other_errors_stay_as_they_are():
    with pytest.raises(MpiError):
        crew_of(Comm()).all_did(failing(TRUNCATED), list)
    with pytest.raises(ZeroDivisionError):
        crew_of(Comm()).all_did(lambda: print(1 // 0), list)


def test_where_a_job_ends_as_a_whole_nobody_asks(mpi):
    mpi.ERR_PROC_FAILED = mpi.ERR_PROC_FAILED_PENDING = mpi.ERR_REVOKED = UNKNOWN
    comm = Comm()
    assert crew_of(comm).all_did(lambda: None, list)
    assert comm.calls == []
    with pytest.raises(MpiError):
        crew_of(comm).all_did(failing(UNKNOWN), list)


def test_a_death_that_cannot_be_survived_is_one_sentence():
    sentence = r"another rank was killed: .* with --resume\."
    with pytest.raises(WorkerDied, match=sentence), deaths_named():
        failing(FAILED)()
