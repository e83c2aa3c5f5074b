"""`rlperf notify`: a regression reaches a webhook, and nothing that goes wrong fails the build."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from pytest_rlperf.cli import main
from pytest_rlperf.commands import notify
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.report.result_file import run_as_dict, write_json
from pytest_rlperf.web import Patience
from tests.factories import a_test, run_result, verdict
from tests.servers import Answer, Asked, Server, serving


class Webhook:
    """Answers as told, and then with 200."""

    def __init__(self) -> None:
        self.troubles: list[Answer | None] = []

    def __call__(self, asked: Asked) -> Answer | None:
        return self.troubles.pop(0) if self.troubles else Answer()


@pytest.fixture
def webhook() -> Webhook:
    return Webhook()


@pytest.fixture
def chat(webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(notify, "Patience", partial(Patience, sleep=lambda seconds: None))
    for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    with serving(webhook) as server:
        monkeypatch.setenv("CHAT", f"{server.url}/services/T0/secret")
        yield server


def slower(nodeid: str = "test_a.py::test_a", change: float = 0.25, **fields) -> TestResult:
    found = verdict(Outcome.REGRESSED, "surely", (change, change - 0.05, change + 0.05))
    return a_test(nodeid, verdict=found, **fields)


def notified(folder: Path, *tests: TestResult, options: tuple[str, ...] = ()) -> int:
    path = folder / "result.json"
    write_json(path, run_as_dict(run_result(*tests), 1))
    return main(["notify", str(path), "--webhook-env", "CHAT", *options])


def test_a_regression_is_posted_worst_first(tmp_path: Path, chat: Server):
    tests = (slower("test_a.py::test_small", 0.1, steps=9), slower("test_a.py::test_large", 0.5))
    assert notified(tmp_path, *tests, a_test("test_a.py::test_same")) == 0
    (asked,) = chat.asked
    assert (asked.method, asked.path) == ("POST", "/services/T0/secret")
    assert asked.headers["content-type"] == "application/json"
    assert asked.json == {
        "text": "*Performance: 2 of 3 tests regressed*\n"
        "`ffffffffff` against `main (1a2b3c4)`\n"
        "• `time` +50.0 %: `test_a.py::test_large`\n"
        "• `time` +10.0 %: `test_a.py::test_small`"
    }


def test_on_github_the_message_leads_to_the_run(
    tmp_path: Path, chat: Server, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://github.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "me/lib")
    monkeypatch.setenv("GITHUB_RUN_ID", "77")
    notified(tmp_path, slower())
    text = chat.asked[0].json["text"]
    assert text.endswith("\n<https://github.example/me/lib/actions/runs/77|The run>")


def test_of_many_regressions_ten_are_shown(tmp_path: Path, chat: Server):
    notified(tmp_path, *(slower(f"test_{n}", n / 100) for n in range(10, 23)))
    lines = chat.asked[0].json["text"].splitlines()
    assert len([line for line in lines if line.startswith("• ")]) == 10
    assert lines[-1] == "… and 3 more"


def test_a_name_is_no_mention_link_or_emphasis(tmp_path: Path, chat: Server):
    notified(tmp_path, slower("test_a[<!channel> `*x*` &   ]"))
    line = chat.asked[0].json["text"].splitlines()[-1]
    assert line == "• `time` +25.0 %: `test_a[&lt;!channel&gt; '*x*' &amp; ]`"


def test_where_nothing_regressed_nothing_is_posted(
    tmp_path: Path, chat: Server, capsys: pytest.CaptureFixture[str]
):
    assert notified(tmp_path, a_test()) == 0
    assert chat.asked == []
    assert capsys.readouterr().out == "nothing regressed, so nobody is notified.\n"


def test_always_posts_it_all_the_same(tmp_path: Path, chat: Server):
    assert notified(tmp_path, a_test(), options=("--always",)) == 0
    assert chat.asked[0].json["text"].startswith("*Performance: nothing regressed*\n")


def test_a_server_that_fails_first_is_asked_again(
    tmp_path: Path, chat: Server, webhook: Webhook, capsys: pytest.CaptureFixture[str]
):
    webhook.troubles = [Answer(503), None, Answer(429)]
    assert notified(tmp_path, slower()) == 0
    assert len(chat.asked) == 4
    assert len({asked.body for asked in chat.asked}) == 1
    assert capsys.readouterr() == ("notified.\n", "")


@pytest.mark.parametrize(
    ("troubles", "reason"),
    [
        ([Answer(500)] * 5, "the webhook in CHAT answered 500; check its address."),
        ([Answer(404)], "the webhook in CHAT answered 404; check its address."),
        ([None] * 5, "the webhook in CHAT did not answer (RemoteDisconnected); try again later."),
    ],
)
def test_a_webhook_that_stays_broken_is_one_line_and_fails_nothing(
    troubles: list[Answer | None],
    reason: str,
    tmp_path: Path,
    webhook: Webhook,
    chat: Server,
    capsys: pytest.CaptureFixture[str],
):
    webhook.troubles = troubles
    assert notified(tmp_path, slower()) == 0
    assert capsys.readouterr() == ("", f"rlperf: nobody was notified: {reason}\n")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("", "CHAT is not set; give the job the address of your webhook in it."),
        ("services/T0/secret", "CHAT holds no address; set it to one that begins with https://."),
    ],
)
def test_without_an_address_it_is_one_line_that_shows_no_secret(
    address: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("CHAT", address)
    assert notified(tmp_path, slower()) == 0
    assert capsys.readouterr().err == f"rlperf: nobody was notified: {reason}\n"


def test_a_result_that_was_never_written_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["notify", str(tmp_path / "none.json"), "--webhook-env", "CHAT"]) == 0
    assert "none.json does not exist" in capsys.readouterr().err
