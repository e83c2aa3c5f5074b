"""Blocks that the reader copies are what they say: Python, TOML or YAML."""

import ast
import tomllib
from collections.abc import Callable
from textwrap import dedent

import pytest
import yaml

from tests.docs.markdown import Page, pages

READERS: dict[str, Callable[[str], object]] = {
    "python": ast.parse,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_blocks_can_be_read_by_what_they_are_for(page: Page):
    for block in page.blocks:
        if block.language in READERS:
            READERS[block.language](dedent(block.text).replace("…", "..."))
