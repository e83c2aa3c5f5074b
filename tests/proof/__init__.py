"""Proof of the gate under load: known changes in known work, judged again and again.

``python -m tests.proof run --out FILE.jsonl`` measures, ``python -m tests.proof table FILE.jsonl``
prints what was found. Both start from the repository's root.
"""
