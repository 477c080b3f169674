"""Which node is chosen where kube-scheduler would look at a sample of the nodes only.

Not covered: that the scores are right, which tests/conformance compares with kube-scheduler's own.
"""

import random
from collections import Counter

from scheduler.core.algorithm import Decision, decide
from scheduler.core.cache.snapshot import Snapshot
from scheduler.core.framework.runtime import Framework
from scheduler.testing import make_node, make_pod
from tests.unit.core.framework.profiles import default_framework
from tests.unit.core.plugins.asking import parsed, snapshot_of

NODES = 600
"""kube-scheduler would be content with 276 of them."""


def decided(snapshot: Snapshot, framework: Framework, seed: int = 0) -> Decision:
    return decide(snapshot, parsed(make_pod("p").req(cpu="1")), framework, random.Random(seed))


def test_every_node_is_evaluated() -> None:
    """All fit and all are looked at; the best one is found wherever it stands."""
    best = 421
    nodes = [make_node(f"n{i}").capacity(cpu="64" if i == best else "8", memory="16Gi", pods=110) for i in range(NODES)]
    decision = decided(snapshot_of(*nodes), default_framework({}))
    assert (decision.feasible, decision.evaluated, decision.node_name) == (NODES, NODES, f"n{best}")


def test_a_tie_is_decided_by_chance_among_all_that_tie() -> None:
    """Each of the best nodes is chosen about equally often, and no other ever."""
    equals = {f"n{i}" for i in range(0, NODES, 100)}
    nodes = [
        make_node(f"n{i}").capacity(cpu="16" if f"n{i}" in equals else "8", memory="16Gi", pods=110)
        for i in range(NODES)
    ]
    snapshot, framework = snapshot_of(*nodes), default_framework({})
    chosen = Counter(decided(snapshot, framework, seed).node_name for seed in range(600))
    assert chosen.keys() == equals
    assert min(chosen.values()) > 60
