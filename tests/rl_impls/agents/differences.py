"""Gradients by central differences."""

import numpy as np


def numeric_gradient(loss, at, step=1e-6):
    """dL/dx entry by entry, in float64."""
    at = np.array(at, np.float64)
    gradient = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        kept = at[index]
        at[index] = kept + step
        above = loss(at)
        at[index] = kept - step
        below = loss(at)
        at[index] = kept
        gradient[index] = (above - below) / (2 * step)
    return gradient
