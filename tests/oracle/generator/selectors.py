"""Selectors, affinity terms and spread constraints beyond the common ones."""

from tests.oracle.generator.draws import Draws, Object
from tests.oracle.generator.vocabulary import APPS, HOST, REGION, TEAMS, VERSIONS, ZONE

_LABELS = {"app": APPS, "version": VERSIONS, "team": TEAMS, "none": ["x"]}
_TOPOLOGY_KEYS = (ZONE, ZONE, HOST, REGION, "rack", "disk", "size", "none")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class SelectorDraws(Draws):
    """Draws for the profiles that name the rate `wide`."""

    def wide_selector(self, labels: dict[str, list[str]]) -> Object:
        """Labels and expressions together, any number of either, a key more than once."""
        random = self.random
        selector: Object = {}
        if labels and self.chance(0.4):
            keys = self.some(list(labels), 1, 2)
            selector["matchLabels"] = {key: random.choice(labels[key]) for key in keys}
        if labels and self.chance(0.7):
            expressions = []
            for _ in range(random.randint(1, 3)):
                key, operator = random.choice(list(labels)), random.choice(_OPERATORS)
                expression: Object = {"key": key, "operator": operator}
                if operator in ("In", "NotIn"):
                    expression["values"] = self.some([*labels[key], "other"], 1, 3)
                expressions.append(expression)
            selector["matchExpressions"] = expressions
        return selector

    def wide_affinity_term(self) -> Object:
        """With keys of both kinds, and namespaces by list and by selector together."""
        random = self.random
        term: Object = {"topologyKey": random.choice(_TOPOLOGY_KEYS)}
        keys = self.some(["version", "team", "none"], 0, 2) if self.chance(0.5) else []
        if self.chance(0.93):
            free = {key: values for key, values in _LABELS.items() if key not in keys}
            term["labelSelector"] = self.wide_selector(free)
            split = random.randint(0, len(keys))
            for name, some in (("matchLabelKeys", keys[:split]), ("mismatchLabelKeys", keys[split:])):
                if some:
                    term[name] = some
        if self.chance(0.4):
            term["namespaces"] = self.some(["default", "a", "b", "gone"], 1, 3)
        if self.chance(0.5):
            names = {"team": TEAMS, "kubernetes.io/metadata.name": ["default", "a", "b"]}
            term["namespaceSelector"] = self.wide_selector(names)
        return term

    def wide_spread_constraint(self, key: str, action: str) -> Object:
        """With large skews, more domains than there are, and policies."""
        random = self.random
        constraint: Object = {
            "maxSkew": random.choice([1, 1, 2, 4, 2147483647]),
            "topologyKey": key,
            "whenUnsatisfiable": action,
        }
        keys = self.some(["version", "team", "none"], 1, 2) if self.chance(0.4) else []
        if self.chance(0.93):
            free = {label: values for label, values in _LABELS.items() if label not in keys}
            constraint["labelSelector"] = self.wide_selector(free)
            if keys:
                constraint["matchLabelKeys"] = keys
        if action == "DoNotSchedule" and self.chance(0.5):
            constraint["minDomains"] = random.choice([1, 2, 3, 5, 20])
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if self.chance(0.6):
                constraint[policy] = random.choice(["Honor", "Ignore"])
        return constraint

    def wide_spread(self) -> list[Object]:
        """Up to four constraints of different keys."""
        pairs = [(key, action) for key in sorted(set(_TOPOLOGY_KEYS)) for action in ("DoNotSchedule", "ScheduleAnyway")]
        return [self.wide_spread_constraint(key, action) for key, action in self.some(pairs, 1, 4)]
