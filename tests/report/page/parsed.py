"""A page as a browser's parser would take it apart, as far as tests ask."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from pytest_rlperf.report.page.markup import VOID

Tag = tuple[str, dict[str, str | None]]


@dataclass
class Parsed:
    tags: list[Tag] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)  # element and text in it
    left_open: list[str] = field(default_factory=list)

    @property
    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        """Elements and the names of their attributes: what no name of a test may change, but for
        the places at which it may break.
        """
        return [(tag, tuple(attributes)) for tag, attributes in self.tags if tag != "wbr"]

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def values(self, attribute: str) -> list[str]:
        return [str(given[attribute]) for _, given in self.tags if attribute in given]

    def text_in(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    @property
    def text(self) -> str:
        hidden = ("script", "style")
        return " ".join(text for tag, text in self.texts if tag not in hidden)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = Parsed()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} stands there twice"
        self.found.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.found.left_open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.found.left_open.pop() == tag, f"</{tag}> ends something else"

    def handle_data(self, data: str) -> None:
        inside = self.found.left_open[-1] if self.found.left_open else ""
        self.found.texts.append((inside, data))

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a page has no comment: {data}")


def parsed(page: str) -> Parsed:
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert not parser.found.left_open, parser.found.left_open
    return parser.found
