"""Which transport a run has: MPI when a launcher started several ranks, or as told."""

import os

from topicmc.engine.transport.base import Transport
from topicmc.engine.transport.local import LocalTransport
from topicmc.errors import UsageError
from topicmc.host.machine import own_mpiexec

_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")


def launched_size() -> int:
    """Ranks that mpiexec or srun started, from the environment; 1 when nobody did. 0 when a
    launcher is there that does not say."""
    for name in _SIZE_VARIABLES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    if "PMIX_RANK" in os.environ or "PMI_RANK" in os.environ:
        steps = os.environ.get("SLURM_STEP_NUM_TASKS", "")
        return int(steps) if steps.isdigit() else 0
    return 1


def kind_of(transport: Transport) -> str:
    """What `open_transport` is told to open another one like it: mpi or local."""
    return "mpi" if transport.n_processes > 1 else "local"


def open_transport(kind: str = "auto", n_workers: int | None = None) -> Transport:
    """The transport for a run: MPI when mpiexec or srun started several ranks ("auto"), or as told
    ("mpi", "local"). `n_workers` None takes the ranks there are, or one worker.

    UsageError when mpi4py is missing, or ranks and `n_workers` disagree.
    """
    launched = launched_size()
    if kind == "local" or (kind == "auto" and launched == 1):
        if launched > 1:
            raise UsageError(
                f"--transport local would run {launched} copies of the same job: "
                "start it without mpiexec"
            )
        return LocalTransport(n_workers or 1)
    if kind not in ("auto", "mpi"):
        raise UsageError(f"unknown transport {kind!r}: choose auto, mpi or local")
    from topicmc.engine.transport.mpi import MpiTransport

    transport = MpiTransport()
    if transport.n_processes < launched:
        own = own_mpiexec() or "the mpiexec of mpi4py's own library"
        raise UsageError(
            f"mpiexec started {launched} ranks, but mpi4py sees {transport.n_processes}: they "
            f"belong to different MPI libraries; use {own} or rebuild mpi4py for yours"
        )
    if n_workers not in (None, transport.n_processes):
        raise UsageError(
            f"--workers {n_workers}, but {transport.n_processes} MPI ranks are here: "
            f"start with mpiexec -n {n_workers}"
        )
    return transport
