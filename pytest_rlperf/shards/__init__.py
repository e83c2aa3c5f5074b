"""A suite in parts: which of several machines runs which test, and one result of all of them."""
