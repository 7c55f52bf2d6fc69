"""Which states of a run's chains are kept as posterior samples, and their index.

A state is kept by its position (`topicmc.posterior.thinning`), if it is a posterior sample. States
of the start are none, and averages of chains are none. The newest state that was saved, marked
``burn_in``, stands in until there is a sample proper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from topicmc.engine.method import Entry, Method
from topicmc.engine.transport.base import Transport
from topicmc.errors import DataError
from topicmc.posterior.thinning import is_kept, longest_kept
from topicmc.posterior.traces import Recorded
from topicmc.posterior.truncation import at_rest
from topicmc.storage.files import checksum
from topicmc.storage.runs import RunDirectory, files_of, of_each_chain


class KeptSamples:
    """The index of kept samples, the same on every process; each writes those of its own chains.

    Args:
        run: where they are written.
        transport: who else writes.
        n_samples: how many to keep of a chain, at most.
        write: writes a state, in a round of that number, and returns its index entry.
        write_mean: writes the running mean of a chain, and returns what is to be known of it; None
            where the chain keeps none.
    """

    def __init__(
        self,
        run: RunDirectory,
        transport: Transport,
        n_samples: int,
        write: Callable[[Any, int], Entry],
        write_mean: Callable[[Any, int], Entry | None],
    ) -> None:
        self._run = run
        self._transport = transport
        self._n_samples = n_samples
        self._write_state = write
        self._write_mean = write_mean
        self._entries: list[Entry] = []
        self._means: dict[int, Entry] = {}  # the last that was written of each chain
        self._position = 0

    @property
    def entries(self) -> list[Entry]:
        """Index entries of the posterior samples that are kept now; stand-ins are none."""
        return [entry for entry in self._entries if not entry["burn_in"]]

    @property
    def index(self) -> list[Entry]:
        """All index entries that there are now, that of a stand-in too."""
        return self._entries

    def to_average(self, trace: Recorded, most: int | None) -> list[Entry]:
        """The posterior samples past the point at which their chain came to rest
        (`topicmc.posterior.truncation`): about so many of each chain, evenly spread, and the
        newest; None: all. The same on every process that knows the trace."""
        return of_each_chain(at_rest(trace, self.entries), lambda own: _spread(own, most))

    def keep(self, method: Method, round_number: int) -> None:
        """Writes the states of a method as samples, if it has come to a position to be kept."""
        before, self._position = self._position, method.position
        if self._position == before:
            return
        position = longest_kept(before, self._position)
        if not method.in_burn_in and is_kept(position, self._position, self._n_samples):
            new = self._write(method, position, round_number, burn_in=False)
            self._replace([*self.entries, *new])
        else:
            self._replace(self.entries or self._entries)

    def keep_provisional(self, method: Method, round_number: int) -> None:
        """Writes the states of a method in place of samples, while there are none."""
        if round_number > 0 and not self.entries:
            self._replace(self._write(method, method.position, round_number, burn_in=True))

    def keep_means(self, method: Method, round_number: int) -> None:
        """Writes the running means of a method's chains, of which there are samples. They are as
        large as these, so that it is done now and then: the newest sample goes with the last."""
        if not self.entries:
            return

        def write(number: int, chain: Any) -> tuple[int, Entry | None]:
            return number, self._write_mean(chain, round_number)

        for number, mean in self._of_chains(method, write):
            if mean is not None:
                self._means[number] = {**mean, "position": method.position}
        self._replace(self.entries)

    def _write(
        self, method: Method, position: int, round_number: int, *, burn_in: bool
    ) -> list[Entry]:
        def write(number: int, chain: Any) -> Entry:
            entry = self._write_state(chain, round_number)
            return {**entry, "position": position, "burn_in": burn_in}

        # In the order of the index, wherever the chains are now.
        return sorted(self._of_chains(method, write), key=lambda entry: entry["chain"])

    def _of_chains(self, method: Method, write: Callable[[int, Any], Any]) -> list[Any]:
        """What ``write`` says, as JSON values, of each chain whose state differs, by all processes;
        it keeps none, as the next is made when it is gone. Nobody writes before the root has seen
        that the run is still its own."""
        self._run.check_lease()
        self._transport.barrier()
        held, distinct = method.chains, method.distinct()
        local = [write(number, held[number]) for number in held if number in distinct]
        return [told for part in self._transport.exchange(local) for told in part]

    def _replace(self, entries: list[Entry]) -> None:
        """Makes some entries the index, here and on disk, without those that are no longer to be
        kept."""
        before = self._entries
        self._entries = self._with_means(
            [
                entry
                for entry in entries
                if entry["burn_in"] or is_kept(entry["position"], self._position, self._n_samples)
            ]
        )
        if self._transport.is_root and self._entries != before:
            self._run.write_sample_index(self._entries, files_of([*before, *entries]))

    def _with_means(self, entries: list[Entry]) -> list[Entry]:
        """Some entries, of which the newest of each chain says where its mean is."""
        newest = {entry["chain"]: entry for entry in entries}
        told = []
        for entry in entries:
            has_mean = entry is newest[entry["chain"]] and not entry["burn_in"]
            mean = self._means.get(entry["chain"]) if has_mean else None
            state = {name: value for name, value in entry.items() if name != "mean"}
            told.append(state if mean is None else {**state, "mean": mean})
        return told

    def clean_up(self) -> None:
        """Deletes the files of what is no longer kept."""
        if self._transport.is_root:
            self._run.delete_dropped()

    def rewind(
        self, method: Method, round_number: int, saved: list[Entry] | None = None
    ) -> list[str]:
        """Takes the index back to a round, to which a method has gone back: to the one that was
        ``saved`` then, without what by the settings of now is no sample. What was drawn later is
        deleted, for a resumed run draws it again. Collective.

        Earlier versions saved no index (None). Then what was drawn later is left out of that of the
        run, which may lack older samples that have made room.

        Returns the names of files that are damaged or gone: what they held is left out, too.
        """
        self._position = method.position
        every = [
            {
                **entry,
                "position": entry.get("position", method.position_of_round(entry["round"])),
                "burn_in": entry.get("burn_in", False),
            }
            for entry in (self._run.sample_index() if saved is None else saved)
        ]
        # On another number of workers the position is that of the next sweep, not yet drawn.
        kept = [
            entry
            for entry in every
            if entry["round"] <= round_number and entry["position"] <= self._position
        ]
        lost = self._lost(kept)
        sound = [entry for entry in kept if entry["file"] not in lost]
        proper = [e for e in sound if not (e["burn_in"] or method.is_start(e["position"]))]
        # Earlier versions wrote a mean with each sample.
        means = [
            (entry["chain"], entry["mean"], entry["mean"].get("position", entry["position"]))
            for entry in kept
            if "mean" in entry and entry["mean"]["file"] not in lost
        ]
        self._means = {
            chain: mean
            for chain, mean, position in means
            if position <= self._position and not method.is_start(position)
        }
        self._entries = self._with_means(proper or [entry for entry in sound if entry["burn_in"]])
        # The files of others are deleted.
        self._means = {entry["chain"]: entry["mean"] for entry in self._entries if "mean" in entry}
        self._transport.barrier()  # all have read the index
        if self._transport.is_root:
            self._run.write_sample_index(self._entries, self._run.sample_files())
        self.clean_up()
        self._transport.barrier()  # none writes a sample while files are deleted
        return lost

    def _lost(self, entries: Sequence[Entry]) -> list[str]:
        """The files of some entries that are gone or not what was written, in the order of their
        names; DataError where one cannot be read now. Each process reads some of them."""

        def is_sound(part: Entry) -> bool:
            try:
                path = self._run.place_of_sample(part)
            except DataError:  # it is gone
                return False
            return path.exists() and checksum(path) == part["checksum"]

        parts = [part for e in entries for part in (e, e.get("mean")) if part is not None]
        mine = parts[self._transport.rank :: self._transport.n_processes]
        with ThreadPoolExecutor() as pool:
            found = zip(mine, pool.map(is_sound, mine), strict=True)
            lost = [part["file"] for part, sound in found if not sound]
        return sorted(name for names in self._transport.exchange(lost) for name in names)


def _spread(entries: list[Entry], most: int | None) -> list[Entry]:
    """Of the samples of one chain those at multiples of a power of two, and the newest."""
    apart, chosen = 1, entries
    while most is not None and len(chosen) > most:
        apart *= 2
        chosen = [entry for entry in entries if entry["position"] % apart == 0]
    return chosen if chosen[-1:] == entries[-1:] else [*chosen, entries[-1]]
