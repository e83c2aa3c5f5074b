"""Settings and plugins that every test may use."""

import os
import signal

# Runs pytest inside a test, for the tests of the plugin itself.
pytest_plugins = ["pytester"]

# A process that a script starts in its background ignores Ctrl+C, and so does all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Servers of tests are on this machine, which a proxy that somebody works behind does not reach.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
