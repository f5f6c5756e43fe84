"""Which parts of a YAML file are there for others: `x-shared: &shared`, and `*shared` elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import yaml


def keys_that_lend(root: yaml.Node) -> frozenset[str]:
    """The keys at the top whose value, or a part of it, an alias under a later key stands for."""
    owners: dict[int, str] = {}
    lenders = set[str]()
    if isinstance(root.value, str):
        return frozenset()
    for pair in cast("list[object]", root.value):
        if not isinstance(pair, tuple):
            continue
        key_node, value_node = cast("tuple[yaml.Node, yaml.Node]", pair)
        key, waiting = str(key_node.value), [value_node]
        while waiting:
            node = waiting.pop()
            owner = owners.setdefault(id(node), key)
            if owner != key:
                lenders.add(owner)
            elif not isinstance(node.value, str):
                for item in cast("list[yaml.Node | tuple[yaml.Node, yaml.Node]]", node.value):
                    waiting += item if isinstance(item, tuple) else (item,)
    return frozenset(lenders)
