"""Pods on nodes, pods that wait, and their budgets."""

from tests.oracle.generator.constraints import ConstraintDraws
from tests.oracle.generator.containers import ContainerDraws
from tests.oracle.generator.draws import Amounts, Object
from tests.oracle.generator.kubelet import KubeletDraws
from tests.oracle.generator.storage import StorageDraws
from tests.oracle.generator.vocabulary import APPS, PRIORITIES, TEAMS, TIMES, VERSIONS

_WORKLOADS = ("ReplicaSet", "StatefulSet", "ReplicationController")


class PodDraws(ContainerDraws, ConstraintDraws, KubeletDraws, StorageDraws):
    """Draws of pods and PodDisruptionBudgets."""

    def new_pod(self) -> Object:
        random = self.random
        self.serial += 1
        namespace = random.choice(self.namespaces)
        name = random.choice(["p%d", "p-%02d", "%d-pod"]) % self.serial
        labels = {}
        if self.chance(0.85):
            labels["app"] = random.choice(APPS)
        if self.chance(0.5):
            labels["version"] = random.choice(VERSIONS)
        if self.chance(0.3):
            labels["team"] = random.choice(TEAMS)
        pod = self.obj("v1", "Pod", name, namespace, labels)
        pod["metadata"]["uid"] = f"22222222-0000-0000-0000-{self.serial:012d}"
        pod["spec"] = {}
        if self.maybe("owner"):
            self._own(pod)
        return pod

    def _own(self, pod: Object) -> None:
        namespace = pod["metadata"]["namespace"]
        owners = [
            one for one in self.objects if one["kind"] in _WORKLOADS and one["metadata"]["namespace"] == namespace
        ]
        if not owners:
            return
        owner = self.random.choice(owners)
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": True}
        reference |= {name: owner["metadata"][name] for name in ("name", "uid")}
        pod["metadata"]["ownerReferences"] = [reference]
        if self.chance(0.8):
            pod["metadata"].setdefault("labels", {})["app"] = owner["metadata"]["name"].removeprefix("own-")

    def set_priority(self, pod: Object, *, pending: bool) -> None:
        random = self.random
        spec = pod["spec"]
        if not self.maybe("prio"):
            return
        if self.classes and self.chance(0.4):
            spec["priorityClassName"] = random.choice([*self.classes, "system-cluster-critical"])
            return
        pool = [0, 1, 10, 10, 100, 1000] if pending else [-10, -1, 0, 0, 1, 10, 10, 100]
        spec["priority"] = random.choice(pool if self.chance(0.8) else PRIORITIES)
        if pending and self.chance(0.1):
            spec["preemptionPolicy"] = random.choice(["Never", "PreemptLowerPriority"])

    def bound_pod(self) -> None:
        random = self.random
        pod = self.new_pod()
        need = self.fill(pod, heavy=self.maybe("full", 0.7))
        where = self.node_names()
        fits = [node for node in where if self._has_room(node, need)]
        if not fits and not self.chance(0.05):
            return  # Overcommitted nodes are rare.
        node = random.choice(fits or where)
        if self.chance(0.01):
            node = "gone"  # A pod whose node has been deleted.
        free = self.free.setdefault(node, {"pods": 0})
        for resource, amount in need.items():
            free[resource] = free.get(resource, 0) - amount
        free["pods"] -= 1
        self.constraints(pod)
        pod["spec"]["nodeName"] = node
        self.set_priority(pod, pending=False)
        if self.maybe("vol", 0.6):
            self.use_volumes(pod, placed=True)
        status: Object = {"phase": random.choice(["Running"] * 9 + ["Pending"])}
        if self.chance(0.85):
            status["startTime"] = random.choice(TIMES)
        if self.chance(0.02):
            status["phase"] = random.choice(["Succeeded", "Failed"])
        if self.maybe("term"):
            pod["metadata"]["deletionTimestamp"] = "2026-01-03T00:00:00Z"
            pod["metadata"]["deletionGracePeriodSeconds"] = 30
            if self.chance(0.6):
                reasons = ["PreemptionByScheduler", "PreemptionByScheduler", "EvictionByEvictionAPI"]
                reason = random.choice(reasons)
                status["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]
        pod["status"] = status
        if self.wants("resize"):
            self.report_resources(pod)
        self.add(pod)

    def _has_room(self, node: str, need: Amounts) -> bool:
        free = self.free[node]
        return all(free.get(resource, 0) >= amount for resource, amount in need.items()) and free["pods"] > 0

    def pending_pod(self, *, listed: bool) -> Object:
        random = self.random
        pod = self.new_pod()
        self.fill(pod, heavy=self.maybe("full", 0.8))
        self.constraints(pod)
        self.set_priority(pod, pending=True)
        if self.maybe("vol"):
            self.use_volumes(pod, placed=False)
        if self.maybe("nodename"):
            names = [random.choice(self.node_names())]
            terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": names}]}]
            required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            pod["spec"]["affinity"] = {"nodeAffinity": required}
        if self.maybe("gates"):
            pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
        if self.maybe("sched"):
            pod["spec"]["schedulerName"] = random.choice(["other", "second"])
        status = {"phase": "Pending"}
        if self.maybe("nominated", 0.7 if listed else 1.4):
            status["nominatedNodeName"] = random.choice(self.node_names() + (["gone"] if self.chance(0.1) else []))
        pod["status"] = status
        if self.wants("reported"):
            self.report_resources(pod)
        if self.wants("declared"):
            self.need_features(pod["spec"])
        if self.wants("dying"):
            pod["metadata"] |= {"deletionTimestamp": "2026-01-03T00:00:00Z", "deletionGracePeriodSeconds": 30}
        self.add(pod)
        return pod

    def make_pdbs(self) -> None:
        random = self.random
        for i in range(random.randint(0, 4)):
            name, namespace = f"pdb-{random.choice('abc')}{i}", random.choice(self.namespaces)
            pdb = self.obj("policy/v1", "PodDisruptionBudget", name, namespace)
            pdb["spec"] = {random.choice(["minAvailable", "maxUnavailable"]): random.choice([0, 1, 2, "50%"])}
            if self.chance(0.9):
                pdb["spec"]["selector"] = self.label_selector()
            pdb["status"] = {
                "disruptionsAllowed": random.choice([0, 0, 1, 1, 2, 3]),
                "currentHealthy": 3,
                "desiredHealthy": 2,
                "expectedPods": 3,
            }
            if self.chance(0.15):
                pods = [one["metadata"]["name"] for one in self.objects if one["kind"] == "Pod"]
                if pods:
                    pdb["status"]["disruptedPods"] = {random.choice(pods): "2026-01-03T00:00:00Z"}
            self.add(pdb)
