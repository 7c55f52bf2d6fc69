"""Runs of LDA that tests train: begun, interrupted and gone on with; and the bits they keep."""

from topicmc.engine.listeners import Silent
from topicmc.engine.loop import Training
from topicmc.engine.transport.local import LocalTransport
from topicmc.host.interrupts import Interrupt
from topicmc.kernels.threads import Threads
from topicmc.models.lda import jobs
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.model import training_of
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.run import TopicRun


class StopAfter(Interrupt):
    """An interruption that arrives when a run has made so many updates: it is asked for before each
    round and after it."""

    def __init__(self, updates: int) -> None:
        super().__init__()
        self.left = 2 * updates

    @property
    def requested(self) -> bool:
        self.left -= 1
        return self.left <= 0

    @requested.setter
    def requested(self, value: bool) -> None:
        pass


def opened(config, corpus):
    """The method of a run on all workers in this process, at its start."""
    config = resolve(config, Extent.of(corpus))
    return open_method(config, corpus, LocalTransport(config.workers), Threads(config.threads))


def begun(config, corpus, path, listener=None) -> Training:
    """A new run, before its first round."""
    transport = LocalTransport(config.workers)
    settings = jobs.start(config, corpus.path, path, transport)
    return training_of(*settings, transport, listener or Silent())


def resumed(path, n_workers=1, corpus_path=None, **changes) -> Training:
    """A run where it goes on, on its own corpus unless another path is given."""
    transport = LocalTransport(n_workers)
    settings = jobs.resume(path, changes, transport, corpus_path)
    return training_of(*settings, transport, Silent(), resume=True)


def ended(training: Training) -> Training:
    training.train(Interrupt())
    return training


def train(config, corpus, path, interrupt=None, resume=False):
    """A run that has been trained, and how that ended."""
    training = resumed(path, config.workers, corpus.path) if resume else begun(config, corpus, path)
    return training.run, training.train(interrupt or Interrupt())


def parted(config, corpus, path, places) -> list[TopicRun]:
    """Runs that are stopped after so many rounds each, and gone on with: one at every second of the
    places, one at the others."""
    runs = []
    for stops in (places[::2], places[1::2]):
        part, before = path / f"stopped-{stops[0]}", 0
        for stop in stops:
            train(config, corpus, part, StopAfter(stop - before), resume=before > 0)
            before = stop
        runs.append(train(config, corpus, part, resume=True)[0])
    return runs


def kept_bits(run: TopicRun) -> list[tuple[str, str]]:
    return [(entry["file"], entry["checksum"]) for entry in run.sample_index()]
