"""One run of `pytest --rlperf`, from the selected tests to their verdicts and files."""
