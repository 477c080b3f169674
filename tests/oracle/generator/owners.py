"""Priority classes, and what owns and selects pods."""

from tests.oracle.generator.draws import Draws, Object
from tests.oracle.generator.vocabulary import APPS


class OwnerDraws(Draws):
    """Draws of priority classes, services and workloads."""

    def make_owners(self) -> None:
        for namespace in self.namespaces:
            for app in self.some(APPS, 1, 2):
                if self.chance(0.6):
                    self._make_service(namespace, app)
                self._make_workload(namespace, app)

    def _make_service(self, namespace: str, app: str) -> None:
        service = self.obj("v1", "Service", f"svc-{app}", namespace)
        address = f"10.0.{len(self.objects) % 250}.{self.random.randint(1, 250)}"
        service["spec"] = {
            "selector": {"app": app},
            "type": "ClusterIP",
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        }
        self.add(service)

    def _make_workload(self, namespace: str, app: str) -> None:
        kind = self.random.choice(["ReplicaSet", "StatefulSet", "ReplicationController"])
        core = kind == "ReplicationController"
        owner = self.obj("v1" if core else "apps/v1", kind, f"own-{app}", namespace)
        owner["metadata"]["uid"] = f"11111111-0000-0000-0000-{len(self.objects):012d}"
        labels = {"app": app}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
        selector: Object = dict(labels) if core else {"matchLabels": labels}
        owner["spec"] = {"replicas": 2, "selector": selector, "template": template}
        if kind == "StatefulSet":
            owner["spec"]["serviceName"] = f"svc-{app}"
        self.add(owner)

    def make_classes(self) -> None:
        if not self.maybe("classes"):
            return
        default_done = False
        for name, value in self.some([("low", -5), ("normal", 10), ("high", 1000), ("top", 1000000000)], 1):
            priority_class = self.obj("scheduling.k8s.io/v1", "PriorityClass", name)
            priority_class["value"] = value
            if self.chance(0.3):
                priority_class["preemptionPolicy"] = self.random.choice(["Never", "PreemptLowerPriority"])
            if not default_done and self.chance(0.25):
                priority_class["globalDefault"] = True
                default_done = True
            self.add(priority_class)
            self.classes.append(name)
