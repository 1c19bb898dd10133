"""The metrics once more, as naively as possible: recursion over nested tuples, spans as numbers of words.

Written from the definitions alone, to check the package against.
"""

from collections.abc import Sequence

from genrst.trees.node import Leaf, Tree

# A leaf is the number of an EDU; a unit is a list of (role, relation, child).
Nested = int | list[tuple[str, str, "Nested"]]


def nested(tree: Tree, rename: dict[str, str]) -> Nested:
    if isinstance(tree, Leaf):
        return tree.edu
    names = [rename.get(name, name) for name in tree.relations]
    children = [nested(child, rename) for child in tree.children]
    return list(zip(tree.nuclearity, names, children, strict=True))


def binary(tree: Nested) -> Nested:
    if isinstance(tree, int):
        return tree
    kids = [(role, relation, binary(child)) for role, relation, child in tree]
    roles = "".join(role for role, _, _ in kids)
    if len(kids) == 2:
        return kids
    if "S" not in roles:
        rest = binary(kids[1:])
        return [kids[0], ("N", kids[0][1], rest)]
    nucleus = roles.index("N")
    left, right = nucleus - 1, nucleus + 1
    whole = kids[nucleus][2]
    while left >= 0 or right < len(kids):
        takes_left = left >= 0 and (right >= len(kids) or nucleus - left <= right - nucleus)
        if takes_left:
            whole = [("S", kids[left][1], kids[left][2]), ("N", "span", whole)]
            left -= 1
        else:
            whole = [("N", "span", whole), ("S", kids[right][1], kids[right][2])]
            right += 1
    return whole


def edus_of(tree: Nested) -> list[int]:
    return [tree] if isinstance(tree, int) else [edu for _, _, child in tree for edu in edus_of(child)]


def words_of(tree: Nested, edus: Sequence[range]) -> tuple[int, int]:
    covered = edus_of(tree)
    return edus[covered[0]].start, edus[covered[-1]].stop


def parseval(tree: Nested, edus: Sequence[range]) -> list[tuple[tuple[int, int], str, str]]:
    if isinstance(tree, int):
        return []
    (left_role, left_relation, left), (right_role, right_relation, right) = tree
    relation = right_relation if (left_role, right_role) == ("N", "S") else left_relation
    here = (words_of(tree, edus), left_role + right_role, relation)
    return [here, *parseval(left, edus), *parseval(right, edus)]


def rst_parseval(tree: Nested, edus: Sequence[range]) -> list[tuple[tuple[int, int], str, str]]:
    if isinstance(tree, int):
        return []
    found = []
    for role, relation, child in tree:
        found.append((words_of(child, edus), role, relation))
        found.extend(rst_parseval(child, edus))
    return found


def project(item: tuple[tuple[int, int], str, str], aspect: str) -> tuple[object, ...]:
    span, nuclearity, relation = item
    return {"S": (span,), "N": (span, nuclearity), "R": (span, relation), "F": (span, nuclearity, relation)}[aspect]


def counts(
    gold: list[tuple[tuple[int, int], str, str]], predicted: list[tuple[tuple[int, int], str, str]], aspect: str
) -> tuple[int, int, int]:
    predicted_items = [project(item, aspect) for item in predicted]
    hits = sum(project(item, aspect) in predicted_items for item in gold)
    return hits, len(gold), len(predicted)
