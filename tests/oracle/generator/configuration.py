"""Configurations other than the default."""

from typing import Any

from tests.oracle.generator.draws import Draws, Object
from tests.oracle.generator.vocabulary import FOO, GPU, HOST, ZONE

_MAY_BE_OFF = (
    "ImageLocality",
    "TaintToleration",
    "NodeResourcesBalancedAllocation",
    "PodTopologySpread",
    "InterPodAffinity",
    "DefaultPreemption",
)
_SCORING = (
    "ImageLocality",
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "PodTopologySpread",
    "InterPodAffinity",
)
_FILTERING = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "PodTopologySpread",
    "InterPodAffinity",
)


class ConfigurationDraws(Draws):
    """Draws of a KubeSchedulerConfiguration."""

    def make_config(self) -> Object:
        if self.wants("configs"):
            names = ["default-scheduler", *self.some(["second", "other"])]
            return {"profiles": [self._wide_profile(name) for name in names]}
        args = self._plugin_args()
        profile: Object = {"schedulerName": "default-scheduler"}
        if args:
            profile["pluginConfig"] = args
        if self.chance(0.3):
            self._switch_plugins(profile, args)
        profiles = [profile]
        if self.chance(0.4):
            profiles.append({"schedulerName": "second", "plugins": {"score": {"disabled": [{"name": "*"}]}}})
        return {"profiles": profiles}

    def _plugin_args(self) -> list[Object]:
        random = self.random
        args = self._fit_args()
        if self.chance(0.3):
            weight = random.choice([0, 1, 50, 100])
            args.append(_args("InterPodAffinity", hardPodAffinityWeight=weight,
                              ignorePreferredTermsOfExistingPods=self.chance(0.4)))  # fmt: skip
        if self.chance(0.3):
            constraints = random.choice(
                [
                    [],
                    [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}],
                    [
                        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"},
                        {"maxSkew": 2, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"},
                    ],
                ]
            )
            args.append(_args("PodTopologySpread", defaultingType="List", defaultConstraints=constraints))
        if self.chance(0.2):
            terms = [{"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}]
            added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
            args.append(_args("NodeAffinity", addedAffinity=added))
        if self.chance(0.15):
            percentage = random.choice([10, 50])
            args.append(_args("DefaultPreemption", minCandidateNodesPercentage=percentage,
                              minCandidateNodesAbsolute=random.choice([1, 2])))  # fmt: skip
        if self.chance(0.2):
            resources = [{"name": "cpu", "weight": 1}, {"name": GPU, "weight": 1}]
            args.append(_args("NodeResourcesBalancedAllocation", resources=resources))
        return args

    def _fit_args(self) -> list[Object]:
        random = self.random
        drawn = random.random()
        if drawn < 0.25:
            resources = [
                {"name": "cpu", "weight": random.choice([1, 3])},
                {"name": "memory", "weight": 1},
                {"name": GPU, "weight": 2},
            ]
            strategy: Object = {"type": "MostAllocated", "resources": resources}
            return [_args("NodeResourcesFit", scoringStrategy=strategy)]
        if drawn < 0.5:
            shape = [
                {"utilization": 0, "score": random.choice([0, 10])},
                {"utilization": 50, "score": 5},
                {"utilization": 100, "score": random.choice([0, 10])},
            ]
            strategy = {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "cpu", "weight": 2}, {"name": "memory", "weight": 1}],
                "requestedToCapacityRatio": {"shape": shape},
            }
            return [_args("NodeResourcesFit", scoringStrategy=strategy)]
        if drawn < 0.6:
            groups = random.choice([[], ["example.com"]])
            return [_args("NodeResourcesFit", ignoredResources=[FOO], ignoredResourceGroups=groups)]
        return []

    def _switch_plugins(self, profile: Object, args: list[Object]) -> None:
        gone = self.some(_MAY_BE_OFF, 1, 2)
        plugins: Object = {"multiPoint": {"disabled": [{"name": name} for name in gone]}}
        if self.chance(0.5):
            plugins["score"] = {
                "disabled": [{"name": "NodeResourcesFit"}],
                "enabled": [{"name": "NodeResourcesFit", "weight": self.random.choice([2, 7])}],
            }
        profile.pop("pluginConfig", None)
        if kept := [entry for entry in args if entry["name"] not in gone]:
            profile["pluginConfig"] = kept
        profile["plugins"] = plugins

    def _wide_profile(self, name: str) -> Object:
        """Plugins switched and weighed at single points and at all of them together."""
        random = self.random
        profile: Object = {"schedulerName": name}
        if args := self._plugin_args():
            profile["pluginConfig"] = args
        plugins: Object = {}
        if self.chance(0.4):
            weighed = self.some(_SCORING, 1, 3)
            plugins["score"] = {
                "disabled": [{"name": plugin} for plugin in (weighed if self.chance(0.7) else ["*"])],
                "enabled": [{"name": plugin, "weight": random.choice([1, 2, 3, 10, 100])} for plugin in weighed],
            }
        if self.chance(0.3):
            weighed = self.some(_SCORING, 1, 2)
            enabled = [{"name": plugin, "weight": random.choice([1, 5, 20])} for plugin in weighed]
            plugins["multiPoint"] = {"disabled": [{"name": plugin} for plugin in weighed], "enabled": enabled}
        if self.chance(0.3):
            plugins["filter"] = {"disabled": [{"name": plugin} for plugin in self.some(_FILTERING, 1, 2)]}
        if self.chance(0.2):
            plugins["preScore"] = {"disabled": [{"name": "*"}]}
            plugins["score"] = {"disabled": [{"name": "*"}]}
        if plugins:
            profile["plugins"] = plugins
        return profile


def _args(plugin: str, **fields: Any) -> Object:
    typed = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{plugin}Args", **fields}
    return {"name": plugin, "args": typed}
