"""Links between the pages, and to files of this repository, lead somewhere."""

import pytest

from tests.docs.markdown import ROOT, Page, pages, read_page


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Page):
    for target in page.links:
        if "://" not in target:
            check(page, *target.partition("#")[::2])


def check(page: Page, name: str, anchor: str) -> None:
    path = (page.path.parent / name).resolve() if name else page.path
    assert path.exists(), f"{page.name} links to {name}, which is not there"
    if anchor:
        there = read_page(str(path.relative_to(ROOT)))
        assert anchor in there.anchors, f"{page.name} links to {name}#{anchor}"


def test_every_page_is_in_the_table_of_contents():
    lines = {line for block in read_page("docs/index.md").blocks for line in block.text.split()}
    names = {page.path.stem for page in pages() if page.name.startswith("docs/")}
    assert names - {"index"} <= lines
