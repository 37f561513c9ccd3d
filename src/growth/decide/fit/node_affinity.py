"""NodeName and NodeAffinity: which nodes a pod asks for by name, label and required affinity.

nodeSelector and affinity must both hold; the affinity's terms are alternatives. A term that makes no sense (In without
values, Gt of a word) matches nothing and leaves the others in force.
"""

from collections.abc import Callable, Mapping
from typing import Final

from growth.api.pod import Pod, PodSpec, TemplateSpec
from growth.api.reasons import formatting
from growth.api.selectors import (
    NODE_NAME_FIELD,
    NodeSelector,
    NodeSelectorTerm,
    Requirement,
    is_valid,
    is_valid_field,
)
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo

NAME_FILTER: Final = "NodeName"
FILTER: Final = "NodeAffinity"

CONTRADICTION: Final = FilterRefusal(FILTER, "its node affinity asks for two node names at once", is_permanent=True)

Matches = Callable[[Mapping[str, str], str], bool]
"""Whether a node of these labels and this name is meant."""


def required_affinity(spec: PodSpec) -> NodeSelector | None:
    """The affinity that must hold, if there is one."""
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return affinity.required if affinity else None


def matcher(spec: PodSpec) -> Matches | None:
    """nodeSelector and required affinity as one question; None if the pod asks for nothing."""
    return matching(spec.node_selector, required_affinity(spec))


def matching(node_selector: Mapping[str, str], required: NodeSelector | None) -> Matches | None:
    """The same for their two parts."""
    wanted = tuple(node_selector.items())
    if not wanted and required is None:
        return None
    terms = sensible_terms(required) if required is not None else ()

    def matches(labels: Mapping[str, str], name: str) -> bool:
        for key, value in wanted:
            if labels.get(key) != value:
                return False
        return required is None or any(_term_matches(term, labels, name) for term in terms)

    return matches


def sensible_terms(selector: NodeSelector) -> tuple[NodeSelectorTerm, ...]:
    """The terms that can match at all: not empty, and every requirement of them well-formed."""
    return tuple(
        term
        for term in selector.node_selector_terms
        if (term.match_expressions or term.match_fields)
        and all(map(is_valid, term.match_expressions))
        and all(map(is_valid_field, term.match_fields))
    )


def _term_matches(term: NodeSelectorTerm, labels: Mapping[str, str], name: str) -> bool:
    for requirement in term.match_expressions:
        if not requirement.matches(labels):
            return False
    for requirement in term.match_fields:
        # metadata.name is the only field that the scheduler knows; every other one reads as empty.
        value = name if requirement.key == NODE_NAME_FIELD else ""
        if (value in requirement.values) != (requirement.operator == "In"):
            return False
    return True


def contradicts_itself(spec: PodSpec) -> bool:
    """Whether every term pins the node by name, and each to several names at once: then no node is even tried."""
    required = required_affinity(spec)
    terms = required.node_selector_terms if required is not None else ()
    return bool(terms) and all(_pins_to_nobody(term) for term in terms)


def _pins_to_nobody(term: NodeSelectorTerm) -> bool:
    pins = [field.values for field in term.match_fields if _pins(field)]
    return bool(pins) and not any(all(name in other for other in pins) for name in pins[0])


def _pins(field: Requirement) -> bool:
    return field.key == NODE_NAME_FIELD and field.operator == "In"


def prepare_name(pod: Pod) -> Check | None:
    """The check for a pod that names its node itself, as templates of DaemonSets may; None if it names none."""
    wanted = pod.node_name or (pod.spec.node_name if isinstance(pod.spec, TemplateSpec) else "")
    if not wanted:
        return None
    misfit = FilterRefusal(NAME_FILTER, f"asks for the node {wanted} by name", is_permanent=True)
    return lambda node_info: None if node_info.name == wanted else misfit


def prepare(spec: PodSpec) -> Check | None:
    """The check for nodeSelector and required affinity; None if there are none."""
    matches = matcher(spec)
    if matches is None:
        return None
    ask = matches

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        return (
            None
            if ask(node_info.labels, node_info.name)
            else FilterRefusal(FILTER, _reason(spec, node_info), is_permanent=True)
        )

    return check


def _reason(spec: PodSpec, node_info: NodeInfo) -> str:
    for key, value in spec.node_selector.items():
        if node_info.labels.get(key) != value:
            return f"needs a node with {key}={value}; this one has {formatting.label(node_info.labels, key)}"
    required = required_affinity(spec)
    terms = required.node_selector_terms if required else ()
    if len(terms) != 1:
        return f"none of the {len(terms)} terms of its node affinity matches the node"
    term = terms[0]
    for requirement in term.match_expressions:
        if not (is_valid(requirement) and requirement.matches(node_info.labels)):
            return (
                f"needs a node with {formatting.requirement(requirement)}; "
                f"this one has {formatting.label(node_info.labels, requirement.key)}"
            )
    if term.match_fields:
        wanted = " and ".join(map(formatting.requirement, term.match_fields))
        return f"needs a node with {wanted}; this one is {node_info.name}"
    return "its node affinity has an empty term, which matches no node"
