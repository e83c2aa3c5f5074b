"""Proof of the verdicts on memory: known growth in known work, judged again and again.

``python -m tests.evidence.proof.memory run --out FILE.jsonl`` measures and goes on where it
stopped, ``python -m tests.evidence.proof.memory table FILE.jsonl`` prints the verdicts that were
reached. No load runs beside it: sizes do not depend on it.
"""
