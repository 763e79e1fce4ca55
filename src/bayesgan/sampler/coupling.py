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

from bayesgan.settings.settings import Populations


class Groups(NamedTuple):
    """``number`` groups of ``generators`` × ``discriminators`` chains."""

    number: int
    generators: int
    discriminators: int


def grouped(populations: Populations) -> Groups:
    """The groups of J_g × M generator and J_d × M discriminator chains."""
    generators, discriminators = populations.group_sizes
    return Groups(populations.chains("discriminators") // discriminators, generators, discriminators)
