"""Environments with continuous observations or frames, compiled: CartPole, Pendulum, a chemical
reactor and a side scroller."""
