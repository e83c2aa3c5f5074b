"""Two environments: another interpreter with its libraries as the base side of a duet."""
