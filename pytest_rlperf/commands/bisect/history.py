"""The commits between a good and a bad one, as git knows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_rlperf.errors import RevisionError
from pytest_rlperf.launch.git import git, git_or_none
from pytest_rlperf.launch.revision import SHORT, resolve


@dataclass(frozen=True, slots=True)
class History:
    """Of one repository."""

    folder: Path
    good: str
    bad: str

    @classmethod
    def between(cls, folder: Path, good: str, bad: str) -> Self:
        first, last = resolve(folder, good).sha, resolve(folder, bad).sha
        if first == last:
            raise RevisionError(f"{good} and {bad} are the same commit; give an older good one.")
        if git_or_none(folder, "merge-base", "--is-ancestor", first, last) is None:
            raise RevisionError(
                f"{good} is not an ancestor of {bad}, so no commit lies between them; "
                f"{_advice(folder, first, last)}."
            )
        return cls(folder, first, last)

    def halving(self, fast: Sequence[str], slow: str) -> list[str]:
        """As `git bisect` would choose: what leaves least to ask about, whatever the answer."""
        known = [self.good, *fast]
        lines = git(self.folder, "rev-list", "--bisect-all", slow, "--not", *known).splitlines()
        return [commit for line in lines if (commit := line.split()[0]) != slow]

    def parent(self, commit: str) -> str:
        return git(self.folder, "rev-parse", f"{commit}^").strip()

    def title(self, commit: str) -> str:
        subject = git(self.folder, "log", "-1", "--format=%s", commit).strip()
        return f"{commit[:SHORT]} {subject}"


def _advice(folder: Path, first: str, last: str) -> str:
    base = git_or_none(folder, "merge-base", first, last)
    if base is None:
        return "they have no history in common"
    if base == last:
        return "they stand in reverse order: the older one comes first"
    return f"begin with where they parted: {base[:SHORT]}"
