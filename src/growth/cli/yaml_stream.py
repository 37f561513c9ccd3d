"""Documents as one YAML stream that people read before they apply it."""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml


class _Plain(yaml.SafeDumper):
    """YAML without anchors, and a text of several lines as those lines."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _text(_: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return yaml.ScalarNode("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _text)


def yaml_stream(header: str, documents: Iterable[Mapping[str, Any]]) -> str:
    """The documents in their order, below a comment that says where they come from."""
    return header + "".join(
        "---\n" + yaml.dump(dict(document), Dumper=_Plain, sort_keys=False, width=120) for document in documents
    )
