"""What is written down and shown while something trains."""
