"""The state of a chain as a declared table: what each array is, and where it goes.

A model declares the state of its chains once, as a dataclass whose fields are annotated by `Array`
and `Number`. Handing a chain over to the next worker, averaging a group and saving a checkpoint
follow from the declarations. A checkpoint holds all that is not None. What a chain keeps only where
it is does not travel: it takes its default elsewhere, so bring a state up to date before it is
handed over, averaged or kept.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar, get_type_hints

import numpy as np

from topicmc.engine.transport.base import Groups, Transport
from topicmc.storage.checkpoints import Checkpoint


class Array:
    """Declares an array of a state, as ``Annotated[np.ndarray, Array(np.float32, "W", "K")]``.

    Args:
        dtype: of its entries.
        shape: the names of its sizes.
        travels: whether it goes along with its chain; then it is not None when that moves on.
        averaged: whether a group of chains takes its mean.
    """

    def __init__(
        self, dtype: Any, *shape: str, travels: bool = True, averaged: bool = False
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.shape: tuple[str, ...] | None = shape
        self.travels, self.averaged = travels, averaged


class Number(Array):
    """Declares an int or a float of a state; arguments as of `Array`. It travels as float64, in
    which counters below 2⁵³ are exact."""

    def __init__(self, kind: type, *, travels: bool = True, averaged: bool = False) -> None:
        super().__init__(np.float64, travels=travels, averaged=averaged)
        self.kind = kind
        self.shape = None

    def read(self, name: str, value: Any) -> Any:
        """The number in what JSON holds of it; ValueError unless it is one of that kind."""
        kinds = {self.kind, int}
        if type(value) not in kinds or not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}, not {self.kind.__name__}")
        return self.kind(value)


class State(Protocol):
    """What every chain has; the rest is declared."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    index: int
    update: int


S = TypeVar("S", bound=State)


