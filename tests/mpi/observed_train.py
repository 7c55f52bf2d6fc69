"""``topicmc train`` with eyes open: ``mpiexec -n S python observed_train.py REPORT train …``.

Each rank writes REPORT-<rank>.json: the bytes that each of its rounds sent, and where it looked for
the run before that was made.
"""

import json
import os
import sys
from pathlib import Path

from topicmc.cli import main
from topicmc.engine.dsgld import Dsgld

rounds: list[int] = []
ranks: list[int] = []
early: list[str] = []
run = Path(sys.argv[sys.argv.index("-o") + 1])
stat = os.stat


def counted(round_of):
    def wrapper(self):
        before = self.transport.bytes_sent
        result = round_of(self)
        ranks.append(self.transport.rank)
        rounds.append(self.transport.bytes_sent - before)
        return result

    return wrapper


def watched(path, *arguments, **options):
    if str(path).startswith(str(run)):
        try:
            stat(run / "run.json")
        except FileNotFoundError:
            early.append(str(path))
    return stat(path, *arguments, **options)


os.stat = watched
report = sys.argv.pop(1)
Dsgld.round = counted(Dsgld.round)
try:
    main()
finally:
    Path(f"{report}-{ranks[0]}.json").write_text(json.dumps([rounds, early]))
