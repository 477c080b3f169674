"""Nodes."""

from tests.oracle.generator.draws import Amounts, Labels, Object
from tests.oracle.generator.kubelet import KubeletDraws
from tests.oracle.generator.vocabulary import CPU, DISK, FOO, GPU, HOST, HUGE, IMAGES, MEM, REGION, ZONE


class NodeDraws(KubeletDraws):
    """Draws of nodes."""

    def make_nodes(self) -> None:
        random = self.random
        number = random.randint(self.fewest_nodes, self.most_nodes)
        style = random.choice(["n%d", "node-%02d", "w%d.example.com", "z"])
        names = [f"{chr(97 + i)}-node" if style == "z" else style % (i + 1) for i in range(number)]
        if self.chance(0.3):
            random.shuffle(names)
        cpus, memories = [8000, 16000], [16 << 30, 32 * 10**9]
        if not self.roomy:
            cpus = random.choice([[1000, 2000], [2000], [2000, 4000], [1000, 1500, 3000]])
            memories = random.choice([[1 << 30, 2 << 30], [2 << 30], [4 << 30, 2 << 30], [10**9, 1 << 30]])
        zones = random.choice([["z1"], ["z1", "z2"], ["z1", "z2", "z3"]])
        if self.uniform:
            cpus, memories = cpus[-1:], memories[-1:]
        same_images = self.chance(0.5)
        for name in names:
            labels = self._node_labels(name, zones)
            node = self.obj("v1", "Node", name, labels=labels)
            node["status"], have = self._capacity(cpus, memories)
            if self.wants("odd"):
                self._shrink(node["status"])
            if self.rate("declared"):
                node["status"]["declaredFeatures"] = self.declared_features()
            if self.rate("images"):
                node["status"]["images"] = self._images(same_images=same_images)
            if spec := self._node_spec():
                node["spec"] = spec
            self.add(node)
            self.nodes.append((name, labels, have))
            self.free[name] = dict(have)

    def _node_labels(self, name: str, zones: list[str]) -> Labels:
        random = self.random
        labels = {HOST: name} if self.chance(0.97) else {}
        if self.chance(0.9):
            labels[ZONE] = random.choice(zones)
            if self.chance(0.8):
                labels[REGION] = random.choice(["r1", "r1", "r2"])
        if self.chance(0.6):
            labels["disk"] = random.choice(["ssd", "hdd"])
        if self.chance(0.5):
            labels["rack"] = random.choice(["k1", "k2"])
        if self.chance(0.5):
            labels["size"] = random.choice(["0", "1", "5", "10", "big", "010"])
        return labels

    def _capacity(self, cpus: list[int], memories: list[int]) -> tuple[Object, Amounts]:
        """The status with its amounts, and these as numbers."""
        random = self.random
        cpu, memory = random.choice(cpus), random.choice(memories)
        disk = random.choice([5 << 30, 10 << 30])
        pods = 110 if self.uniform else random.choice([3, 5, 10, 110, 110])
        allocatable = {"cpu": self.spelling(CPU, cpu), "memory": self.spelling(MEM, memory), "pods": str(pods)}
        have = {"cpu": cpu, "memory": memory, "pods": pods}
        if self.chance(0.8):
            allocatable["ephemeral-storage"] = self.spelling(DISK, disk)
            have["ephemeral-storage"] = disk
        for resource, numbers, scale in ((GPU, [0, 1, 2, 4], 1.5), (FOO, [1, 3], 1.0)):
            if self.maybe("ext", scale):
                have[resource] = random.choice(numbers)
                allocatable[resource] = str(have[resource])
        if self.maybe("ext", 0.7):
            allocatable[HUGE] = "64Mi"
            have[HUGE] = 64 << 20
        status: Object = {"capacity": dict(allocatable)}
        if self.chance(0.7):
            status["allocatable"] = allocatable
        return status, have

    def _shrink(self, status: Object) -> None:
        """What pods may have been placed by is no longer there, or no longer told of."""
        allocatable = status.setdefault("allocatable", dict(status["capacity"]))
        for resource in self.some(sorted(allocatable), 1, 3):
            if self.chance(0.5):
                del allocatable[resource]
            else:
                allocatable[resource] = "0" if self.chance(0.5) else "1"

    def _images(self, *, same_images: bool) -> list[Object]:
        images = []
        for image, size in IMAGES.items():
            if not self.chance(0.45):
                continue
            entry: Object = {"names": [image], "sizeBytes": size}
            if not same_images and self.chance(0.2):
                entry["sizeBytes"] = size * 2
            if self.chance(0.2):
                entry["names"].append("registry.example.com/copy@sha256:" + "ab" * 32)
            images.append(entry)
        return images

    def _node_spec(self) -> Object:
        spec: Object = {}
        if self.maybe("unsched"):
            spec["unschedulable"] = True
        taints: dict[tuple[str, str], Object] = {}
        if self.maybe("taints"):
            for _ in range(self.random.randint(1, 3)):
                taint = self._taint()
                taints[taint["key"], taint["effect"]] = taint
        if spec.get("unschedulable") and self.chance(0.5):
            taints["u", "u"] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        if taints:
            spec["taints"] = list(taints.values())
        return spec

    def _taint(self) -> Object:
        taint = {
            "key": self.random.choice(["k1", "k2", "dedicated", "example.com/num"]),
            "effect": self.random.choice(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        }
        if self.chance(0.7):
            taint["value"] = self.random.choice(["x", "y", "5"])
        return taint
