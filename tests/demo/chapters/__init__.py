"""The chapters in the order in which they are told. Each changes the cluster, reads it back, and tells what it read.

A chapter finds what those before it left behind. The last two look at everything, so new ones go before them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.demo.chapters import figures, gates, preemption, selectors, spreading, taints, unschedulable, whole
from tests.demo.stage import Stage
from tests.demo.story import Story


@dataclass(frozen=True)
class Chapter:
    """A title, and the function that plays the chapter on the stage."""

    title: str
    tell: Callable[[Stage, Story], None]


CHAPTERS = (
    Chapter("Pods spread: the node with most room left scores best", spreading.tell),
    Chapter("Pods choose: node selectors and affinities", selectors.tell),
    Chapter("Nodes choose: taints and tolerations", taints.tell),
    Chapter("A gated pod is not even tried until its gate is lifted", gates.tell),
    Chapter("A pod that fits nowhere says why, and is tried again when that may have changed", unschedulable.tell),
    Chapter("An important pod gets room: who falls, who is reprieved, and who does not steal it", preemption.tell),
    Chapter("The cluster as a whole", whole.tell),
    Chapter("How long it took, from /metrics", figures.tell),
)
