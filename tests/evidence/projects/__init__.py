"""The gate on projects that are not ours."""
