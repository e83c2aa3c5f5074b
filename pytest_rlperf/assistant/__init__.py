"""What an assistant may ask of the gate (`rlperf mcp`): tools whose answers are short text."""