class Table(Generic[S]):
    """What is declared of a kind of state, and what follows from it.

    Args:
        kind: the dataclass.
        sizes: what the names in its shapes stand for.
        prefix: what the names of its files in a checkpoint begin with, where a chain has several
            kinds of state.
    """

    def __init__(self, kind: type[S], sizes: Mapping[str, int], prefix: str = "") -> None:
        self._kind = kind
        self._prefix = prefix
        hints = get_type_hints(kind, include_extras=True)
        self._declared: dict[str, Array] = {
            field.name: note
            for field in dataclasses.fields(kind)
            for note in getattr(hints[field.name], "__metadata__", ())
            if isinstance(note, Array)
        }
        self._shapes = {
            name: None if declared.shape is None else tuple(sizes[size] for size in declared.shape)
            for name, declared in self._declared.items()
        }

    # ---- between workers

    def hand_over(
        self, held: Mapping[int, S], transport: Transport, before: Sequence[int],
        after: Sequence[int],
    ) -> dict[int, S]:  # fmt: skip
        """The hosted states, by worker, when the i-th has gone from worker ``before[i]`` to
        ``after[i]``.

        States must be up to date, and belong to the transport from then on. Collective.
        """
        packing = self._packing([name for name, d in self._declared.items() if d.travels])
        packed = {worker: tuple(self._pack(state, packing)) for worker, state in held.items()}
        moved = transport.route(packed, list(zip(before, after, strict=True)))
        return {worker: self._kind(**self._unpack(packing, of)) for worker, of in moved.items()}

    def average(self, held: Mapping[int, S], transport: Transport, groups: Groups) -> None:
        """Gives the hosted states of each group, named by worker, the mean of what is averaged.

        States must be up to date. Collective.
        """
        packing = self._packing([name for name, d in self._declared.items() if d.averaged])
        packed = {worker: self._pack(state, packing) for worker, state in held.items()}
        for i in range(len(packing)):
            transport.average({worker: parts[i] for worker, parts in packed.items()}, groups)
        for worker, state in held.items():
            for name, value in self._unpack(packing, packed[worker]).items():
                setattr(state, name, value)

    def _packing(self, names: Sequence[str]) -> list[list[str]]:
        """Fields by the message that carries them: one for each matrix, which is large, and one for
        all else of a type."""
        matrices: list[list[str]] = []
        by_type: dict[np.dtype, list[str]] = {}
        for name in names:
            declared = self._declared[name]
            if len(declared.shape or ()) > 1:
                matrices.append([name])
            else:
                by_type.setdefault(declared.dtype, []).append(name)
        return [*matrices, *by_type.values()]

    def _pack(self, state: S, packing: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """An array that is alone in its message is not copied."""
        return [
            getattr(state, names[0])
            if len(names) == 1 and self._shapes[names[0]] is not None
            else np.concatenate(
                [np.ravel(getattr(state, name)) for name in names],
                dtype=self._declared[names[0]].dtype,
            )
            for names in packing
        ]

    def _unpack(
        self, packing: Sequence[Sequence[str]], packed: Sequence[np.ndarray]
    ) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for names, flat in zip(packing, packed, strict=True):
            shapes = [self._shapes[name] for name in names]
            ends = np.cumsum([1 if shape is None else math.prod(shape) for shape in shapes])
            for name, shape, part in zip(names, shapes, np.split(flat, ends[:-1]), strict=True):
                declared = self._declared[name]
                if isinstance(declared, Number):
                    values[name] = declared.kind(part[0])
                else:
                    values[name] = part.reshape(shape)
        return values

    # ---- checkpoints

    def arrays(self, states: Iterable[S]) -> dict[str, np.ndarray]:
        """What a checkpoint must hold of some states, by file name."""
        return {
            self._file(name, state.index): getattr(state, name)
            for state in states
            for name in self._saved(state, numbers=False)
        }

    def facts(self, states: Iterable[S]) -> dict[str, dict[str, Any]]:
        """The numbers that go with `arrays`, as JSON values, and which arrays there are, by the
        index of the state."""
        return {
            str(state.index): {
                **{name: getattr(state, name) for name in self._saved(state, numbers=True)},
                "arrays": self._saved(state, numbers=False),
            }
            for state in states
        }

    def _saved(self, state: S, numbers: bool) -> list[str]:
        return [
            name
            for name, declared in self._declared.items()
            if (declared.shape is None) == numbers and getattr(state, name) is not None
        ]

    def restored(self, index: int, facts: Mapping[str, Any], checkpoint: Checkpoint) -> S:
        """The state of that index as a checkpoint holds it, with its part of the `facts`;
        ValueError unless all arrays and numbers are as they are declared."""
        values = {
            name: declared.read(name, facts[name])
            for name, declared in self._declared.items()
            if isinstance(declared, Number) and name in facts
        }
        for name in facts["arrays"]:
            values[name] = self.fitting(checkpoint, self._file(name, index), name)
        return self._kind(**values)

    def fitting(self, checkpoint: Checkpoint, key: str, name: str) -> np.ndarray:
        """An array of a checkpoint; ValueError unless it is as that field is declared."""
        found, shape, dtype = checkpoint.array(key), self._shapes[name], self._declared[name].dtype
        if found.shape != shape or found.dtype != dtype:
            raise ValueError(f"{key} is {found.dtype} {found.shape}, not {dtype} {shape}")
        return found

    def _file(self, name: str, index: int) -> str:
        """What an array of a state is called in a checkpoint."""
        return f"{self._prefix}{name.replace('_', '-')}-{index:03d}"


class ReadOnDemand(Mapping[int, S]):
    """Chains by their numbers, each made when it is looked up, so that readers who let go of one
    before the next have no more than one in memory.

    Args:
        numbers: of the chains.
        make: a chain, to be read, by its number.
    """

    def __init__(self, numbers: Sequence[int], make: Callable[[int], S]) -> None:
        self._numbers = numbers
        self._make = make

    def __getitem__(self, number: int) -> S:
        if number not in self._numbers:
            raise KeyError(number)
        return self._make(number)

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
