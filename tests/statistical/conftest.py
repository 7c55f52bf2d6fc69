"""Lets tests import `calibration`, the small models and chains of bench/sbc.py."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "bench"))
