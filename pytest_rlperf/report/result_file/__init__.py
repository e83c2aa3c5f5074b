"""The machine-readable result, schema 1 (`--rlperf-json`)."""

from collections.abc import Mapping

from pytest_rlperf.report.result_file.read import (
    ANEW,
    ResultContent,
    checked,
    read_result,
    read_run,
    run_from,
)
from pytest_rlperf.report.result_file.write import result_text, run_as_dict, write_json

__all__ = [
    "ANEW",
    "METRIC",
    "RUN",
    "TEST",
    "ResultContent",
    "checked",
    "read_result",
    "read_run",
    "result_text",
    "run_as_dict",
    "run_from",
    "write_json",
]

# -- the meaning of each key; a test holds this against real results ----------------------------

RUN: Mapping[str, str] = {
    "schema": "version of this format",
    "mode": "`against` a revision, `stored` baseline, `save` or `prove`",
    "against": "what was compared with, in words; null: nothing",
    "base_commit": "hash of the base revision; null: there is none",
    "commit": "hash of the commit that was measured",
    "dirty": "whether there were uncommitted changes",
    "created": "when, with the time zone",
    "seconds": "how long the run took",
    "budget_seconds": "how long it might take",
    "needed_seconds": "the budget that should do for all tests; null: this one did",
    "cost": "what the seconds went to: `preparing` (base tree, builds), `workers` (starting and "
    "ending them, as far as the run waited for it), `scouting`, `fixtures` (and the tests' own "
    "lines), `warmup` (compiling included), `waiting` (for the partner), `slices`, `profiles`, "
    "`memory`, `rest`",
    "interrupted": "whether it was cut short by Ctrl+C or SIGTERM",
    "fingerprint": "facts about machine, Python and libraries",
    "code_changes": "where the code of both sides differs: functions, modules whose import does "
    "something else, those that may change others by it, or why all is measured; null: unknown",
    "environments": "of a run with --rlperf-against-python: the base's, and each difference of the "
    "two, by name with both values; null: both sides ran in one",
    "tests": "the tests, see below",
    "kpis": "limits in absolute terms, each with its reading and status",
    "scaling": "tables of MPI tests over the number of ranks",
    "vanished": "tests that have a baseline and are gone, with their new name where it is known",
    "summary": "number of tests by outcome",
    "exit_code": "that of the run",
    "shard": "of a run with --rlperf-shard: its number, all tests and verdicts of the suite, and "
    "what the shards have to agree on; else null",
    "parts": "of what `rlperf merge` wrote: the runs that its tests are from, each with its "
    "commits, its time and its fingerprint",
    "proof": "of a run with --rlperf-prove: how often the gate was wrong",
}

TEST: Mapping[str, str] = {
    "nodeid": "its name, as pytest has it",
    "part": "the name of the one of `parts` that it was measured in; null: there are none",
    "category": "as the marker says",
    "metadata": "as the marker says",
    "outcome": "the worst of its metrics' outcomes, or `failed` or `skipped`",
    "failure": "why it failed for another reason than its speed",
    "skipped": "why it was skipped",
    "steps": "steps in one call",
    "source_hash": "of the text of the test",
    "work": "counts that both sides had to agree on",
    "witnesses": "CPU time, other work on the core, steal and preemptions while it was measured",
    "device": "of arrays that are computed after the call: where, and how busy it was; else null",
    "repeat_command": "measures this test again",
    "first_call_ns": "the first call of a process, with compiling and cold caches",
    "plan": "how it was measured: mode, calls a slice, pairs a block, warm-up",
    "blocks": "sums of each block, a process of each side",
    "ranks": "of an MPI test: times, imbalance, communication and memory by rank",
    "drift": "whether slices get slower as a block goes on",
    "reference": "time over every reference kernel, in logarithms",
    "phases": "named parts of a call, with what each adds to the change",
    "imported": "the files that each side imported its packages from",
    "differences": "of these changes, some that it met, or what it did that cannot be followed",
    "memory": "what lies behind the metrics of memory",
    "cost": "seconds that the test took, by the same parts as those of the run",
    "metrics": "what was judged or shown, see below",
    "profile": "of a test that was profiled: the functions that account for the change",
}

METRIC: Mapping[str, str] = {
    "name": "`time`, `throughput`, `exponent`, `import_time`, `first_call` or one of memory",
    "unit": "of `value`, `base_value` and the blocks",
    "direction": "which is better, `lower` or `higher`",
    "value": "head's, the median over the blocks; of a test without a block what its scout saw",
    "base_value": "the base's; against a stored baseline head's, divided by the change",
    "outcome": "the verdict",
    "change": "a fraction, positive means worse; null: not compared",
    "low": "lower end of its 95 % interval",
    "high": "upper end",
    "change_abs": "the change in the metric's unit, where that is judged too",
    "low_abs": "lower end of its interval",
    "high_abs": "upper end",
    "threshold": "allowed change, a fraction",
    "threshold_abs": "allowed change in the metric's unit",
    "detectable": "smallest true change that nine of ten such runs would have called regressed",
    "severity": "of a regression: `notice`, `medium` or `high`",
    "blocks": "number of blocks",
    "head_blocks": "head's value in each",
    "base_blocks": "the base's value in each; empty against a stored baseline",
    "label": "how the number came about, where that is not the usual way",
    "reason": "the verdict in words",
    "curve": "of an exponent: the sizes and times it was fitted to",
    "block_changes": "of time and throughput: the change in each block, as judged",
}
