"""`rlperf comment`: one comment on the right pull request, whatever a fork sends."""

import json
import re
import threading
from typing import Any

import pytest

from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import Failure
from tests.commands.comment.conftest import Job
from tests.commands.comment.stand_in import BOT, PULL_REQUEST, RUN_URL, WORKFLOW_RUN, GitHubStandIn
from tests.factories import a_test, run_result, verdict
from tests.sample_runs import EVERYTHING
from tests.servers import Answer

MARK = "<!-- rlperf -->"
RUN = run_result(a_test())


def slower(nodeid: str = "test_a.py::test_a"):
    return a_test(nodeid, verdict=verdict(Outcome.REGRESSED, "surely", (0.25, 0.2, 0.3)))


@pytest.mark.parametrize("event", [WORKFLOW_RUN, PULL_REQUEST])
def test_the_report_becomes_a_comment_that_leads_to_the_run(
    event: dict[str, Any], job: Job, github: GitHubStandIn, capsys: pytest.CaptureFixture[str]
):
    job.event(event)
    job.report(run_result(slower()))
    assert job.comment() == 0
    (body,) = github.bodies
    assert body.startswith(f"{MARK}\n## Performance: 1 regressed\n")
    assert f"]({RUN_URL})" in body
    assert capsys.readouterr().out == "the comment on pull request 12 was written.\n"


@pytest.mark.parametrize("elsewhere", ["https:///github.example/me", "https://example.org/me"])
def test_the_comment_leads_to_no_other_server(elsewhere: str, job: Job, github: GitHubStandIn):
    measured = WORKFLOW_RUN["workflow_run"]
    job.event({"workflow_run": {**measured, "html_url": elsewhere}})
    job.report(run_result(slower()))
    assert job.comment() == 0
    assert elsewhere not in github.bodies[0]


def test_a_second_run_updates_the_comment(
    job: Job, github: GitHubStandIn, capsys: pytest.CaptureFixture[str]
):
    for test in (a_test(), slower()):
        job.report(run_result(test))
        assert job.comment() == 0
    (body,) = github.bodies
    assert "1 regressed" in body
    assert job.asked == ["POST", "PATCH"]
    assert capsys.readouterr().out.endswith("was updated.\n")


@pytest.mark.parametrize("before", [0, 99, 100, 250])
def test_the_comment_is_found_behind_any_number_of_others(
    before: int, job: Job, github: GitHubStandIn
):
    for number in range(before):
        github.add(f"Comment {number}", "somebody")
    own = github.add(f"{MARK}\nold")
    github.add("Thanks!", None)
    job.report(RUN)
    assert job.comment() == 0
    assert job.asked == ["PATCH"]
    assert "## Performance" in github.comments[own]["body"]


def test_a_comment_of_somebody_else_is_not_touched_even_if_it_has_the_mark(
    job: Job, github: GitHubStandIn
):
    theirs = github.add(f"{MARK}\nmine now", "somebody")
    quoted = github.add(f"> {MARK}\nas I said", BOT)
    job.report(RUN)
    assert job.comment() == 0
    assert github.comments[theirs]["body"] == f"{MARK}\nmine now"
    assert github.comments[quoted]["body"] == f"> {MARK}\nas I said"
    assert job.asked == ["POST"]


def test_names_tell_comments_apart(job: Job, github: GitHubStandIn):
    job.report(RUN)
    for name in ("linux", "macos", "linux"):
        assert job.comment("--name", name) == 0
    assert [body.splitlines()[0] for body in github.bodies] == [
        "<!-- rlperf: linux -->",
        "<!-- rlperf: macos -->",
    ]


def test_of_two_jobs_that_both_create_one_the_older_comment_stays(job: Job, github: GitHubStandIn):
    job.report(RUN)
    # Another job's comment appears between the look and the write.
    github.on_create = lambda: github.add(f"{MARK}\nof the other job")
    assert job.comment() == 0
    (body,) = github.bodies
    assert "## Performance" in body
    assert job.asked == ["POST", "PATCH", "DELETE"]


