"""One comment, however often and by however many jobs at once it is written."""

from pytest_rlperf.commands.comment.github import GitHub


def keep_one(github: GitHub, number: int, text: str, author: str, mark: str) -> str:
    """Write the comment; returns what was done.

    Two jobs that find none both create one. Each looks again afterwards: the oldest stays, with the
    text of whoever wrote last, and the others go.
    """
    known = _ours(github, number, author, mark)
    written = known[0] if known else github.create(number, text)
    if known:
        github.update(written, text)
    oldest, *others = _ours(github, number, author, mark) or [written]
    if oldest != written:
        github.update(oldest, text)
    for other in others:
        github.delete(other)
    return f"the comment on pull request {number} was {'updated' if known else 'written'}."


def _ours(github: GitHub, number: int, author: str, mark: str) -> list[int]:
    """Oldest first. By the author too: anybody can write the mark into a comment of their own."""
    return sorted(
        comment.id
        for comment in github.comments(number)
        if comment.author == author and comment.body.startswith(mark)
    )
