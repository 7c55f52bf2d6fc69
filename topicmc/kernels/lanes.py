# mypy: disable-error-code="call-arg,var-annotated,assignment"
"""Sixteen-lane vectors for numba kernels, as LLVM vectors: no C compiler, any processor.

A kernel handles `<16 x float>` and `<16 x i32>` as values:

    acc = add(acc, mul(load(n, i), load(phi, j)))

LLVM lowers them to whatever the processor has (one AVX-512 register, two of AVX2, four of SSE or
NEON). Every operation is an IEEE operation on single lanes, nothing is reassociated, nothing but
`fma` is a fused multiply-add, and sums over lanes have one written order (`prefix`); so the bits do
not depend on the processor.

Indices count array elements and are never checked: the caller does that, once per kernel.
"""

from llvmlite import ir
from llvmlite.ir import instructions
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.extending import intrinsic, register_model

from topicmc.kernels.padding import LANES

_BIT, _I16, _I32, _I64 = (ir.IntType(n) for n in (1, 16, 32, 64))
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_INTS = ir.VectorType(_I32, LANES)
_SHORTS = ir.VectorType(_I16, LANES)
_LONGS = ir.VectorType(_I64, LANES)
_IOTA = ir.Constant(_INTS, list(range(LANES)))
_ZERO = ir.Constant(_FLOATS, [0.0] * LANES)


class _FloatLanes(types.Type):
    """The numba type of sixteen float32."""


class _IntLanes(types.Type):
    """The numba type of sixteen int32."""


@register_model(_FloatLanes)
class _FloatModel(PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, _FLOATS)


@register_model(_IntLanes)
class _IntModel(PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, _INTS)


floats = _FloatLanes("floats16")
ints = _IntLanes("ints16")


def _spread(builder, scalar, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, _I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_INTS, [0] * LANES))


def _address(context, builder, array_type, array, index, pointee):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), pointee.as_pointer())


def _vectors_of(array_type):
    return floats if array_type.dtype == types.float32 else ints


def _is_lane(builder, lane):
    return builder.icmp_signed("==", _IOTA, _spread(builder, builder.trunc(lane, _I32), _INTS))


class _VolatileLoad(instructions.LoadInstr):
    """A load of one integer that LLVM leaves alone: it would load many as one vector, and take it
    apart again; after an atomic load it would widen the number in a second step."""

    def descr(self, buf):
        (place,) = self.operands
        kind, name = self.type, place.get_reference()
        buf.append(f"load volatile {kind}, {place.type} {name}, align {kind.width // 8}\n")


@intrinsic
def load(typingctx, array, index):
    """Sixteen consecutive elements of a float32 or int32 array, or as int32 of a uint16 array."""
    result = _vectors_of(array)

    def emit(context, builder, signature, args):
        if array.dtype == types.uint16:
            shorts = builder.load(_address(context, builder, array, *args, _SHORTS), align=2)
            return builder.zext(shorts, _INTS)
        vector = context.get_value_type(result)
        return builder.load(_address(context, builder, array, *args, vector), align=4)

    return result(array, types.intp), emit


@intrinsic
def store(typingctx, array, index, lanes):
    """Writes sixteen consecutive elements."""

    def emit(context, builder, signature, args):
        address = _address(context, builder, array, *args[:2], args[2].type)
        builder.store(args[2], address, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, _vectors_of(array)), emit


@intrinsic
def gather(typingctx, array, start, places, index):
    """The sixteen elements start + places[index], start + places[index + 1], … of an array; places
    int32, none negative, or uint16."""
    vectors = _vectors_of(array)

    def emit(context, builder, signature, args):
        vector = context.get_value_type(vectors)
        origin = _address(context, builder, array, *args[:2], vector.element)
        kind = context.get_value_type(places.dtype)
        first = _address(context, builder, places, *args[2:], kind)
        result = ir.Constant(vector, ir.Undefined)
        for i in range(LANES):
            place = builder.load(builder.gep(first, [_I64(i)]))
            place.__class__ = _VolatileLoad  # for which the builder has no call
            element = builder.load(builder.gep(origin, [builder.zext(place, _I64)]))
            result = builder.insert_element(result, element, _I32(i))
        return result

    return vectors(array, types.intp, places, types.intp), emit


@intrinsic
def peek(typingctx, array, index):
    """One element, without the wrap-around of negative indices."""

    def emit(context, builder, signature, args):
        address = _address(context, builder, array, *args, context.get_value_type(array.dtype))
        return builder.load_atomic(address, "monotonic", 4)

    return array.dtype(array, types.intp), emit


