"""Stored baselines on the data branch, beside the history: CI renews them, main stays clean."""

from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.store.data_branch import DataBranch, Files

FOLDER = "baselines"
REMOTE = "origin"
MESSAGE = "Renew the baselines"


@dataclass(frozen=True, slots=True)
class BaselineBranch:
    repository: Path
    name: str

    def lay_out(self, folder: Path) -> int:
        """Write the stored ones into `folder`, as far as this clone has fetched them; how many."""
        branch = self._branch()
        known = (branch.tracked(REMOTE), branch.ref)
        revision = next(filter(branch.has, known), None)
        files = {} if revision is None else branch.read(revision)
        for path, content in files.items():
            place = folder / Path(path).relative_to(FOLDER)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        return len(files)

    def keep(self, folder: Path, remote: str) -> int:
        """Commit what differs in `folder`, and send it; how many files that were."""
        branch = self._branch()
        branch.check_writable()
        files = {
            f"{FOLDER}/{path.relative_to(folder).as_posix()}": path.read_bytes()
            for path in sorted(folder.rglob("*.json"))
        }
        written: Files = {}

        def renewed(old: Files) -> Files:
            nonlocal written
            written = {path: text for path, text in files.items() if old.get(path) != text}
            return written

        branch.update(renewed, MESSAGE)
        if written:
            branch.push(remote, _ours, MESSAGE)
        return len(written)

    def _branch(self) -> DataBranch:
        branch = DataBranch(self.repository, self.name, FOLDER)
        branch.check()
        return branch


def _ours(theirs: Files, ours: Files) -> Files:
    """Whoever saved last, as in a folder."""
    return {**theirs, **ours}
