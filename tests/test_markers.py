"""`@pytest.mark.rlperf(...)`: what it accepts, and one sentence for what it does not."""

import re
from typing import Any

import pytest

from pytest_rlperf.errors import UsageError
from pytest_rlperf.markers import CHECKS, ranks_of, spec_from, spec_of
from pytest_rlperf.model.spec import KEYWORDS, RANK_KEYWORDS, RankSpec, Scaling, Spec

NODE = "test_a.py::test_a"


def test_every_keyword_reaches_the_spec():
    keywords: dict[str, Any] = {
        "category": "agents",
        "steps": 100,
        "threshold": 0.02,
        "kpi": ("environment_step", "training_throughput"),
        "threads": 2,
        "waits": True,
        "warmup": 0,
        "iterations": 5,
        "memory": {},
        "imports": ("mylib", "mylib.nets"),
        "first_call": True,
        "sizes": (10, 100),
        "metadata": {"env": "Chain"},
    }
    assert keywords.keys() == set(KEYWORDS)
    assert spec_from(keywords, NODE) == Spec(**keywords)


def test_every_keyword_is_checked():
    assert CHECKS.keys() == {*KEYWORDS, *RANK_KEYWORDS}


def test_without_keywords_the_defaults_hold():
    assert spec_from({}, NODE) == Spec()


def test_a_threshold_may_be_written_in_percent():
    assert spec_from({"threshold": "2%"}, NODE).threshold == pytest.approx(0.02)


@pytest.mark.parametrize("value", ["compilation", ["compilation"], ("compilation",)])
def test_one_kpi_may_be_written_without_a_list(value: object):
    assert spec_from({"kpi": value}, NODE).kpi == ("compilation",)


def test_an_unknown_keyword_is_named_and_the_nearest_one_suggested():
    with pytest.raises(UsageError, match=f"^{NODE}: .* no keyword 'treshold'; .*'threshold'"):
        spec_from({"treshold": "5%"}, NODE)


