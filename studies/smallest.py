"""What command lines of studies on images may change: ``--smallest``, to see that a study runs, and ``--bfloat16``."""

from typing import Any

from benchmarks import workload

LOW: dict[str, Any] = {"precision": "bfloat16"}  # for processors that have its instructions
TINY: dict[str, Any] = workload.TINY | {"iterations": 3, "burn_in": 1, "thin": 1}
