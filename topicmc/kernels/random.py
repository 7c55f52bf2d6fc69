"""Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as
easy as 1, 2, 3").

A draw is a pure function of a 64-bit key and a 128-bit counter, so the same seed gives the same
bits for any number of threads and any placement of chains. The key names who draws (seed, purpose,
chain: `stream_key`); the counter names what is drawn (position, item, and the chain's update).
"""

import hashlib
import math

import numpy as np
from numba import njit

_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint32(0x9E3779B9)
_W1 = np.uint32(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)


def stream_key(seed: int, purpose: str, chain: int = 0) -> np.uint64:
    """The 64-bit Philox key of one stream of randomness, e.g. ``stream_key(7, "gibbs", chain)``."""
    digest = hashlib.blake2b(f"{seed}/{purpose}/{chain}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


@njit(forceinline=True)
def philox(key, c0, c1, c2, c3):
    """Four uint32 from a uint64 key and four uint32 counters (ten rounds)."""
    k0 = np.uint32(key & _LOW)
    k1 = np.uint32(key >> _HIGH)
    x0, x1, x2, x3 = np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)
    for _ in range(10):
        p0 = _M0 * np.uint64(x0)
        p1 = _M1 * np.uint64(x2)
        x0 = np.uint32(np.uint32(p1 >> _HIGH) ^ x1 ^ k0)
        x1 = np.uint32(p1 & _LOW)
        x2 = np.uint32(np.uint32(p0 >> _HIGH) ^ x3 ^ k1)
        x3 = np.uint32(p0 & _LOW)
        k0 = np.uint32(k0 + _W0)
        k1 = np.uint32(k1 + _W1)
    return x0, x1, x2, x3


# Single-precision functions of uniform bits, without branches or library calls, so that plain
# loops over slices vectorise. No fused or reassociated arithmetic: the same IEEE bits on every CPU.
# The polynomials are least-maximum fits; relative errors stay below 3e-7.

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
def fill_exponential(out, key):
    """Fills out, float32 (n,), with Exp(1): word i % 4 of counter i // 4 makes out[i]."""
    for j in range((out.size + 3) // 4):
        words = philox(key, np.uint32(j & 0xFFFFFFFF), np.uint32(j >> 32), 0, 0)
        for i in range(min(4, out.size - 4 * j)):
            out[4 * j + i] = exponential(words[i])
