"""What a worker process is told when it starts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

HEAD, BASE = 0, 1
SIDES = {HEAD: "head", BASE: "base"}


@dataclass(frozen=True, slots=True)
class Job:
    """One side of one block. Everything is plain data: it travels as JSON."""

    side: int
    root: str  # pytest's root folder of this side
    cwd: str
    tree: str  # top level of this side's checkout
    head_tree: str
    import_roots: tuple[str, ...]  # folders of the tree that code is imported from
    sys_path: tuple[str, ...]  # head's; a base worker maps it to its own tree
    pytest_args: tuple[str, ...]
    options: Mapping[str, Any]  # values of options that other plugins and conftests defined
    nodeids: tuple[str, ...]
    channel_fd: int
    baton_fd: int | None
    layout_seed: int | None  # None: memory is left as it is, to be measured itself
    reference: bool = False  # plays the reference kernels instead of tests
    slowdown: float = 0.0  # share by which every slice is made longer, to prove the gate

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = dict(data)
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = tuple(value)
        return cls(**values)
