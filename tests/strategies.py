"""One home for what hypothesis may draw, so that every property speaks of the same world."""

import string
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from growth.api.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from growth.api.tolerations import Taint, Toleration

DECIMAL_SUFFIXES = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
BINARY_SUFFIXES = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

_digits = st.text(string.digits, min_size=1, max_size=12)
_exponents = st.builds("{}{}".format, st.sampled_from("eE"), st.integers(-12, 12))
_suffixes = st.one_of(st.sampled_from(DECIMAL_SUFFIXES + BINARY_SUFFIXES), _exponents)
_numbers = st.one_of(_digits, st.builds("{}.{}".format, _digits, _digits))

quantities: SearchStrategy[str] = st.builds("{}{}{}".format, st.sampled_from(("", "+", "-")), _numbers, _suffixes)
positive_quantities: SearchStrategy[str] = st.builds("{}{}".format, _numbers, _suffixes)

durations: SearchStrategy[timedelta] = st.timedeltas(timedelta(days=-3650), timedelta(days=3650))
instants: SearchStrategy[datetime] = st.datetimes(
    datetime(1, 1, 2),  # noqa: DTZ001 - hypothesis wants naive bounds
    datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.just(UTC),
)

# Few keys and values, so that selectors and labels meet.
label_keys: SearchStrategy[str] = st.sampled_from(("a", "b", "zone", "example.org/tier", "in"))
label_values: SearchStrategy[str] = st.sampled_from(("", "1", "2", "10", "x", "notin"))
labels: SearchStrategy[dict[str, str]] = st.dictionaries(label_keys, label_values)

_some_values = st.lists(label_values, min_size=1, max_size=3, unique=True).map(tuple)
_no_values: SearchStrategy[tuple[str, ...]] = st.just(())
label_requirements: SearchStrategy[Requirement] = st.one_of(
    st.builds(Requirement, label_keys, st.sampled_from(("In", "NotIn")), _some_values),
    st.builds(Requirement, label_keys, st.sampled_from(("Exists", "DoesNotExist")), _no_values),
)
node_requirements: SearchStrategy[Requirement] = st.one_of(
    label_requirements,
    st.builds(Requirement, label_keys, st.sampled_from(("Gt", "Lt")), st.integers(-5, 20).map(lambda n: (str(n),))),
)
invalid_requirements: SearchStrategy[Requirement] = st.one_of(
    st.builds(Requirement, label_keys, st.sampled_from(("In", "NotIn", "Gt", "Lt", "Near")), _no_values),
    st.builds(Requirement, label_keys, st.sampled_from(("Exists", "DoesNotExist")), _some_values),
    st.builds(Requirement, st.just("-no key-"), st.just("DoesNotExist"), _no_values),
    st.builds(Requirement, label_keys, st.sampled_from(("Gt", "Lt")), st.just(("many",))),
)
label_selectors: SearchStrategy[LabelSelector] = st.builds(
    LabelSelector, labels, st.lists(label_requirements, max_size=3).map(tuple)
)
node_terms: SearchStrategy[NodeSelectorTerm] = st.builds(
    NodeSelectorTerm, st.lists(node_requirements, max_size=3).map(tuple)
)
node_selectors: SearchStrategy[NodeSelector] = st.builds(NodeSelector, st.lists(node_terms, max_size=3).map(tuple))

_taint_keys = st.sampled_from(("a", "b"))
_taint_values = st.sampled_from(("", "x"))
_effects = st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule"))
taints: SearchStrategy[Taint] = st.builds(Taint, _taint_keys, _taint_values, _effects)
tolerations: SearchStrategy[Toleration] = st.builds(
    Toleration,
    st.one_of(st.just(""), _taint_keys),
    st.sampled_from(("", "Equal", "Exists", "Gt", "Lt")),
    _taint_values,
    st.one_of(st.just(""), _effects),
)
