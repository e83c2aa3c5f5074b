"""What every mistake on the command line has in common."""

from rl_impls.__main__ import main


def assert_is_one_clear_line(words, said, capsys):
    """Exit code 2, nothing on stdout, and one line that says it."""
    try:
        status: object = main(words)
    except SystemExit as ended:
        status = ended.code
    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert said in printed.err
