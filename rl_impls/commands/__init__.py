"""The commands of `python -m rl_impls`, a module each."""
