"""Which MPI there is, as a child process tells."""

import sys

import pytest

from pytest_rlperf.launch.mpi.library import CURE, Library, NoMpi, find_library, read_answer


def test_the_answer_of_the_child_is_read():
    answer = '{"vendor": "MPICH", "version": "5.0.2", "mpi4py": "4.1.2", "ulfm": false}'
    library = read_answer(f"a banner\n{answer}\n", "")
    assert library == Library("MPICH", "5.0.2", "4.1.2", False)
    assert str(library) == "MPICH 5.0.2"


@pytest.mark.parametrize(
    ("stdout", "stderr", "said"),
    [
        ("", "Traceback\nRuntimeError: cannot load MPI library", "cannot load MPI library"),
        ("not json", "", "it said nothing"),
        ('{"vendor": "MPICH"}', "", "it said nothing"),
    ],
)
def test_a_library_that_cannot_be_loaded_is_none_and_the_cure_is_named(
    stdout: str, stderr: str, said: str
):
    answer = read_answer(stdout, stderr)
    assert isinstance(answer, NoMpi)
    assert said in answer.reason
    assert answer.reason.endswith(CURE)


def test_the_library_here_is_found_without_loading_it():
    pytest.importorskip("mpi4py")
    library = find_library()
    assert isinstance(library, Library)
    assert library.version
    assert "mpi4py.MPI" not in sys.modules
