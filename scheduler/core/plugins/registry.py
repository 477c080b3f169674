"""The in-tree plugins by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from scheduler.config.plugin_args import (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)
from scheduler.core.framework.registry import PluginFactory
from scheduler.core.plugins.default_binder import DefaultBinder
from scheduler.core.plugins.default_preemption import DefaultPreemption
from scheduler.core.plugins.image_locality import ImageLocality
from scheduler.core.plugins.inter_pod_affinity import InterPodAffinity
from scheduler.core.plugins.node_affinity import NodeAffinity
from scheduler.core.plugins.node_declared_features import NodeDeclaredFeatures
from scheduler.core.plugins.node_name import NodeName
from scheduler.core.plugins.node_ports import NodePorts
from scheduler.core.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from scheduler.core.plugins.node_resources_fit import NodeResourcesFit
from scheduler.core.plugins.node_unschedulable import NodeUnschedulable
from scheduler.core.plugins.node_volume_limits import NodeVolumeLimits
from scheduler.core.plugins.pod_topology_spread import PodTopologySpread
from scheduler.core.plugins.priority_sort import PrioritySort
from scheduler.core.plugins.scheduling_gates import SchedulingGates
from scheduler.core.plugins.taint_toleration import TaintToleration
from scheduler.core.plugins.volume_binding import VolumeBinding
from scheduler.core.plugins.volume_restrictions import VolumeRestrictions
from scheduler.core.plugins.volume_zone import VolumeZone

A = TypeVar("A")


def _args(kind: type[A], args: object | None) -> A:
    """The given args, or the type's defaults."""
    return args if isinstance(args, kind) else kind()


IN_TREE: Final[Mapping[str, PluginFactory]] = MappingProxyType(
    {
        SchedulingGates.name: lambda args, handle: SchedulingGates(),
        PrioritySort.name: lambda args, handle: PrioritySort(),
        NodeName.name: lambda args, handle: NodeName(),
        NodeUnschedulable.name: lambda args, handle: NodeUnschedulable(),
        TaintToleration.name: lambda args, handle: TaintToleration(),
        NodeAffinity.name: lambda args, handle: NodeAffinity(_args(NodeAffinityArgs, args)),
        NodePorts.name: lambda args, handle: NodePorts(),
        NodeResourcesFit.name: lambda args, handle: NodeResourcesFit(_args(NodeResourcesFitArgs, args), handle.cluster),
        VolumeRestrictions.name: lambda args, handle: VolumeRestrictions(),
        NodeVolumeLimits.name: lambda args, handle: NodeVolumeLimits(),
        VolumeBinding.name: lambda args, handle: VolumeBinding(_args(VolumeBindingArgs, args), handle),
        VolumeZone.name: lambda args, handle: VolumeZone(),
        PodTopologySpread.name: lambda args, handle: PodTopologySpread(_args(PodTopologySpreadArgs, args), handle),
        InterPodAffinity.name: lambda args, handle: InterPodAffinity(_args(InterPodAffinityArgs, args), handle.cluster),
        DefaultPreemption.name: lambda args, handle: DefaultPreemption(_args(DefaultPreemptionArgs, args)),
        NodeResourcesBalancedAllocation.name: lambda args, handle: NodeResourcesBalancedAllocation(
            _args(NodeResourcesBalancedAllocationArgs, args)
        ),
        ImageLocality.name: lambda args, handle: ImageLocality(),
        DefaultBinder.name: lambda args, handle: DefaultBinder(handle.binder),
        NodeDeclaredFeatures.name: lambda args, handle: NodeDeclaredFeatures(),
    }
)
