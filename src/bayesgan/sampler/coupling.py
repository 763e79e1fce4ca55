"""Who faces whom.

Chains are numbered replica by replica: chain ``m * J + j`` is the paper's θ^{j,m}. Every coupling then cuts
each population into the same number of consecutive groups, and within a group everybody faces everybody:

==============  ======  ========================  ============================
coupling        groups  generators of a group     discriminators of a group
==============  ======  ========================  ============================
``algorithm1``  M       J_g (all j, the same m)   J_d (all k, the same m)
``all``         1       J_g · M                   J_d · M
``pairs``       J · M   1                         1 (J_g = J_d = J)
==============  ======  ========================  ============================
"""

from typing import NamedTuple

from bayesgan.base.errors import BayesganError
from bayesgan.settings.names import Coupling


class Groups(NamedTuple):
    """``number`` groups of ``generators`` × ``discriminators`` chains."""

    number: int
    generators: int
    discriminators: int


def grouped(coupling: Coupling, generators: int, discriminators: int, replicas: int) -> Groups:
    """The groups of J_g × M generator and J_d × M discriminator chains."""
    if coupling == "algorithm1":
        return Groups(replicas, generators, discriminators)
    if coupling == "all":
        return Groups(1, generators * replicas, discriminators * replicas)
    if generators != discriminators:
        raise BayesganError(
            f"Coupling 'pairs' needs as many generators as discriminators, not {generators} and {discriminators}: "
            "make them equal or choose coupling 'algorithm1' or 'all'."
        )
    return Groups(generators * replicas, 1, 1)
