"""What the ranks of the AD-LDA tests run: ``mpiexec -n S python adlda_jobs.py JOB CORPUS``."""

import faulthandler
import sys
from pathlib import Path

import numpy as np

from topicmc.corpora import Corpus
from topicmc.engine.transport.base import abort_on_error
from topicmc.engine.transport.open import open_transport
from topicmc.kernels.threads import Threads
from topicmc.models.lda.extent import Extent
from topicmc.models.lda.methods import open_method
from topicmc.models.lda.planning.defaults import resolve
from topicmc.models.lda.settings import TrainConfig
from topicmc.samplers.scir import Scir
from topicmc.samplers.state import sum_topics


def opened(sampler, corpus, transport, **settings):
    config = TrainConfig(
        sampler=sampler, alpha=0.1, beta=0.05, seed=3, threads=1, epochs=20,
        workers=transport.n_workers, **{"topics": 5, **settings},
    )  # fmt: skip
    return open_method(resolve(config, Extent.of(corpus)), corpus, transport, Threads(1))


def job_consistent(path):
    """After each round the shared table counts the assignments of all ranks, exactly."""
    transport = open_transport("mpi")
    with abort_on_error(transport):
        chain = opened("asynclda", Corpus.open(Path(path)), transport)
        for _ in range(5):
            chain.round()
            (sampler,) = chain.samplers.values()
            mine = np.zeros_like(sampler.word_topic)
            known = sampler.z != sampler.unassigned
            np.add.at(mine, (sampler.tokens[known], sampler.z[known]), 1)
            np.testing.assert_array_equal(chain.reconciliation.counts(), transport.sum(mine))
            assert np.all(sampler.word_topic >= mine)  # behind, perhaps, but never without its own
            transport.barrier()
        assert chain.update > 0
        assert chain.metrics()["reproducible"] is False
        assert transport.bytes_sent > 0
    print("fine", flush=True)


def job_bytes(path):
    """What docs/cluster.md says of an exchange of counts, four times in a sweep."""
    transport = open_transport("mpi")
    with abort_on_error(transport):
        corpus, size = Corpus.open(Path(path)), transport.n_workers
        chain = opened("adlda", corpus, transport, topics=140, start="plain", learn="none")
        for _ in range(4):
            before = transport.bytes_sent
            chain.round()
            sent = transport.bytes_sent - before
            assert abs(sent - 2 * (size - 1) / size * 4 * corpus.n_words * 144) < 8, sent
        assert chain.metrics()["sweep"] == 1
    print("fine", flush=True)


def job_table():
    """What many ranks add arrives once; every rank sees its own additions at once."""
    transport = open_transport("mpi")
    with abort_on_error(transport):
        table = transport.shared_table((11, 7))
        out = np.empty((11, 7), np.int32)
        change = np.arange(77, dtype=np.int32).reshape(11, 7)
        for i in range(200):
            table.add(change, out)
            assert np.all(out >= (i + 1) * change)
        transport.barrier()
        np.testing.assert_array_equal(table.read(), 200 * transport.n_workers * change)
        transport.barrier()
    print("fine", flush=True)


def job_parted(path, culprit):
    """One rank's third move rounds one entry the other way, as another libm would."""
    transport = open_transport("mpi")
    move = Scir.move

    def rounded(self, chain, *arguments, **options):
        info = move(self, chain, *arguments, **options)
        if chain.update == 3 and transport.rank == int(culprit):
            largest = np.unravel_index(chain.theta.argmax(), chain.theta.shape)
            chain.theta[largest] = np.nextafter(chain.theta[largest], np.float32(0))
            chain.topic_sums = sum_topics(chain.theta)
        return info

    Scir.move = rounded
    with abort_on_error(transport):
        chain = opened("scir", Corpus.open(Path(path)), transport, remember=True, start="plain")
        while chain._chain.update < 6:
            chain.round()
    print("fine", flush=True)


if __name__ == "__main__":
    faulthandler.dump_traceback_later(40, exit=True)  # a deadlock says where
    globals()[f"job_{sys.argv[1]}"](*sys.argv[2:])