def test_jobs_at_once_leave_one_comment(job: Job, github: GitHubStandIn):
    job.report(RUN)
    ended: list[int] = []
    jobs = [threading.Thread(target=lambda: ended.append(job.comment())) for _ in range(4)]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    assert ended == [0, 0, 0, 0]
    assert len(github.bodies) == 1


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"head_sha": "d" * 40}, "pull request 12 is not, or no longer, at c0ffee0000"),
        ({"head_repository": "victim/lib"}, "pull request 12 is not, or no longer, at c0ffee0000"),
        ({"head_repository": None}, "pull request 12 is not, or no longer, at c0ffee0000"),
        ({"state": "closed"}, "pull request 12 is closed"),
    ],
)
def test_a_pull_request_that_the_run_was_not_of_gets_no_comment(
    state: dict[str, Any],
    said: str,
    job: Job,
    github: GitHubStandIn,
    capsys: pytest.CaptureFixture[str],
):
    vars(github).update(state)
    job.report(RUN)
    assert job.comment() == 0
    assert capsys.readouterr().out == f"{said}, so nothing is commented.\n"
    assert job.asked == []


@pytest.mark.parametrize(
    "number", ["", "12x", "-1", "0", "1/../../x", "1" * 40, "\uff11\uff12", None]
)
def test_a_number_that_is_none_is_refused_before_anything_is_asked(
    number: str | None, job: Job, capsys: pytest.CaptureFixture[str]
):
    job.report(RUN, number)
    assert job.comment() == 4
    assert "holds no number of a pull request" in capsys.readouterr().err
    assert job.server.asked == []


def test_a_number_of_a_pull_request_that_is_not_there_is_told(
    job: Job, capsys: pytest.CaptureFixture[str]
):
    job.report(RUN, "13")
    assert job.comment() == 4
    assert "GitHub answered 404 to a look at pull request 13" in capsys.readouterr().err


def test_without_a_report_there_is_nothing_to_comment(job: Job, capsys: pytest.CaptureFixture[str]):
    assert job.comment() == 0
    assert "report.json is not there: the run ended before it" in capsys.readouterr().out
    assert job.server.asked == []


NASTY = "x</code></summary><img src=//evil> https://evil @all #1 [a](//b) ![c](//d) `*e*` | # f"


def test_nothing_in_a_report_mentions_links_or_loads(job: Job, github: GitHubStandIn):
    failed = verdict(Outcome.FAILED, NASTY)
    tests = (
        slower(f"test_a.py::test[{NASTY}]"),
        a_test(
            NASTY, verdict=failed, failure=Failure(f"```\n{NASTY}\n# g\n````"), repeat_command=NASTY
        ),
        a_test("skipped", skipped=f"{NASTY}\n# g"),
    )
    job.report(run_result(*tests, against=NASTY, commit=NASTY, fingerprint={NASTY: NASTY}))
    assert job.comment() == 0
    (body,) = github.bodies
    seen = without_code(body.replace(RUN_URL, ""))
    assert "<img" not in seen
    assert not re.search(r"@\w|#\d|https://", seen)
    assert not re.search(r"(?<!\\)\]\((?!\))", seen)


