"""The history of results over commits: storing it, finding changes in it, showing it."""
