"""The blocks of a test in the machine-readable result: the sums over their slices."""

from dataclasses import asdict
from typing import Any

from pytest_rlperf.model.block import Block, SideBlock
from pytest_rlperf.model.result import TestResult


def blocks_as_dicts(test: TestResult) -> list[dict[str, Any]]:
    return [_as_dict(block) for block in test.blocks]


def _as_dict(block: Block) -> dict[str, Any]:
    return {
        "index": block.index,
        "core": block.core,
        "steal": block.steal,
        "head": _side(block.head),
        "base": None if block.base is None else _side(block.base),
    }


def _side(side: SideBlock) -> dict[str, Any]:
    """Times are those of all slices together."""
    ranks = {} if side.ranks is None else {"ranks": asdict(side.ranks)}
    device = {} if side.device is None else {"device": asdict(side.device)}
    return {
        "slices": len(side.own_ns),
        "calls": side.calls,
        "own_ns": sum(side.own_ns),
        "wall_ns": sum(side.wall_ns),
        "cpu_ns": sum(side.cpu_ns),
        "preempted": side.preempted,
        **ranks,
        **device,
    }
