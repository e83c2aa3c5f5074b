"""Pictures of the README, drawn from what is recorded: ``python -m tests.evidence.picture``.

The figures come from ``docs/proof``, the badges from pyproject.toml. A test fails where a picture
is not what its records say.
"""
