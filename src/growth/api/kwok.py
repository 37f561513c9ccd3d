"""The mark by which kwok knows the nodes that it plays; whoever makes such nodes and whoever starts kwok must agree."""

from typing import Final

KWOK_LABEL: Final = "kwok.x-k8s.io/node"
"""kwok plays exactly the nodes with this label. It must be a label: a node that loses it falls silent, which losing an
annotation would not do (kwok 0.8)."""

KWOK_VALUE: Final = "fake"
