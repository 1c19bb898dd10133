from pathlib import Path

import pytest

from genrst.errors import UsageError
from genrst.trees.relations import OPEN, detect_inventory, load_glossary, load_inventory


def test_sizes_of_the_published_inventories():
    rstdt, gum = load_inventory("rstdt"), load_inventory("gum")
    # A name of both kinds counts twice.
    rstdt_kinds = [kind for relation in rstdt.relations.values() for kind in relation.kinds]
    assert (len(rstdt.coarse_relations), len(rstdt_kinds), rstdt_kinds.count("multinuc")) == (18, 78, 25)
    assert len(gum.coarse_relations) == 15
    assert sum(len(relation.kinds) for relation in gum.relations.values()) == 32


@pytest.mark.parametrize(
    ("inventory", "name", "coarse"),
    [
        ("rstdt", "Elaboration-object-attribute-e", "elaboration"),
        ("rstdt", "TextualOrganization", "textual"),
        ("rstdt", "manner-means", "manner-means"),
        ("rstdt", "same-unit", "same-unit"),
        ("rstdt", "Never-Seen", "never-seen"),
        ("gum", "adversative-concession", "adversative"),
        ("gum", "same-unit", "same-unit"),
        ("gum", "joint", "joint"),
        ("gum", "causal-new", "causal"),
        ("gum", "unheard-of", "unheard-of"),
        ("open", "Purpose-X", "purpose-x"),
    ],
)
def test_coarse_classes(inventory, name, coarse):
    assert load_inventory(inventory).coarse(name) == coarse


def test_coarse_classes_are_their_own():
    for name in ("rstdt", "gum"):
        inventory = load_inventory(name)
        for coarse in inventory.coarse_relations:
            assert inventory.coarse(coarse) == coarse


def test_an_unknown_inventory_names_the_known_ones():
    with pytest.raises(UsageError, match="one of rstdt, gum, open, got 'pdtb'"):
        load_inventory("pdtb")


@pytest.mark.parametrize(
    ("names", "inventory"),
    [
        (["joint-list", "causal-cause", "same-unit"], "gum"),
        (["joint", "causal", "elaboration"], "gum"),
        (["List", "elaboration-additional-e", "Same-Unit"], "rstdt"),
        (["manner-means", "topic-comment", "elaboration"], "rstdt"),
        (["purpose", "elaboration"], "gum"),
        (["foo", "bar", "elaboration"], "open"),
        ([], "open"),
    ],
)
def test_detection(names, inventory):
    assert detect_inventory(names).name == inventory


def test_the_open_inventory_knows_nothing():
    assert OPEN.coarse_relations == ()
    assert not OPEN.knows("elaboration")


def test_the_glossary_is_that_of_the_docs():
    table = (Path(__file__).parent.parent.parent / "docs" / "concepts" / "relations.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[2:5]] for line in table.splitlines() if line.startswith("| ")]
    glossary = load_glossary()
    documented = {name: (definition, example) for name, definition, example in rows if name not in ("fine", "---")}
    gum = load_inventory("gum")
    assert documented.keys() == gum.relations.keys()
    assert {name: glossary[name] for name in documented} == documented
    assert glossary.keys() == {*gum.relations, *gum.coarse_relations}
