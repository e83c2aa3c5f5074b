"""Proof of the gate under load: known changes in known work, judged again and again.

``python -m tests.evidence.proof run --out FILE.jsonl`` measures,
``python -m tests.evidence.proof table FILE.jsonl`` prints the verdicts that were reached. Both
start from the repository's root.
"""
