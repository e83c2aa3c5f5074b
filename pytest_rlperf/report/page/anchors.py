"""Where a test is to be found in the page."""

import hashlib
import re

LONGEST = 60
DIGITS = 8
"""Of a hash: names that look the same as anchors stay apart."""


def anchor(nodeid: str) -> str:
    """Of letters, digits and dashes; the same in every report."""
    name = re.sub(r"[^a-z0-9]+", "-", nodeid.rpartition("/")[2].lower()).strip("-")[:LONGEST]
    digest = hashlib.sha256(nodeid.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]
    return f"t-{name}-{digest}"
