"""Reinforcement-learning environments, learners and runtimes that are worth gating."""