@intrinsic
def peek_bits(typingctx, array, index):
    """`peek` of a float32 array, as the uint32 of the same bits: of numbers that are not negative
    they have the same order, and those below zero and NaN come last."""

    def emit(context, builder, signature, args):
        address = _address(context, builder, array, *args, _I32)
        return builder.load_atomic(address, "monotonic", 4)

    return types.uint32(array, types.intp), emit


@intrinsic
def bits_of(typingctx, value):
    """The uint32 of the bits of a float32."""

    def emit(context, builder, signature, args):
        return builder.bitcast(args[0], _I32)

    return types.uint32(types.float32), emit


@intrinsic
def prefetch(typingctx, array, index):
    """Asks for the cache line of an element that will be read soon."""

    def emit(context, builder, signature, args):
        byte = ir.IntType(8).as_pointer()
        signature = ir.FunctionType(ir.VoidType(), [byte, _I32, _I32, _I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], signature)
        address = _address(context, builder, array, *args, ir.IntType(8))
        builder.call(function, [address, _I32(0), _I32(3), _I32(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@intrinsic
def splat(typingctx, scalar):
    """A float32 in every lane."""

    def emit(context, builder, signature, args):
        return _spread(builder, args[0], _FLOATS)

    return floats(types.float32), emit


@intrinsic
def add(typingctx, a, b):
    """a + b, of floats or of ints."""

    def emit(context, builder, signature, args):
        return builder.fadd(*args) if a == floats else builder.add(*args)

    return a(a, a), emit


@intrinsic
def mul(typingctx, a, b):
    def emit(context, builder, signature, args):
        return builder.fmul(*args)

    return floats(floats, floats), emit


@intrinsic
def div(typingctx, a, b):
    def emit(context, builder, signature, args):
        return builder.fdiv(*args)

    return floats(floats, floats), emit


@intrinsic
def fma(typingctx, a, b, c):
    """a · b + c, rounded once."""

    def emit(context, builder, signature, args):
        kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v16f32")
        return builder.call(function, args)

    return floats(floats, floats, floats), emit


@intrinsic
def to_floats(typingctx, a):
    """int32 lanes rounded to float32; float32 lanes as they are."""

    def emit(context, builder, signature, args):
        return args[0] if a == floats else builder.sitofp(args[0], _FLOATS)

    return floats(a), emit


@intrinsic
def levels(typingctx, array, index, integers):
    """Sixteen elements of an int32 array as float32: integers, or else the float32 that have
    these bits. So one compiled kernel draws under counts and given θ."""
    return floats(array, types.intp, types.boolean), _emit_levels(array, _INTS, _FLOATS)


@intrinsic
def peek_level(typingctx, array, index, integers):
    """One element of `levels`."""
    signature = types.float32(array, types.intp, types.boolean)
    return signature, _emit_levels(array, _I32, ir.FloatType())


def _emit_levels(array, ints_type, floats_type):
    def emit(context, builder, signature, args):
        read = builder.load(_address(context, builder, array, *args[:2], ints_type), align=4)
        rounded, same = builder.sitofp(read, floats_type), builder.bitcast(read, floats_type)
        return builder.select(args[2], rounded, same)

    return emit


@intrinsic
def to_ints(typingctx, a):
    """Non-negative float32 lanes rounded to int32, halves up."""

    def emit(context, builder, signature, args):
        half = ir.Constant(_FLOATS, [0.5] * LANES)
        return builder.fptosi(builder.fadd(args[0], half), _INTS)

    return ints(floats), emit


@intrinsic
def one_hot(typingctx, lane, value):
    """A float32 or int32 in one lane, zero in the others."""
    result = floats if value == types.float32 else ints

    def emit(context, builder, signature, args):
        vector = context.get_value_type(result)
        zero = ir.Constant(vector, [0] * LANES)
        return builder.select(_is_lane(builder, args[0]), _spread(builder, args[1], vector), zero)

    return result(types.intp, types.float32 if result == floats else types.int32), emit


@intrinsic
def replace(typingctx, a, lane, value):
    """a with another float32 in one lane."""

    def emit(context, builder, signature, args):
        value = _spread(builder, args[2], _FLOATS)
        return builder.select(_is_lane(builder, args[1]), value, args[0])

    return floats(floats, types.intp, types.float32), emit


@intrinsic
def lane_of(typingctx, a, value):
    """The first lane of int32 lanes that holds a value, or 16."""

    def emit(context, builder, signature, args):
        alike = builder.icmp_signed("==", args[0], _spread(builder, args[1], _INTS))
        bits = builder.zext(builder.bitcast(alike, _I16), _I32)
        return builder.zext(builder.cttz(builder.or_(bits, _I32(1 << LANES)), _BIT(1)), _I64)

    return types.intp(ints, types.int32), emit


@intrinsic
def lowest_bit(typingctx, bits):
    """The place of the lowest bit that is set in a uint64, which is not zero."""

    def emit(context, builder, signature, args):
        return builder.cttz(args[0], _BIT(1))

    return types.intp(types.uint64), emit


@intrinsic
def swap_where(typingctx, a, b, value, c):
    """a, with the lanes of c where the int32 lanes b hold a value."""

    def emit(context, builder, signature, args):
        alike = builder.icmp_signed("==", args[1], _spread(builder, args[2], _INTS))
        return builder.select(alike, args[3], args[0])

    return floats(floats, ints, types.int32, floats), emit


@intrinsic
def one_less_where(typingctx, a, b, value):
    """Int32 lanes, one less where the int32 lanes b hold a value."""

    def emit(context, builder, signature, args):
        alike = builder.icmp_signed("==", args[1], _spread(builder, args[2], _INTS))
        return builder.add(args[0], builder.sext(alike, _INTS))

    return ints(ints, ints, types.int32), emit


@intrinsic
def prefix(typingctx, a):
    """Inclusive sums over lanes, in four steps: within pairs, fours, eights, and all.

    Step s ∈ (1, 2): lane i gains lane i − s of its own four. Then the upper four of every eight
    gain the sum of the lower four, and the upper eight that of the lower eight.
    """

    def emit(context, builder, signature, args):
        sums = args[0]
        sources = (
            [i - 1 if i % 4 >= 1 else None for i in range(LANES)],
            [i - 2 if i % 4 >= 2 else None for i in range(LANES)],
            [i // 8 * 8 + 3 if i % 8 >= 4 else None for i in range(LANES)],
            [7 if i >= 8 else None for i in range(LANES)],
        )
        for source in sources:
            mask = ir.Constant(_INTS, [LANES + i if i is not None else 0 for i in source])
            sums = builder.fadd(sums, builder.shuffle_vector(_ZERO, sums, mask))
        return sums

    return floats(floats), emit


@intrinsic
def last(typingctx, a):
    """The value of lane 15."""

    def emit(context, builder, signature, args):
        return builder.extract_element(args[0], _I32(LANES - 1))

    return types.float32(floats), emit


@intrinsic
def count_at_most(typingctx, a, bound):
    """How many lanes are ≤ bound, as intp."""

    def emit(context, builder, signature, args):
        below = builder.fcmp_ordered("<=", args[0], _spread(builder, args[1], _FLOATS))
        return builder.zext(builder.ctpop(builder.bitcast(below, _I16)), _I64)

    return types.intp(floats, types.float32), emit


@intrinsic
def philox_lanes(typingctx, key, c0, c1, c2, c3, out, index):
    """64 uniforms of [0, 1) to out[index : index + 64], multiples of 2^−24.

    Philox4x32-10 on the counters (c0 + i, c1, c2, c3), i = 0 … 15; word j of counter i becomes
    element 16 j + i, by its upper 24 bits.
    """

    def emit(context, builder, signature, args):
        key, c0, c1, c2, c3, out_array, index = args

        def constant(value, vector):
            return ir.Constant(vector, [value] * LANES)

        low = constant(2**32 - 1, _LONGS)

        def multiply(x, m):
            wide = builder.mul(x, constant(m, _LONGS))
            return builder.lshr(wide, constant(32, _LONGS)), builder.and_(wide, low)

        def spread(scalar):
            return builder.and_(_spread(builder, scalar, _LONGS), low)

        # Words lie in 64-bit lanes, as they are multiplied: to pack them costs more.
        x0, x1, x2, x3 = (spread(c) for c in (c0, c1, c2, c3))
        x0 = builder.and_(builder.add(x0, ir.Constant(_LONGS, list(range(LANES)))), low)
        k0, k1 = key, builder.lshr(key, _I64(32))
        for _ in range(10):
            h0, l0 = multiply(x0, 0xD2511F53)
            h1, l1 = multiply(x2, 0xCD9E8D57)
            x0 = builder.xor(builder.xor(h1, x1), spread(k0))
            x2 = builder.xor(builder.xor(h0, x3), spread(k1))
            x1, x3 = l1, l0
            k0 = builder.add(k0, _I64(0x9E3779B9))
            k1 = builder.add(k1, _I64(0xBB67AE85))
        for j, x in enumerate((x0, x1, x2, x3)):
            bits = builder.trunc(builder.lshr(x, constant(8, _LONGS)), _INTS)
            upper = builder.sitofp(bits, _FLOATS)
            uniform = builder.fmul(upper, constant(2.0**-24, _FLOATS))
            at = builder.add(index, _I64(LANES * j))
            builder.store(uniform, _address(context, builder, out, out_array, at, _FLOATS), align=4)
        return context.get_dummy_value()

    counter = types.int64
    return types.void(types.uint64, counter, counter, counter, counter, out, types.intp), emit
