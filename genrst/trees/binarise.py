"""Convert n-ary trees to binary ones, and back.

Training and scoring both use the binary form, so the rule must be the same everywhere. Nuclei branch to the right, and
every new unit keeps their relation. Then the satellites attach one by one, the nearest first, left before right.
"""

from collections.abc import Sequence

from genrst.trees.node import Tree, Unit, attachment_order, fold, relabel
from genrst.trees.relations import Inventory


def binarise(tree: Tree) -> Tree:
    """Return the binary form of a tree.

        NNN(a, b, c)  becomes  NN(a, NN(b, c))
        SNS(a, b, c)  becomes  NS(SN(a, b), c)

    A satellite between two nuclei, as in some files, attaches first, to the nucleus on its left.
    """
    return fold(tree, lambda leaf: leaf, _binary_unit)


def prepare_tree(tree: Tree, inventory: Inventory) -> Tree:
    """Return the tree in the form that models use: binary and with coarse relations."""
    return binarise(relabel(tree, inventory.coarse))


def _binary_unit(unit: Unit, children: list[Tree]) -> Tree:
    if len(children) == 2:
        return Unit(unit.relation, unit.nuclearity, tuple(children), unit.relations, *unit.certainty)
    relations, nuclei = attach_inner_satellites(unit.nuclearity, unit.relations, children)
    tree = nuclei[-1]
    for relation, nucleus in zip(reversed(relations[:-1]), reversed(nuclei[:-1]), strict=True):
        tree = Unit(relation, "NN", (nucleus, tree))
    for satellite in attachment_order(unit.nuclearity):
        relation = unit.relations[satellite]
        if satellite < unit.nuclearity.index("N"):
            tree = Unit(relation, "SN", (children[satellite], tree))
        else:
            tree = Unit(relation, "NS", (tree, children[satellite]))
    return tree


def attach_inner_satellites(
    nuclearity: str, relations: Sequence[str], children: Sequence[Tree]
) -> tuple[list[str], list[Tree]]:
    """Return the relations and the nuclei, after attaching satellites between two nuclei to the left one."""
    first, stop = nuclearity.index("N"), nuclearity.rindex("N") + 1
    nucleus_relations: list[str] = []
    nuclei: list[Tree] = []
    for letter, relation, child in list(zip(nuclearity, relations, children, strict=True))[first:stop]:
        if letter == "N":
            nucleus_relations.append(relation)
            nuclei.append(child)
        else:
            nuclei[-1] = Unit(relation, "NS", (nuclei[-1], child))
    return nucleus_relations, nuclei


def flatten(tree: Tree) -> Tree:
    """Merge right-branching chains of one multinuclear relation into a single n-ary unit.

    This undoes `binarise` for multinuclear units. A list that was nested in another list is merged as well. Satellites
    that were siblings stay nested.
    """
    return fold(tree, lambda leaf: leaf, _flat_unit)


def _flat_unit(unit: Unit, children: list[Tree]) -> Tree:
    last = children[-1]
    if unit.is_multinuclear and isinstance(last, Unit) and last.is_multinuclear and last.relation == unit.relation:
        merged = (*children[:-1], *last.children)
        relations = (*unit.relations[:-1], *last.relations)
        return Unit(unit.relation, "N" * len(merged), merged, relations, *unit.certainty)
    return Unit(unit.relation, unit.nuclearity, tuple(children), unit.relations, *unit.certainty)


def is_binary(tree: Tree) -> bool:
    """Whether every unit has exactly two children."""
    return fold(tree, lambda leaf: True, lambda unit, parts: len(parts) == 2 and all(parts))