def test_an_unknown_keyword_that_resembles_none_gets_them_all_listed():
    with pytest.raises(UsageError, match="no keyword 'xyzzy'; it takes category, steps, "):
        spec_from({"xyzzy": 1}, NODE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("category", 3),
        ("steps", 0),
        ("steps", 1.5),
        ("steps", True),
        ("threshold", ["5%"]),
        ("kpi", 3),
        ("kpi", ""),
        ("kpi", []),
        ("kpi", ["compilation", 3]),
        ("threads", 0),
        ("threads", "2"),
        ("waits", 1),
        ("warmup", -1),
        ("iterations", 0),
        ("memory", 3),
        ("memory", "20%,1MiB"),
        ("metadata", [1]),
        ("metadata", {"env": object}),
        ("metadata", {"reward": float("inf")}),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_keyword(name: str, value: object):
    with pytest.raises(UsageError) as caught:
        spec_from({name: value}, NODE)
    assert str(caught.value).startswith(f"{NODE}: rlperf({name}={value!r}) is not ")


@pytest.mark.parametrize("value", ["fast", "0%", 5, -0.1])
def test_a_threshold_that_allows_nothing_sensible_is_refused(value: object):
    with pytest.raises(UsageError, match=f"^{NODE}: threshold is "):
        spec_from({"threshold": value}, NODE)


def test_the_closest_marker_wins_keyword_by_keyword(pytester: pytest.Pytester):
    item = pytester.getitem(
        """
        import pytest

        pytestmark = pytest.mark.rlperf(category="module", steps=1, threads=2)

        @pytest.mark.rlperf(category="class", steps=2)
        class TestA:
            @pytest.mark.rlperf(category="function")
            def test_a(self): ...
        """,
        "test_a",
    )
    assert spec_of(item) == Spec(category="function", steps=2, threads=2)


def test_a_positional_argument_is_refused_with_a_keyword_to_write(pytester: pytest.Pytester):
    item = pytester.getitem(
        """
        import pytest

        @pytest.mark.rlperf("agents")
        def test_func(): ...
        """
    )
    with pytest.raises(
        UsageError, match="keywords only, and got 'agents'; write category='agents'"
    ):
        spec_of(item)


def mpi_item(pytester: pytest.Pytester, *markers: str) -> pytest.Item:
    decorators = "\n".join(f"@pytest.mark.{marker}" for marker in markers)
    return pytester.getitem(f"import pytest\n\n{decorators}\ndef test_func(): ...\n")


def test_an_mpi_test_says_how_its_jobs_are_and_all_that_others_may_say(pytester: pytest.Pytester):
    marker = (
        "rlperf_mpi(nprocs=[4, 1, 2, 2], timeout=5, scaling='weak', gate_oversubscribed=True, "
        "category='mpi', steps=10)"
    )
    item = mpi_item(pytester, marker)
    assert ranks_of(item) == RankSpec((1, 2, 4), 5, Scaling.WEAK, True)
    assert spec_of(item) == Spec(category="mpi", steps=10)


def test_an_mpi_test_may_have_both_markers(pytester: pytest.Pytester):
    item = mpi_item(pytester, "rlperf_mpi(nprocs=3)", "rlperf(category='mpi')")
    assert ranks_of(item).nprocs == (3,)
    assert spec_of(item).category == "mpi"


@pytest.mark.parametrize(
    ("sizes", "plain"), [((1, 2, 4), 2), ((1,), 1), ((1, 8, 16), 8), ((3,), 3)]
)
def test_a_plain_run_takes_the_least_size_that_communicates(sizes: tuple[int, ...], plain: int):
    assert RankSpec(sizes).plain == plain


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ("nprocs=0", r"rlperf_mpi\(nprocs=0\) is not a number of ranks, or a list of them"),
        ("nprocs=[]", "is not a number of ranks"),
        ("nprocs=[2, True]", "is not a number of ranks"),
        ("timeout=0", "is not a number of seconds above 0"),
        ("timeout=float('inf')", "is not a number of seconds above 0"),
        ("scaling='some'", "is not 'strong' or 'weak'"),
        ("gate_oversubscribed=1", "is not True or False"),
    ],
)
def test_a_wrong_word_on_jobs_is_refused(pytester: pytest.Pytester, keywords: str, sentence: str):
    with pytest.raises(UsageError, match=sentence):
        ranks_of(mpi_item(pytester, f"rlperf_mpi({keywords})"))


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("rlperf_mpi(nproc=2)", "rlperf_mpi has no keyword 'nproc'; did you mean 'nprocs'?"),
        ("rlperf(nprocs=2)", "rlperf has no keyword 'nprocs'"),
    ],
)
def test_keywords_belong_to_their_marker(pytester: pytest.Pytester, marker: str, sentence: str):
    with pytest.raises(UsageError, match=re.escape(sentence)):
        spec_of(mpi_item(pytester, marker))


@pytest.mark.parametrize("value", ["mylib", ["mylib"], ("mylib",)])
def test_one_module_may_be_written_without_a_list(value: object):
    assert spec_from({"imports": value}, NODE).imports == ("mylib",)


@pytest.mark.parametrize("value", ["", "my-lib", "mylib.", ["mylib", 3], []])
def test_what_cannot_be_a_module_is_refused(value: object):
    with pytest.raises(UsageError, match="is not the name of a module, or a list of names"):
        spec_from({"imports": value}, NODE)


def test_sizes_are_sorted():
    assert spec_from({"sizes": [100, 0.5, 10]}, NODE).sizes == (0.5, 10, 100)


@pytest.mark.parametrize("keywords", [{"imports": "mylib"}, {"first_call": True}])
def test_starts_are_refused_to_tests_in_ranks(keywords: dict[str, Any]):
    with pytest.raises(UsageError, match=f"^{NODE}: imports and first_call are timed in one"):
        spec_from(keywords, NODE, "rlperf_mpi")
