"""What users need to test their plugins and policies: builders of objects, and a clock that stands still."""

from scheduler.testing.clock import FakeClock
from scheduler.testing.nodes import NodeBuilder, make_node
from scheduler.testing.pods import PodBuilder, make_pod

__all__ = ["FakeClock", "NodeBuilder", "PodBuilder", "make_node", "make_pod"]
