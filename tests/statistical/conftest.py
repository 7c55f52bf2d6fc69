"""Lets tests import `calibration` and `papers`, the small models and chains of bench/."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "bench"))
