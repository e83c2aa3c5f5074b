"""Which launcher is chosen, and the words it is called with."""

from collections.abc import Callable

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.launch.mpi.launcher import Kind, Launcher, find_launcher, job_argv
from pytest_rlperf.options import MpiWishes

PYTHON = "/env/bin/python"
COMMAND = ["python", "rank.py"]


def exist(*programs: str) -> Callable[[str], str | None]:
    """A `shutil.which` of a machine that has these."""
    by_name = {program.rpartition("/")[2]: program for program in reversed(programs)}
    return lambda name: name if name in programs else by_name.get(name)


def found(
    *programs: str, vendor: str = "MPICH", env: dict[str, str] | None = None, **wishes: str
) -> Launcher | None:
    return find_launcher(
        MpiWishes(**wishes), vendor, executable=PYTHON, env=env or {}, which=exist(*programs)
    )


@pytest.mark.parametrize(
    ("programs", "chosen"),
    [
        (["/env/bin/mpiexec", "/usr/bin/mpiexec"], "/env/bin/mpiexec"),
        (["/env/bin/mpirun", "/usr/bin/mpiexec"], "/env/bin/mpirun"),
        (["/usr/bin/mpiexec", "/usr/bin/mpirun"], "/usr/bin/mpiexec"),
        (["/usr/bin/mpirun"], "/usr/bin/mpirun"),
    ],
)
def test_the_launcher_beside_the_interpreter_comes_first(programs: list[str], chosen: str):
    launcher = found(*programs)
    assert launcher is not None
    assert launcher.words == (chosen,)


def test_without_any_there_is_none():
    assert found() is None
    assert found("/usr/bin/srun") is None  # outside of an allocation it would queue


def test_srun_stands_in_within_an_allocation():
    launcher = found("/usr/bin/srun", env={"SLURM_JOB_ID": "7"})
    assert launcher == Launcher(Kind.SRUN, ("/usr/bin/srun",))


@pytest.mark.parametrize(
    ("vendor", "kind"),
    [("MPICH", Kind.HYDRA), ("Intel MPI", Kind.HYDRA), ("Open MPI", Kind.OPEN_MPI)],
)
def test_the_library_decides_what_an_mpiexec_understands(vendor: str, kind: Kind):
    launcher = found("/usr/bin/mpiexec", vendor=vendor)
    assert launcher is not None
    assert launcher.kind is kind


@pytest.mark.parametrize(
    ("wish", "kind", "words"),
    [
        ("/opt/mpi/bin/mpiexec", Kind.HYDRA, ("/opt/mpi/bin/mpiexec",)),
        ("srun", Kind.SRUN, ("srun",)),
        ("aprun -n {nprocs} -q", Kind.TEMPLATE, ("aprun", "-n", "{nprocs}", "-q")),
    ],
)
def test_the_users_wish_comes_before_what_is_there(wish: str, kind: Kind, words: tuple[str, ...]):
    assert found("/env/bin/mpiexec", words[0], launcher=wish) == Launcher(kind, words)


def test_host_file_and_interface_reach_the_launcher():
    launcher = found("/env/bin/mpiexec", hostfile="hosts", interface="ib0")
    assert launcher == Launcher(Kind.HYDRA, ("/env/bin/mpiexec",), "hosts", "ib0")


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ("mpiexec -n 2", r"does not say where the number of ranks goes; write \{nprocs\} there"),
        ("mpiexec -n {nprocs} 'x", "rlperf_mpi_launcher cannot be read .*; correct its quotes"),
        ("mpirun.old", "names 'mpirun.old', which is not there; correct its path"),
        ("  ", "rlperf_mpi_launcher names no program"),
    ],
)
def test_a_wish_that_cannot_be_obeyed_is_refused(wish: str, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        found("mpiexec", launcher=wish)


@pytest.mark.parametrize(
    ("launcher", "argv"),
    [
        (Launcher(Kind.HYDRA, ("mpiexec",)), "mpiexec -n 3"),
        (Launcher(Kind.HYDRA, ("mpiexec",), "hosts"), "mpiexec -n 3 -f hosts"),
        (Launcher(Kind.HYDRA, ("mpiexec",), None, "ib0"), "mpiexec -n 3 -iface ib0"),
        (Launcher(Kind.OPEN_MPI, ("mpiexec",)), "mpiexec -n 3 --oversubscribe --bind-to none"),
        (
            Launcher(Kind.OPEN_MPI, ("mpiexec",), "hosts", "ib0"),
            "mpiexec -n 3 --oversubscribe --bind-to none --hostfile hosts "
            "--mca btl_tcp_if_include ib0",
        ),
        (
            Launcher(Kind.SRUN, ("srun",)),
            "srun --ntasks=3 --overcommit --cpu-bind=none --kill-on-bad-exit=1 --input=none",
        ),
        (
            Launcher(Kind.SRUN, ("srun",), "hosts"),
            "srun --ntasks=3 --overcommit --cpu-bind=none --kill-on-bad-exit=1 --input=none "
            "--nodefile=hosts",
        ),
        (Launcher(Kind.TEMPLATE, ("aprun", "-n{nprocs}")), "aprun -n3"),
        (
            Launcher(Kind.TEMPLATE, ("run", "{nprocs}", "@{hostfile}", "{interface}"), "h", "ib0"),
            "run 3 @h ib0",
        ),
    ],
)
def test_the_command_comes_after_the_launchers_words(launcher: Launcher, argv: str):
    assert job_argv(launcher, 3, COMMAND) == [*argv.split(), *COMMAND]


def test_a_template_may_say_where_the_command_goes():
    launcher = Launcher(Kind.TEMPLATE, ("run", "{command}", "--ranks", "{nprocs}"))
    assert job_argv(launcher, 2, COMMAND) == ["run", "python", "rank.py", "--ranks", "2"]


@pytest.mark.parametrize(
    ("launcher", "sentence"),
    [
        (
            Launcher(Kind.SRUN, ("srun",), None, "ib0"),
            "srun has no option for a network interface; leave rlperf_mpi_interface out",
        ),
        (
            Launcher(Kind.TEMPLATE, ("run", "{nprocs}"), "hosts"),
            r"rlperf_mpi_hostfile is set, .* write \{hostfile\} there",
        ),
        (
            Launcher(Kind.TEMPLATE, ("run", "{nprocs}", "{interface}")),
            r"has the placeholder \{interface\}; set rlperf_mpi_interface too",
        ),
    ],
)
def test_what_a_launcher_cannot_do_is_refused(launcher: Launcher, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        job_argv(launcher, 2, COMMAND)
