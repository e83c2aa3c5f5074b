"""What runs in a worker process. Nothing here may import `workers` or `gate`."""
