"""Draws made of Philox words: uniform, exponential, normal and gamma.

The vector ones are branch-free functions of 32-bit words, in single precision, so that plain loops
over slices vectorise; there is no fused or reassociated arithmetic and no library call, so that
every CPU gives the same IEEE bits. A pass does one thing: with several in one loop the registers
would not suffice, and it would take twice the time. The polynomials are least-maximum fits;
relative errors stay below 3e-7. The scalar ones are for the few entries of θ that a vector pass
leaves: they use draw rounds of their own in the Philox counter (topic, word, round, update).
"""

import math

import numpy as np
from numba import njit

from topicmc.kernels.random import philox

FIRST_ROUND = np.uint32(0)
SECOND_ROUND = np.uint32(1)
_REDRAW = np.uint32(2)
_REFINE = np.uint32(0xFFFFFFFF)

_ONE = np.float32(1)
_HALF = np.float32(0.5)
_TWO = np.float32(2)
_UNIT = np.float32(2.0**-32)
_TURN = np.float32(2.0**-34)
_LN2 = np.float32(math.log(2))
_LN2_HIGH = np.float32(0.693359375)  # nine bits, so that its products with exponents are exact
_LN2_LOW = np.float32(math.log(2) - 0.693359375)
_LOG2E = np.float32(1 / math.log(2))
_MANTISSA = np.uint32(0x007FFFFF)
_SQRT_HALF_BITS = np.uint32(0x3F3504F3)
_L0, _L1, _L2, _L3 = map(np.float32, (0.3333331192, -0.2499998649, 0.2000214671, -0.1666921337))
_L4, _L5, _L6 = map(np.float32, (0.1422000933, -0.1238559287, 0.1186524939))
_L7, _L8 = map(np.float32, (-0.1178051869, 0.0692059542))
_E1, _E2, _E3 = map(np.float32, (0.6931472067, 0.2402265151, 0.0555032722))
_E4, _E5, _E6 = map(np.float32, (0.0096179945, 0.0013400432, 0.0001547802))
_S0, _S1, _S2, _S3 = map(np.float32, (6.2831852879, -41.3416626331, 81.5925535405, -75.4020678990))
_C1, _C2, _C3, _C4 = map(np.float32, (-19.7392086504, 64.9393162084, -85.4428521290, 59.2204072151))


@njit(forceinline=True)
def log1p_mantissa(f):
    """log(1 + f) for float32 f in [√½ − 1, √2 − 1]."""
    p = _L5 + f * (_L6 + f * (_L7 + f * _L8))
    p = _L0 + f * (_L1 + f * (_L2 + f * (_L3 + f * (_L4 + f * p))))
    return f - f * f * (_HALF - f * p)


@njit(forceinline=True)
def log32(x):
    """log x for a positive normal float32."""
    bits = np.uint32(np.uint32(np.float32(x).view(np.uint32)) - _SQRT_HALF_BITS)
    exponent = np.float32(np.int32(np.int32(bits) >> np.int32(23)))
    mantissa = np.uint32(np.uint32(bits & _MANTISSA) + _SQRT_HALF_BITS)
    return log1p_mantissa(np.uint32(mantissa).view(np.float32) - _ONE) + exponent * _LN2


@njit(forceinline=True)
def exp32(x):
    """exp x for float32 x in [−87, 88]."""
    whole = np.float32(math.floor(x * _LOG2E + _HALF))
    f = ((x - whole * _LN2_HIGH) - whole * _LN2_LOW) * _LOG2E
    p = _ONE + f * (_E1 + f * (_E2 + f * (_E3 + f * (_E4 + f * (_E5 + f * _E6)))))
    bits = np.uint32(np.uint32(np.int32(whole) + np.int32(127)) << np.uint32(23))
    return p * np.uint32(bits).view(np.float32)


@njit(forceinline=True)
def uniform(x):
    """Float32 in (0, 1] from 32 bits; small values keep full relative precision."""
    return (np.float32(x) + _HALF) * _UNIT


@njit(forceinline=True)
def exponential(x):
    """Exp(1) as float32 from 32 bits: −log(1 − u) for u = (x + ½)/2³², precise at both ends."""
    u = uniform(x)
    rest = uniform(np.uint32(~np.uint32(x)))
    bits = np.uint32(np.uint32(np.float32(rest).view(np.uint32)) - _SQRT_HALF_BITS)
    exponent = np.float32(np.int32(np.int32(bits) >> np.int32(23)))
    mantissa = np.uint32(np.uint32(bits & _MANTISSA) + _SQRT_HALF_BITS)
    f = np.uint32(mantissa).view(np.float32) - _ONE
    f = -u if exponent == np.float32(0) and f <= np.float32(0) else f
    return -(log1p_mantissa(f) + exponent * _LN2)