def without_code(body: str) -> str:
    """What Markdown is made of: no fences, spans or escaped text."""
    body = re.sub(r"^(`{3,})[^`\n]*\n.*?^\1$", "", body, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|<code>[^<]*</code>", "", body).replace("&#8203;", "\u200b")


def test_a_report_of_every_kind_is_shown(job: Job, github: GitHubStandIn):
    job.report(EVERYTHING)
    assert job.comment() == 0
    assert "### Notes" in github.bodies[0]


def test_a_report_that_is_too_long_is_shortened_and_keeps_the_link(job: Job, github: GitHubStandIn):
    tests = [slower(f"test_a.py::test_{n:04}[{'long ' * 10}]") for n in range(900)]
    job.report(run_result(*tests))
    assert job.comment() == 0
    (body,) = github.bodies
    assert "**Shortened:**" in body
    assert f"]({RUN_URL})" in body


@pytest.mark.parametrize(
    "content", [b"", b"{}", b'{"schema": 1}', b"[" * 100_000, b"\xff\xfe", b'{"schema": 99}']
)
def test_a_result_that_is_none_is_one_sentence(
    content: bytes, job: Job, capsys: pytest.CaptureFixture[str]
):
    job.report(RUN)
    (job.folder / "report.json").write_bytes(content)
    assert job.comment() == 4
    assert capsys.readouterr().err.count("\n") == 1
    assert job.server.asked == []


@pytest.mark.parametrize("field", ["against", "commit", "seconds", "fingerprint", "vanished"])
def test_a_result_with_other_types_in_it_is_one_sentence_or_harmless(
    field: str, job: Job, github: GitHubStandIn, capsys: pytest.CaptureFixture[str]
):
    job.report(RUN)
    path = job.folder / "report.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: {"a": ["<img>"]}}))
    code = job.comment()
    assert code == 4 or "<img>" not in github.bodies[0]
    assert capsys.readouterr().err.count("\n") == (1 if code else 0)


def test_passing_trouble_is_waited_out(job: Job, github: GitHubStandIn):
    limited = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "0"}
    github.troubles.extend([Answer(502), None, Answer(403, headers=limited), Answer(429)])
    job.report(RUN)
    assert job.comment() == 0
    assert len(github.bodies) == 1


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (Answer(403), "GitHub answered 403 to a look at pull request 12; give the job "
         "`pull-requests: write`."),
        (Answer(401), "GitHub answered 401 to a look at pull request 12; check GITHUB_TOKEN."),
        (Answer(500), "GitHub answered 500 to a look at pull request 12; try again."),
    ],
)  # fmt: skip
def test_trouble_that_stays_is_one_sentence(
    trouble: Answer,
    said: str,
    job: Job,
    github: GitHubStandIn,
    capsys: pytest.CaptureFixture[str],
):
    github.troubles.extend([trouble] * 5)
    job.report(RUN)
    assert job.comment() == 4
    assert capsys.readouterr().err == f"rlperf: {said}\n"


def test_a_server_that_is_gone_is_one_sentence_without_the_token(
    job: Job, github: GitHubStandIn, capsys: pytest.CaptureFixture[str]
):
    github.troubles.extend([None] * 5)
    job.report(RUN)
    assert job.comment() == 4
    said = capsys.readouterr().err
    assert "did not answer a look at pull request 12 (RemoteDisconnected); run the job" in said


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("GITHUB_TOKEN", "", "GITHUB_TOKEN is not set; "),
        ("GITHUB_REPOSITORY", "../../x", "GITHUB_REPOSITORY names no repository; "),
        ("GITHUB_API_URL", "nowhere", "GITHUB_API_URL holds no address; "),
        ("GITHUB_EVENT_PATH", "nowhere", "GITHUB_EVENT_PATH names no event; "),
    ],
)
def test_outside_of_github_it_says_what_is_missing(
    name: str,
    value: str,
    said: str,
    job: Job,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    job.report(RUN)
    monkeypatch.setenv(name, value)
    assert job.comment() == 4
    assert capsys.readouterr().err.startswith(f"rlperf: {said}")


@pytest.mark.parametrize("event", [{}, {"push": {}}, {"workflow_run": {}}, {"pull_request": None}])
def test_an_event_without_a_pull_request_is_told(
    event: dict[str, Any], job: Job, capsys: pytest.CaptureFixture[str]
):
    job.report(RUN)
    job.event(event)
    assert job.comment() == 4
    assert capsys.readouterr().err.count("\n") == 1
    assert job.server.asked == []


def test_a_name_that_would_end_the_mark_is_refused(job: Job, capsys: pytest.CaptureFixture[str]):
    job.report(RUN)
    assert job.comment("--name", "x --> y") == 4
    assert "--name is 'x --> y'" in capsys.readouterr().err
