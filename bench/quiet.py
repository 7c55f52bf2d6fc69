"""What every timed bench asks of the machine: that nothing else runs on it.

A bench refuses to start above a 1-minute load of `MOST`, unless it is told ``--anyway``, and keeps
the load, and whether it was told so, with its results.
"""

import argparse
import os
import sys
import time
from typing import Any

MOST = 0.5
_PATIENCE = 300.0  # seconds in which a bench's own load must have gone


def add_option(parser: argparse.ArgumentParser) -> None:
    """``--anyway``."""
    parser.add_argument(
        "--anyway", action="store_true", help=f"measure though the 1-minute load is above {MOST}"
    )


def conditions(anyway: bool, patience: float = 0.0) -> dict[str, Any]:
    """The load, to be kept with the results; ends the program where it is too high, and still is
    after so many seconds of ``patience``."""
    end = time.monotonic() + patience
    while (load := os.getloadavg()[0]) > MOST and not anyway and time.monotonic() < end:
        time.sleep(1)
    if load > MOST and not anyway:
        sys.exit(
            f"the 1-minute load is {load:.2f}, and figures are worth something up to {MOST}: wait,"
            " stop what else runs, or give --anyway"
        )
    return {"load": round(load, 2), "anyway": anyway}


def again(anyway: bool) -> dict[str, Any]:
    """`conditions` between measurements, when the load of the one before goes down."""
    return conditions(anyway, _PATIENCE)


def start(options: argparse.Namespace) -> None:
    """`conditions` of a bench that prints its results: printed before them."""
    found = conditions(options.anyway)
    print(f"1-minute load {found['load']:.2f}{', --anyway' * found['anyway']}", flush=True)
