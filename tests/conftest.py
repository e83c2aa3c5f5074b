"""What every test may use."""

# Runs pytest inside a test, for the tests of the plugin itself.
pytest_plugins = ["pytester"]
