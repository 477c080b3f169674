"""Whatever happens in a cluster: no pod waits for an event while a node would take it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scheduler.core.cache.cluster_objects import ApiObject
from scheduler.testing import NodeBuilder, PodBuilder
from tests.unit.wakeups.random_life import LABELS, NODES, OBJECTS, PODS, RandomLife

NODE_NAMES = st.sampled_from(["n1", "n2", "n3", "n4"])
POD_NAMES = st.sampled_from([f"p{number}" for number in range(6)])
PLACED_NAMES = st.sampled_from([f"q{number}" for number in range(6)])
ALL_NAMES = POD_NAMES | PLACED_NAMES
NODE_SHAPES, POD_SHAPES = st.sampled_from(NODES), st.sampled_from(PODS)
PRIORITIES = st.sampled_from([-10, 0, 0, 0, 5])


class Wakeups(RuleBasedStateMachine):
    """Random life, checked after each step."""

    def __init__(self) -> None:
        super().__init__()
        self.life = RandomLife()

    @initialize(shapes=st.lists(NODE_SHAPES, min_size=2, max_size=3))
    def begin(self, shapes: list[NodeBuilder]) -> None:
        for number, shape in enumerate(shapes, start=1):
            self.life.write_node(shape, f"n{number}")

    @rule(shape=NODE_SHAPES, name=NODE_NAMES)
    def write_node(self, shape: NodeBuilder, name: str) -> None:
        self.life.write_node(shape, name)

    @rule(shape=NODE_SHAPES, name=NODE_NAMES)
    def relabel_node(self, shape: NodeBuilder, name: str) -> None:
        self.life.relabel_node(shape, name)

    @rule(name=NODE_NAMES)
    def delete_node(self, name: str) -> None:
        self.life.delete_node(name)

    @rule(obj=st.sampled_from(OBJECTS))
    def write_object(self, obj: ApiObject) -> None:
        self.life.write_object(obj)

    @rule(obj=st.sampled_from(OBJECTS))
    def delete_object(self, obj: ApiObject) -> None:
        self.life.delete_object(obj)

    @rule(shape=POD_SHAPES, name=POD_NAMES, priority=PRIORITIES)
    def create(self, shape: PodBuilder, name: str, priority: int) -> None:
        self.life.create(shape, name, priority)

    @rule(shape=POD_SHAPES, name=POD_NAMES, priority=PRIORITIES)
    def create_and_schedule(self, shape: PodBuilder, name: str, priority: int) -> None:
        """The commonest beginning, in one step."""
        self.life.create(shape, name, priority)
        self.life.schedule()
        self.life.finish()

    @rule(shape=POD_SHAPES, name=PLACED_NAMES, priority=PRIORITIES, node_name=NODE_NAMES)
    def place(self, shape: PodBuilder, name: str, priority: int, node_name: str) -> None:
        self.life.place(shape, name, priority, node_name)

    @rule(name=ALL_NAMES, labels=st.sampled_from(LABELS))
    def relabel(self, name: str, labels: dict[str, str] | None) -> None:
        self.life.relabel(name, labels)

    @rule(name=ALL_NAMES)
    def shrink(self, name: str) -> None:
        self.life.shrink(name)

    @rule(name=ALL_NAMES)
    def terminate(self, name: str) -> None:
        self.life.terminate(name)

    @rule(name=ALL_NAMES)
    def delete(self, name: str) -> None:
        self.life.delete(name)

    @rule(name=POD_NAMES, node_name=st.none() | NODE_NAMES)
    def nominate(self, name: str, node_name: str | None) -> None:
        self.life.nominate(name, node_name)

    @rule()
    def schedule(self) -> None:
        self.life.schedule()

    @rule(refused=st.booleans())
    def finish(self, refused: bool) -> None:
        self.life.finish(refused=refused)

    @rule()
    def end_backoff(self) -> None:
        self.life.end_backoff()

    @invariant()
    def nobody_is_missed(self) -> None:
        assert self.life.missed() == []

    def teardown(self) -> None:
        """Nothing is left under way."""
        self.life.finish()
        assert self.life.shell.faults == []


Wakeups.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestWakeups = Wakeups.TestCase
