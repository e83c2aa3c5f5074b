"""Git, revisions, the base tree that is laid out beside the user's, and what a tree imports."""
