"""What kubelets report: resources of containers while they are resized in place, and features of nodes."""

from tests.oracle.generator.draws import Draws, Object
from tests.oracle.generator.vocabulary import CPU, MEM

_FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "SomethingElse")


class KubeletDraws(Draws):
    """Draws for the profiles that name the rates `resize` and `declared`."""

    def report_resources(self, pod: Object) -> None:
        """Statuses of some containers, with what they were allocated and what they have."""
        spec, status = pod["spec"], pod["status"]
        for containers, statuses in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
            reported = [self._container_status(one) for one in spec.get(containers, ()) if self.chance(0.8)]
            if reported:
                status[statuses] = reported
        if "resources" in spec and self.chance(0.6):
            status["allocatedResources"] = self._amounts()
            status["resources"] = {"requests": self._amounts()}
        if self.chance(0.4):
            reason = self.random.choice(["Infeasible", "Deferred"])
            pending = {"type": "PodResizePending", "status": "True", "reason": reason}
            status.setdefault("conditions", []).append(pending)
        if self.chance(0.2):
            status.setdefault("conditions", []).append({"type": "PodResizeInProgress", "status": "True"})

    def _container_status(self, container: Object) -> Object:
        status: Object = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
        status["ready"] = True
        if self.chance(0.8):
            status["allocatedResources"] = self._amounts()
        if self.chance(0.7):
            status["resources"] = {"requests": self._amounts()}
        return status

    def _amounts(self) -> dict[str, str]:
        amounts = {}
        if self.chance(0.85):
            amounts["cpu"] = self.spelling(CPU, self.random.choice([0, 100, 250, 500, 1000, 1500, 2000]))
        if self.chance(0.85):
            amounts["memory"] = self.spelling(MEM, self.random.choice([0, 64 << 20, 200 << 20, 512 << 20, 1 << 30]))
        return amounts

    def declared_features(self) -> list[str]:
        """Of a node."""
        return sorted(self.some(_FEATURES))

    def need_features(self, spec: Object) -> None:
        """Let the pod use what only some kubelets can."""
        container = self.random.choice(spec["containers"])
        container["restartPolicy"] = "Never"
        exits = {"operator": "In", "values": [self.random.randint(1, 9)]}
        action = self.random.choice(["Restart", "RestartAllContainers"])
        container["restartPolicyRules"] = [{"action": action, "exitCodes": exits}]