@njit(forceinline=True)
def normal_pair(x, y):
    """Two independent N(0, 1) as float32 from two 32-bit words (Box and Muller 1958)."""
    radius = np.float32(math.sqrt(_TWO * exponential(x)))
    # The two high bits of y pick the quadrant, the others an angle within ±1/8 turn of its axis.
    quadrant = np.uint32(np.uint32(y) >> np.uint32(30))
    angle = (np.float32(np.int32(np.uint32(np.uint32(y) << np.uint32(2)))) + _TWO) * _TURN
    square = angle * angle
    sine = angle * (_S0 + square * (_S1 + square * (_S2 + square * _S3)))
    cosine = _ONE + square * (_C1 + square * (_C2 + square * (_C3 + square * _C4)))
    swap = np.uint32(quadrant & np.uint32(1)) != np.uint32(0)
    radius_sine = -radius if np.uint32(quadrant & np.uint32(2)) != np.uint32(0) else radius
    turned = (quadrant == np.uint32(1)) or (quadrant == np.uint32(2))
    radius_cosine = -radius if turned else radius
    c = sine if swap else cosine
    s = cosine if swap else sine
    return radius_cosine * c, radius_sine * s


@njit(nogil=True, cache=True)
def fill_words(out, key, c1, c2, c3):
    """Column k of out, uint32 (4, n): the Philox words of counter (k, c1, c2, c3)."""
    a, b, c, d = out[0], out[1], out[2], out[3]
    for k in range(a.size):
        a[k], b[k], c[k], d[k] = philox(key, np.uint32(k), c1, c2, c3)


@njit(nogil=True, cache=True)
def exponentials(words, out):
    """`exponential` of each word."""
    for k in range(out.size):
        out[k] = exponential(words[k])


@njit(nogil=True, cache=True)
def normals(x, y, out_x, out_y):
    """`normal_pair` of each pair of words."""
    for k in range(out_x.size):
        out_x[k], out_y[k] = normal_pair(x[k], y[k])


@njit(nogil=True, cache=True)
def fill_exponential(out, key):
    """Fills out, float32 (n,), with Exp(1): word i % 4 of counter i // 4 makes out[i]."""
    for j in range((out.size + 3) // 4):
        low, high = np.uint32(j & 0xFFFFFFFF), np.uint32(j >> 32)
        words = philox(key, low, high, FIRST_ROUND, FIRST_ROUND)
        for i in range(min(4, out.size - 4 * j)):
            out[4 * j + i] = exponential(words[i])


@njit(nogil=True, cache=True, error_model="numpy")
def gamma(shape, key, k, word, update):
    """Gamma(shape, 1), shape ≥ 1, from redraw rounds (Marsaglia and Tsang 2000)."""
    if not shape < math.inf:
        return shape  # a chain that has diverged must not hang here
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    draw = _REDRAW
    while True:
        a, b, x, _ = philox(key, k, word, draw, update)
        z, _ = normal_pair(a, b)
        v = 1.0 + c * np.float64(z)
        if v > 0.0:
            v = v * v * v
            u = (np.float64(x) + 0.5) * 2.0**-32
            if math.log(u) < 0.5 * np.float64(z) ** 2 + d - d * v + d * math.log(v):
                return d * v
        draw = np.uint32(draw + np.uint32(1))


@njit(nogil=True, cache=True, error_model="numpy")
def small_gamma(shape, key, k, word, update):
    """Gamma(shape, 1), shape ≤ ½: Gamma(1 + shape) by rejection from an exponential, × U^(1/shape).

    The proposal of the first pass is judged again, exactly; redraw rounds follow.
    """
    shape = np.float64(shape)
    _, a, b, x3 = philox(key, k, word, FIRST_ROUND, update)
    power = -np.float64(exponential(x3)) / shape
    draw = _REDRAW
    while True:
        t = np.float64(exponential(a))
        if np.float64(exponential(b)) >= shape * (t - 1.0 - math.log(t)):
            return (1.0 + shape) * t * math.exp(power)
        a, b, _, _ = philox(key, k, word, draw, update)
        draw = np.uint32(draw + np.uint32(1))


@njit(nogil=True, cache=True, error_model="numpy")
def refined_arrival(key, k, word, update):
    """The first arrival time of an entry from 64 bits, for times so early that 32 are coarse."""
    high = philox(key, k, word, FIRST_ROUND, update)[0]
    low = philox(key, k, word, _REFINE, update)[0]
    return -math.log1p(-(np.float64(high) + (np.float64(low) + 0.5) * 2.0**-32) * 2.0**-32)
