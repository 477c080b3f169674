"""Volumes and claims beyond the common ones."""

from tests.oracle.generator.draws import Draws, Object
from tests.oracle.generator.vocabulary import HOST, REGION, ZONE

_TIERS = ["gold", "silver"]
_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany")


class WideStorageDraws(Draws):
    """Draws for the profiles that name the rate `widevol`."""

    def widen_claim(self, claim: Object) -> None:
        """A claim that waits asks for labels, several modes, a raw device or another size."""
        random, spec = self.random, claim["spec"]
        if self.chance(0.3):
            spec["selector"] = random.choice(
                [
                    {"matchLabels": {"tier": random.choice(_TIERS)}},
                    {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]},
                    {"matchExpressions": [{"key": "tier", "operator": random.choice(["Exists", "DoesNotExist"])}]},
                    {},
                ]
            )
        if self.chance(0.3):
            spec["accessModes"] = self.some(_MODES, 1, 2)
        if self.chance(0.2):
            spec["volumeMode"] = "Block"
        if self.chance(0.3):
            spec["resources"]["requests"]["storage"] = random.choice(["500Mi", "1G", "3Gi", "10Gi", "200Gi"])

    def widen_volume(self, volume: Object, zones: list[str]) -> None:
        """A volume with a tier, several modes, as a raw device, or with more places where it can be reached."""
        random, spec = self.random, volume["spec"]
        if self.chance(0.5):
            volume["metadata"].setdefault("labels", {})["tier"] = random.choice(_TIERS)
        if self.chance(0.3) and "claimRef" not in spec:
            spec["accessModes"] = self.some(_MODES, 1, 3)
        if self.chance(0.2):
            spec["volumeMode"] = "Block"
        if self.chance(0.3):
            terms = [{"matchExpressions": self._expressions(zones)} for _ in range(random.randint(1, 2))]
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        if self.chance(0.2):
            volume["metadata"].setdefault("labels", {})[REGION] = random.choice(["r1", "r2", "r1__r2"])

    def _expressions(self, zones: list[str]) -> list[Object]:
        expressions: list[Object] = []
        for _ in range(self.random.randint(1, 2)):
            operator = self.random.choice(["In", "NotIn", "Exists", "DoesNotExist"])
            key = self.random.choice([ZONE, REGION, HOST, "disk"])
            values = {ZONE: zones, REGION: ["r1", "r2"], HOST: self.node_names(), "disk": ["ssd", "hdd"]}[key]
            expression: Object = {"key": key, "operator": operator}
            if operator in ("In", "NotIn"):
                expression["values"] = self.some(values, 1, 2)
            expressions.append(expression)
        return expressions

    def allowed_topologies(self, zones: list[str]) -> list[Object]:
        """Of a storage class: alternatives of one or two keys."""
        terms: list[Object] = []
        for _ in range(self.random.randint(1, 2)):
            expressions = [{"key": ZONE, "values": sorted(self.some(zones, 1, 2))}]
            if self.chance(0.4):
                expressions.append({"key": REGION, "values": sorted(self.some(["r1", "r2"], 1, 2))})
            if (term := {"matchLabelExpressions": expressions}) not in terms:
                terms.append(term)
        return terms
