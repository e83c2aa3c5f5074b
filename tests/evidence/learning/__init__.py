"""What the agents learn: beside Stable-Baselines3, or a textbook's loop, at equal settings."""
