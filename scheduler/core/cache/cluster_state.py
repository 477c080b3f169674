"""All that the scheduler believes of the cluster at this moment, as one value to hand around."""

from dataclasses import dataclass, field

from scheduler.core.cache.cache import Cache
from scheduler.core.cache.cluster_objects import ClusterObjects
from scheduler.core.cache.nominator import Nominator


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Live state: `event_handlers` and the scheduling cycle write it, the snapshot and queueing hints read it.

    Attributes:
        cache: nodes, and the pods on them.
        nominator: pending pods that hold room on a node.
        objects: everything else.
    """

    cache: Cache = field(default_factory=Cache)
    nominator: Nominator = field(default_factory=Nominator)
    objects: ClusterObjects = field(default_factory=ClusterObjects)
