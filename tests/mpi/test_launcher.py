"""Which launcher is chosen, the words it is called with, and what the ranks of a job inherit."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import UsageError
from pytest_rlperf.mpi.launcher import (
    CURE,
    JOB,
    SCRUBBED_PREFIXES,
    Launcher,
    LauncherKind,
    Library,
    NoMpi,
    find_launcher,
    job_argv,
    job_environment,
    read_answer,
)
from pytest_rlperf.mpi.rank_files import RANK_NAMES, rank_of
from pytest_rlperf.options import MpiWishes
from tests.factories import examples

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
    assert launcher == Launcher(LauncherKind.SRUN, ("/usr/bin/srun",))


@pytest.mark.parametrize(
    ("vendor", "kind"),
    [
        ("MPICH", LauncherKind.HYDRA),
        ("Intel MPI", LauncherKind.HYDRA),
        ("Open MPI", LauncherKind.OPEN_MPI),
    ],
)
def test_the_library_decides_what_an_mpiexec_understands(vendor: str, kind: LauncherKind):
    launcher = found("/usr/bin/mpiexec", vendor=vendor)
    assert launcher is not None
    assert launcher.kind is kind


@pytest.mark.parametrize(
    ("wish", "kind", "words"),
    [
        ("/opt/mpi/bin/mpiexec", LauncherKind.HYDRA, ("/opt/mpi/bin/mpiexec",)),
        ("srun", LauncherKind.SRUN, ("srun",)),
        ("aprun -n {nprocs} -q", LauncherKind.TEMPLATE, ("aprun", "-n", "{nprocs}", "-q")),
    ],
)
def test_the_users_wish_comes_before_what_is_there(
    wish: str, kind: LauncherKind, words: tuple[str, ...]
):
    assert found("/env/bin/mpiexec", words[0], launcher=wish) == Launcher(kind, words)


def test_host_file_and_interface_reach_the_launcher():
    launcher = found("/env/bin/mpiexec", hostfile="hosts", interface="ib0")
    assert launcher == Launcher(LauncherKind.HYDRA, ("/env/bin/mpiexec",), "hosts", "ib0")


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
        (Launcher(LauncherKind.HYDRA, ("mpiexec",)), "mpiexec -n 3"),
        (Launcher(LauncherKind.HYDRA, ("mpiexec",), "hosts"), "mpiexec -n 3 -f hosts"),
        (Launcher(LauncherKind.HYDRA, ("mpiexec",), None, "ib0"), "mpiexec -n 3 -iface ib0"),
        (
            Launcher(LauncherKind.OPEN_MPI, ("mpiexec",)),
            "mpiexec -n 3 --oversubscribe --bind-to none",
        ),
        (
            Launcher(LauncherKind.OPEN_MPI, ("mpiexec",), "hosts", "ib0"),
            "mpiexec -n 3 --oversubscribe --bind-to none --hostfile hosts "
            "--mca btl_tcp_if_include ib0",
        ),
        (
            Launcher(LauncherKind.SRUN, ("srun",)),
            "srun --ntasks=3 --overcommit --cpu-bind=none --kill-on-bad-exit=1 --input=none",
        ),
        (
            Launcher(LauncherKind.SRUN, ("srun",), "hosts"),
            "srun --ntasks=3 --overcommit --cpu-bind=none --kill-on-bad-exit=1 --input=none "
            "--nodefile=hosts",
        ),
        (Launcher(LauncherKind.TEMPLATE, ("aprun", "-n{nprocs}")), "aprun -n3"),
        (
            Launcher(
                LauncherKind.TEMPLATE, ("run", "{nprocs}", "@{hostfile}", "{interface}"), "h", "ib0"
            ),
            "run 3 @h ib0",
        ),
    ],
)
def test_the_command_comes_after_the_launchers_words(launcher: Launcher, argv: str):
    assert job_argv(launcher, 3, COMMAND) == [*argv.split(), *COMMAND]


def test_a_template_may_say_where_the_command_goes():
    launcher = Launcher(LauncherKind.TEMPLATE, ("run", "{command}", "--ranks", "{nprocs}"))
    assert job_argv(launcher, 2, COMMAND) == ["run", "python", "rank.py", "--ranks", "2"]


@pytest.mark.parametrize(
    ("launcher", "sentence"),
    [
        (
            Launcher(LauncherKind.SRUN, ("srun",), None, "ib0"),
            "srun has no option for a network interface; leave rlperf_mpi_interface out",
        ),
        (
            Launcher(LauncherKind.TEMPLATE, ("run", "{nprocs}"), "hosts"),
            r"rlperf_mpi_hostfile is set, .* write \{hostfile\} there",
        ),
        (
            Launcher(LauncherKind.TEMPLATE, ("run", "{nprocs}", "{interface}")),
            r"has the placeholder \{interface\}; set rlperf_mpi_interface too",
        ),
    ],
)
def test_what_a_launcher_cannot_do_is_refused(launcher: Launcher, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        job_argv(launcher, 2, COMMAND)


# -- which MPI there is, as a child process tells -----------------------------------------------


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
    asked = (
        "import sys; from pytest_rlperf.mpi.launcher import find_library; "
        "print(find_library().version); sys.exit('mpi4py.MPI' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


# -- the environment of a job, and how each rank learns its number ------------------------------

JOBS = Path("/job")


@pytest.mark.parametrize(
    "name",
    ["PMI_RANK", "PMIX_SERVER_URI", "HYDI_CONTROL_FD", "MPI_LOCALRANKID", "PRTE_LAUNCHED",
     "OMPI_COMM_WORLD_SIZE", "OMPI_WORLD_SIZE", "PYTEST_CURRENT_TEST"],
)  # fmt: skip
def test_an_outer_job_is_not_inherited(name: str):
    assert name not in job_environment({name: "1"}, "t", JOBS)


@pytest.mark.parametrize(
    "name", ["OMPI_MCA_btl", "MPIR_CVAR_DEBUG", "PATH", "OMPI_ALLOW_RUN_AS_ROOT"]
)
def test_what_the_user_set_stays(name: str):
    assert job_environment({name: "mine"}, "t", JOBS)[name] == "mine"


def test_what_open_mpi_keeps_of_a_job_goes_with_its_folder():
    assert job_environment({}, "t", JOBS)["PRTE_MCA_prte_local_tmpdir_base"] == "/job"


def test_every_process_of_the_job_is_marked():
    assert job_environment({JOB: "outer"}, "inner", JOBS)[JOB] == "inner"


@examples
@given(st.dictionaries(st.text(max_size=12), st.text(max_size=3)))
def test_nothing_else_is_lost(inherited: dict[str, str]):
    env = job_environment(inherited, "t", JOBS)
    kept = {n: v for n, v in inherited.items() if not n.startswith(SCRUBBED_PREFIXES)}
    assert {n: env[n] for n in kept if n != JOB} == {n: v for n, v in kept.items() if n != JOB}


@pytest.mark.parametrize("name", RANK_NAMES)
def test_every_launcher_tells_a_rank_its_number(name: str):
    assert rank_of({name: "3"}) == 3


def test_without_a_launcher_there_is_no_rank():
    assert rank_of({"PATH": "/bin"}) is None
