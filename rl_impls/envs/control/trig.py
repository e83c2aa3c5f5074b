"""Sine and cosine together, for angles of up to a million.

Inlined into the loop, with one reduction for both: a step of Pendulum takes half as long as with
the C library's. The angle is reduced to within an eighth of a turn in two parts (Cody & Waite,
1980); the polynomials there are those of fdlibm (Sun Microsystems, 1993). The result is within
1e-15 of the exact one.
"""

from __future__ import annotations

from math import floor
from typing import Any, Final

from rl_impls.jit import inlined

_TURNS: Final = 0.6366197723675814  # 2 / pi
# pi / 2 in two parts: a product of the first and a whole number of up to 2**20 is exact.
_QUARTER: Final = 1.57079632673412561417
_QUARTER_REST: Final = 6.07710050650619224932e-11

_S1: Final = -1.66666666666666324348e-01
_S2: Final = 8.33333333332248946124e-03
_S3: Final = -1.98412698298579493134e-04
_S4: Final = 2.75573137070700676789e-06
_S5: Final = -2.50507602534068634195e-08
_S6: Final = 1.58969099521155010221e-10
_C1: Final = 4.16666666666666019037e-02
_C2: Final = -1.38888888888741095749e-03
_C3: Final = 2.48015872894767294178e-05
_C4: Final = -2.75573143513906633035e-07
_C5: Final = 2.08757232129817482790e-09
_C6: Final = -1.13596475577881948265e-11


@inlined
def sin_cos(angle: Any) -> tuple[Any, Any]:
    """(sine, cosine) of radians."""
    n = floor(angle * _TURNS + 0.5)
    y = angle - n * _QUARTER - n * _QUARTER_REST
    z = y * y
    sine = y + y * z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))))
    cosine = z * z * (_C1 + z * (_C2 + z * (_C3 + z * (_C4 + z * (_C5 + z * _C6)))))
    cosine = 1.0 - 0.5 * z + cosine
    if n & 1:
        sine, cosine = cosine, -sine
    if n & 2:
        sine, cosine = -sine, -cosine
    return sine, cosine
