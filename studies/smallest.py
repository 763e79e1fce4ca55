"""The smallest networks and the shortest run on images, to see that a study runs: ``--smallest``."""

from typing import Any

from benchmarks import workload

TINY: dict[str, Any] = workload.TINY | {"iterations": 3, "burn_in": 1, "thin": 1}
