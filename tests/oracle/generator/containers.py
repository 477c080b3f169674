"""Containers and what they ask for."""

from tests.oracle.generator.draws import Amounts, Draws, Object
from tests.oracle.generator.vocabulary import CPU, DISK, FOO, GPU, HUGE, MEM, POD_IMAGES

_ADDRESSES = ("", "0.0.0.0", "127.0.0.1", "10.0.0.1")


class ContainerDraws(Draws):
    """Draws of containers."""

    def fill(self, pod: Object, *, heavy: bool = False) -> Amounts:
        """Containers, with the sum of their requests as numbers."""
        spec = pod["spec"]
        level = 1.0 if self.maybe("res") else 0.3
        if self.uniform and not heavy:
            level *= 0.5
        total: Amounts = {}
        spec["containers"] = [
            self._container(f"c{i}", total, level, heavy=heavy)
            for i in range(self.random.choice([1, 1, 1, 2, 3] if not heavy else [1]))
        ]
        if self.maybe("init"):
            spec["initContainers"] = self._init_containers(total)
        if self.maybe("podres"):
            self._pod_resources(spec, total)
        if self.maybe("over"):
            spec["runtimeClassName"] = "kata"
            spec["overhead"] = {"cpu": "250m", "memory": "64Mi"}
            _add({"cpu": 250, "memory": 64 << 20}, total)
        if self.maybe("ports"):
            self._ports(spec)
        return total

    def _container(self, name: str, total: Amounts, level: float, *, heavy: bool) -> Object:
        need: Amounts = {}
        container: Object = {"name": name, "image": self.random.choice(POD_IMAGES) if self.rate("images") else "x"}
        resources = self._resources(need, level)
        if heavy:
            self._make_heavy(resources, need)
        if resources:
            container["resources"] = resources
        _add(need, total)
        return container

    def _make_heavy(self, resources: Object, need: Amounts) -> None:
        cpu = self.random.choice([500, 1000, 1000, 1500])
        memory = self.random.choice([512 << 20, 10**9, 64 << 20])
        if self.roomy:
            cpu *= 2 if cpu > 1000 else 4 if cpu > 500 else 8
        if self.uniform:
            cpu, memory = (4000 if self.roomy else 1000), 512 << 20
        requests = resources.setdefault("requests", {})
        requests.update(cpu=self.spelling(CPU, cpu), memory=self.spelling(MEM, memory))
        for resource in ("cpu", "memory"):
            resources.get("limits", {}).pop(resource, None)
        if not resources.get("limits"):
            resources.pop("limits", None)
        need.update(cpu=cpu, memory=memory)

    def _init_containers(self, total: Amounts) -> list[Object]:
        """Init containers and sidecars; `total` grows to what the pod then needs at most."""
        containers = []
        sidecars: Amounts = {}
        peaks: list[Amounts] = []
        for i in range(self.random.randint(1, 3)):
            need: Amounts = {}
            container: Object = {
                "name": f"i{i}",
                "image": self.random.choice(POD_IMAGES) if self.rate("images") else "x",
            }
            if resources := self._resources(need):
                container["resources"] = resources
            if self.chance(0.4):
                container["restartPolicy"] = "Always"
                _add(need, sidecars)
                peaks.append(dict(sidecars))
            else:
                peak = dict(sidecars)
                _add(need, peak)
                peaks.append(peak)
            containers.append(container)
        _add(sidecars, total)
        for peak in peaks:
            for resource, amount in peak.items():
                total[resource] = max(total.get(resource, 0), amount)
        return containers

    def _resources(self, need: Amounts, level: float = 1.0) -> Object:
        """Resources of a container; `need` takes their numbers."""
        random = self.random
        requests: dict[str, str] = {}
        limits: dict[str, str] = {}
        if self.chance(0.85 * level):
            cpu = random.choice([100, 250, 500, 500, 1000, 1000, 1500, 0])
            self._request("cpu", CPU, cpu, requests, limits, need)
        if self.chance(0.8 * level):
            memory = random.choice([64 << 20, 128 * 10**6, 200 << 20, 512 << 20, 10**9, 1 << 30, 0])
            self._request("memory", MEM, memory, requests, limits, need)
        if self.chance(0.2 * level):
            disk = random.choice([500 * 10**6, 1 << 30, 2 * 10**9, 5 << 30])
            requests["ephemeral-storage"] = self.spelling(DISK, disk)
            need["ephemeral-storage"] = disk
        if self.maybe("ext", 0.5 * level):
            need[GPU] = random.choice([1, 1, 2, 3])
            limits[GPU] = str(need[GPU])
            if self.chance(0.5):
                requests[GPU] = limits[GPU]
        if self.maybe("ext", 0.25 * level):
            limits[FOO] = requests[FOO] = "1"
            need[FOO] = 1
        if self.maybe("ext", 0.15 * level) and ("cpu" in requests or "memory" in requests):
            mebibytes = random.choice([2, 32, 64])
            limits[HUGE] = requests[HUGE] = f"{mebibytes}Mi"
            need[HUGE] = mebibytes << 20
        return {name: part for name, part in (("requests", requests), ("limits", limits)) if part}

    def _request(
        self,
        resource: str,
        table: dict[int, list[str]],
        amount: int,
        requests: dict[str, str],
        limits: dict[str, str],
        need: Amounts,
    ) -> None:
        requests[resource] = self.spelling(table, amount)
        need[resource] = amount
        if self.chance(0.2):
            limit = self.random.choice([v for v in table if v >= amount])
            limits[resource] = self.spelling(table, limit)
            if self.chance(0.4):
                del requests[resource]  # The default is the limit.
                need[resource] = limit

    def _pod_resources(self, spec: Object, total: Amounts) -> None:
        for container in spec["containers"] + spec.get("initContainers", []):
            limited = container.get("resources", {}).get("limits", {})
            if "cpu" in limited or "memory" in limited:
                return
        requests: dict[str, str] = {}
        limits: dict[str, str] = {}
        for resource, table in (("cpu", CPU), ("memory", MEM)):
            above = [amount for amount in table if amount >= total.get(resource, 0) and amount > 0]
            if above and self.chance(0.8):
                amount = self.random.choice(above[:2])
                requests[resource] = self.spelling(table, amount)
                if self.chance(0.4):
                    limit = self.random.choice([v for v in above if v >= amount])
                    limits[resource] = self.spelling(table, limit)
                    if self.chance(0.3):
                        del requests[resource]
                        amount = limit
                total[resource] = amount
        if resources := {name: part for name, part in (("requests", requests), ("limits", limits)) if part}:
            spec["resources"] = resources

    def _ports(self, spec: Object) -> None:
        random = self.random
        used: set[tuple[str, str, int]] = set()
        host_network = self.chance(0.15)
        if host_network:
            spec["hostNetwork"] = True
        for container in spec["containers"][:2]:
            ports = []
            for _ in range(random.randint(1, 2)):
                number = random.choice([80, 8080])
                protocol = random.choice(["TCP", "TCP", "UDP", "SCTP"])
                address = random.choice(["", *_ADDRESSES])
                if (protocol, address, number) in used:
                    continue
                used.add((protocol, address, number))
                port = {"containerPort": number, "hostPort": number, "protocol": protocol}
                if address and not host_network:
                    port["hostIP"] = address
                elif host_network:
                    used.update((protocol, other, number) for other in _ADDRESSES)
                if self.chance(0.2) and protocol == "TCP":
                    del port["protocol"]
                if self.chance(0.15) and not host_network:
                    del port["hostPort"]
                    port["containerPort"] = random.choice([81, 82])
                ports.append(port)
            if ports:
                container["ports"] = ports


def _add(amounts: Amounts, to: Amounts) -> None:
    for resource, amount in amounts.items():
        to[resource] = to.get(resource, 0) + amount
