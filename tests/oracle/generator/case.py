"""One random cluster with its pending pods."""

from tests.oracle.generator.configuration import ConfigurationDraws
from tests.oracle.generator.draws import Object
from tests.oracle.generator.nodes import NodeDraws
from tests.oracle.generator.owners import OwnerDraws
from tests.oracle.generator.pods import PodDraws
from tests.oracle.generator.vocabulary import TEAMS


class RandomCase(NodeDraws, OwnerDraws, PodDraws, ConfigurationDraws):
    """Draws of a whole case."""

    def build(self) -> Object:
        """The case, as the oracle reads it."""
        random = self.random
        self._make_namespaces()
        self.make_classes()
        self.make_nodes()
        if self.rate("owner"):
            self.make_owners()
        if self.rate("vol"):
            self.make_storage()
        for _ in range(random.choice([3, 6, 10, 15, 25, 40] if self.rate("full") else [0, 2, 5, 8, 12, 20, 40])):
            self.bound_pod()
        waiting = [self.pending_pod(listed=True) for _ in range(random.randint(1, 4))]
        for _ in range(random.choice([0, 0, 1, 2]) if self.rate("nominated") else 0):
            self.pending_pod(listed=False)
        if self.rate("pdb"):
            self.make_pdbs()
        if self.chance(0.5):
            # Creation order is not name order.
            pods = [one for one in self.objects if one["kind"] == "Pod"]
            random.shuffle(pods)
            self.objects = [one for one in self.objects if one["kind"] != "Pod"] + pods
        case: Object = {"name": self.name}
        if self.maybe("config"):
            case["config"] = self.make_config()
        case["objects"] = self.objects
        case["pods"] = [f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in waiting]
        if self.rate("prio") and self.chance(0.2):
            case["pods"].append(random.choice(case["pods"]))  # A second attempt.
        if self.rate("prio") and self.chance(0.6):
            case["applyPreemption"] = True
        return case

    def _make_namespaces(self) -> None:
        for namespace in self.namespaces:
            labels = {}
            if self.chance(0.6):
                labels["team"] = self.random.choice(TEAMS)
            self.add(self.obj("v1", "Namespace", namespace, labels=labels))
