"""The memory of the measured function: untimed, in processes of its own."""
