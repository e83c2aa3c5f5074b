"""The folder name of a machine: CPU model, cores and architecture as a slug."""

import re
from collections.abc import Mapping
from typing import Any


def machine_key(facts: Mapping[str, Any]) -> str:
    """`facts` as in `launch.fingerprint.fingerprint`."""
    words = f"{facts['cpu']} {facts['cores']} cores {facts['architecture']}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
