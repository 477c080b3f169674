"""Where a pod wants to go: selectors, affinity, spread and tolerations."""

from collections.abc import Sequence

from tests.oracle.generator.draws import Object
from tests.oracle.generator.selectors import SelectorDraws
from tests.oracle.generator.vocabulary import APPS, HOST, REGION, TEAMS, VERSIONS, ZONE


class ConstraintDraws(SelectorDraws):
    """Draws of what restricts or prefers nodes."""

    def constraints(self, pod: Object) -> None:
        spec = pod["spec"]
        if self.maybe("nodesel"):
            spec["nodeSelector"] = self.random.choice(
                [{ZONE: "z1"}, {"disk": "ssd"}, {"disk": "hdd", ZONE: "z2"}, {"rack": "k1"}, {"none": ""}]
            )
        affinity: Object = {}
        if self.maybe("nodeaff"):
            affinity["nodeAffinity"] = self.node_affinity()
        if self.maybe("podaff"):
            if self.chance(0.55):
                affinity["podAffinity"] = self.pod_affinity()
            if self.chance(0.65) or not affinity:
                affinity["podAntiAffinity"] = self.pod_affinity()
        if affinity:
            spec["affinity"] = affinity
        if self.maybe("tol"):
            spec["tolerations"] = [self.toleration() for _ in range(self.random.randint(1, 3))]
        if self.maybe("spread"):
            spec["topologySpreadConstraints"] = self.spread(pod)

    def node_term(self) -> Object:
        random = self.random
        expressions: list[Object] = []
        for _ in range(random.choice([0, 1, 1, 2])):
            op = random.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
            if op in ("Gt", "Lt"):
                expressions.append(
                    {
                        "key": random.choice(["size", "size", "disk"]),
                        "operator": op,
                        "values": [random.choice(["0", "5", "9", "007"])],
                    }
                )
                continue
            key, values = random.choice(
                [
                    (ZONE, ["z1", "z2", "z3"]),
                    ("disk", ["ssd", "hdd"]),
                    ("rack", ["k1", "k2"]),
                    ("size", ["1", "big"]),
                    ("none", ["x"]),
                ]
            )
            expression: Object = {"key": key, "operator": op}
            if op in ("In", "NotIn"):
                expression["values"] = self.some(values, 1, 2)
            expressions.append(expression)
        term: Object = {}
        if expressions:
            term["matchExpressions"] = expressions
        if self.chance(0.25):
            term["matchFields"] = [
                {
                    "key": "metadata.name",
                    "operator": random.choice(["In", "In", "NotIn"]),
                    "values": [random.choice([*self.node_names(), "gone"])],
                }
            ]
        return term

    def node_affinity(self) -> Object:
        affinity: Object = {}
        if self.chance(0.6):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {
                "nodeSelectorTerms": [self.node_term() for _ in range(self.random.choice([1, 1, 2, 3]))]
            }
        if self.chance(0.6) or not affinity:
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.choice([1, 1, 10, 50, 100]), "preference": self.node_term()}
                for _ in range(self.random.randint(1, 3))
            ]
        return affinity

    def label_selector(self, avoid: Sequence[str] = ()) -> Object:
        random = self.random
        keys = [(k, v) for k, v in (("app", APPS), ("version", VERSIONS), ("team", TEAMS)) if k not in avoid]
        drawn = random.random()
        if drawn < 0.05:
            return {}
        if drawn < 0.6:
            key, values = random.choice(keys)
            return {"matchLabels": {key: random.choice(values)}}
        expressions: list[Object] = []
        for key, values in self.some(keys, 1, 2):
            operator = random.choice(["In", "In", "NotIn", "Exists", "DoesNotExist"])
            expression: Object = {"key": key, "operator": operator}
            if operator in ("In", "NotIn"):
                expression["values"] = self.some(values, 1, 2)
            expressions.append(expression)
        return {"matchExpressions": expressions}

    def affinity_term(self) -> Object:
        if self.wants("wide"):
            return self.wide_affinity_term()
        random = self.random
        term: Object = {"topologyKey": random.choice([ZONE, ZONE, HOST, HOST, "rack", REGION])}
        keys = []
        if self.chance(0.2):
            keys = [random.choice(["version", "team"])]
        if self.chance(0.95):
            term["labelSelector"] = self.label_selector(avoid=keys)
            if keys:
                term["matchLabelKeys" if self.chance(0.6) else "mismatchLabelKeys"] = keys
        if self.chance(0.3):
            term["namespaces"] = self.some(["default", "a", "b", "gone"], 1, 2)
        if self.chance(0.25):
            term["namespaceSelector"] = random.choice(
                [
                    {},
                    {"matchLabels": {"team": random.choice(TEAMS)}},
                    {"matchExpressions": [{"key": "team", "operator": random.choice(["Exists", "DoesNotExist"])}]},
                    {"matchLabels": {"kubernetes.io/metadata.name": random.choice(["default", "a"])}},
                ]
            )
        return term

    def pod_affinity(self) -> Object:
        affinity: Object = {}
        if self.chance(0.6):
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = [
                self.affinity_term() for _ in range(self.random.choice([1, 1, 2]))
            ]
        if self.chance(0.6) or not affinity:
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": self.random.choice([1, 1, 5, 100]), "podAffinityTerm": self.affinity_term()}
                for _ in range(self.random.choice([1, 1, 2]))
            ]
        return affinity

    def toleration(self) -> Object:
        random = self.random
        toleration: Object = {}
        operator = random.choice(["Equal", "Exists", None])
        if operator == "Exists" and self.chance(0.15):
            toleration["operator"] = "Exists"
        else:
            keys = ["k1", "k2", "dedicated", "example.com/num", "node.kubernetes.io/unschedulable"]
            toleration["key"] = random.choice(keys)
            if operator:
                toleration["operator"] = operator
            if operator != "Exists" and self.chance(0.8):
                toleration["value"] = random.choice(["x", "y", "5"])
        effect = random.choice(["", "NoSchedule", "PreferNoSchedule", "NoExecute"])
        if effect:
            toleration["effect"] = effect
        if effect == "NoExecute" and self.chance(0.4):
            toleration["tolerationSeconds"] = random.choice([0, 300, -1])
        return toleration

    def spread(self, pod: Object) -> list[Object]:
        if self.wants("wide"):
            return self.wide_spread()
        random = self.random
        constraints: list[Object] = []
        seen = set()
        for _ in range(random.choice([1, 1, 2, 3])):
            key = random.choice([ZONE, ZONE, HOST, HOST, "rack", REGION])
            action = random.choice(["DoNotSchedule", "ScheduleAnyway"])
            if (key, action) in seen:
                continue
            seen.add((key, action))
            skew = random.choice([1, 1, 2, 3])
            constraint: Object = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": action}
            keys = [random.choice(["version", "team"])] if self.chance(0.25) else []
            if self.chance(0.93):
                selector = self.label_selector(avoid=keys)
                own = pod["metadata"].get("labels", {}).get("app")
                if own and self.chance(0.6):
                    selector = {"matchLabels": {"app": own}}
                constraint["labelSelector"] = selector
                if keys:
                    constraint["matchLabelKeys"] = keys
            if action == "DoNotSchedule" and self.chance(0.3):
                constraint["minDomains"] = random.choice([1, 2, 3, 4])
            for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
                if self.chance(0.3):
                    constraint[policy] = random.choice(["Honor", "Ignore"])
            constraints.append(constraint)
        return constraints
