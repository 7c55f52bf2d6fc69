"""``topicmc train`` with eyes open: ``mpiexec -n S python observed_train.py REPORT train …``.

Each rank writes REPORT-<rank>.json: the bytes that each of its rounds sent.
"""

import json
import sys
from pathlib import Path

from topicmc.cli import main
from topicmc.engine.dsgld import Dsgld

rounds: list[int] = []
ranks: list[int] = []


def counted(round_of):
    def wrapper(self):
        before = self.transport.bytes_sent
        result = round_of(self)
        ranks.append(self.transport.rank)
        rounds.append(self.transport.bytes_sent - before)
        return result

    return wrapper


report = sys.argv.pop(1)
Dsgld.round = counted(Dsgld.round)
try:
    main()
finally:
    Path(f"{report}-{ranks[0]}.json").write_text(json.dumps(rounds))
