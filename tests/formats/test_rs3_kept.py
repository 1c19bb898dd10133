"""Files that others open: menus of all relations, and what a file of rstWeb has beside its tree."""

import re
from pathlib import Path

import pytest

from genrst.document import Document
from genrst.formats.json_format import read_json, write_json
from genrst.formats.rs3_kept import KEY
from genrst.formats.rs3_reader import read_rs3
from genrst.formats.rs3_writer import write_rs3, write_rs4
from genrst.trees.node import Leaf, Unit, relabel
from genrst.trees.relations import load_inventory

PATH = Path("sample.rs4")

FILE = """<rst>
	<header>
		<encoding name="UTF-8"/>
		<!-- by Ann -->
		<relations>
			<rel name="why" type="rst" colour="red"/>
			<rel name="joint" type="multinuc"/>
			<rel name="never" type="rst"/>
		</relations>
		<sigtypes>
			<sig type="dm" subtypes="dm;other"/>
		</sigtypes>
	</header>
	<body>
		<segment id="s1" parent="40" relname="joint" who="Ann">One,</segment>
		<segment id="s2" parent="40" relname="joint">two,</segment>
		<segment id="17" parent="40" relname="why">three.</segment>
		<group id="9" type="span"/>
		<group id="40" type="multinuc" parent="9" relname="span" checked="yes"/>
		<secedges>
			<secedge id="s1-17" source="s1" target="17" relname="why" sure="no"/>
		</secedges>
		<signals>
			<signal source="s1" type="dm" subtype="dm" tokens="1" by="Bob"/>
		</signals>
		<note>kept</note>
		<!-- the end -->
	</body>
</rst>
"""
# Text outside of segments is refused, as ever.
FILE = FILE.replace("<note>kept</note>", '<note text="kept"/>')


def test_a_file_comes_back_with_all_that_we_do_not_understand():
    document = read_rs3(FILE.encode(), PATH)
    assert write_rs4(document).splitlines() == FILE.splitlines()
    (through_json,) = read_json(write_json(document).encode(), PATH)
    assert write_rs4(through_json) == FILE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        # Groups in another order, as rstWeb writes them after edits.
        (
            '<group id="9" type="span"/>\n\t\t<group id="40" type="multinuc" parent="9" relname="span" checked="yes"/>',
            '<group id="40" type="multinuc" parent="9" relname="span"/>\n\t\t<group id="9" type="span"/>',
        ),
        # Two groups around the same EDUs.
        (
            '<group id="9" type="span"/>',
            '<group id="9" type="span" parent="8" relname="span"/><group id="8" type="span"/>',
        ),
        # A unit inside a node: no group stands for it.
        ('<segment id="17" parent="40"', '<segment id="17" parent="s2"'),
        # Ids that our own numbers would take.
        ("17", "2"),
        # A subtype that the menu lacks.
        ('subtype="dm" tokens', 'subtype="new" tokens'),
    ],
)
def test_what_is_written_reads_the_same(old: str, new: str):
    assert old in FILE
    document = read_rs3((FILE.replace(old, new) if old else FILE).encode(), PATH)
    assert read_rs3(write_rs4(document).encode(), PATH) == document


def test_another_tree_keeps_the_ids_of_what_it_has_in_common():
    document = read_rs3(FILE.encode(), PATH)
    tree = Unit("why", "NS", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    text = write_rs3(Document("sample", document.text, document.edus, tree, metadata=document.metadata))
    assert re.findall('<segment id="(.*?)"', text) == ["s1", "s2", "17"]
    assert '<segment id="s1" parent="9" relname="span" who="Ann">' in text
    ids = re.findall(' id="(.*?)"', text)
    assert len(ids) == len(set(ids))
    assert read_rs3(text.encode(), PATH).tree == tree
    assert '<rel name="never" type="rst"/>' in text


def test_edus_keep_what_is_theirs_where_no_tree_is_read():
    """As `genrst parse` reads a file, which may have a broken tree; relations are those of the new one."""
    document = read_rs3(FILE.encode(), PATH, with_tree=False)
    tree = Unit("causal", "NS", (Leaf(0), Unit("joint", "NN", (Leaf(1), Leaf(2)))))
    text = write_rs3(Document("sample", document.text, document.edus, tree, metadata=document.metadata))
    assert re.findall('<segment id="(.*?)"', text) == ["s1", "s2", "17"]
    assert 'relname="span" who="Ann">One,' in text
    assert text.count("<!-- by Ann -->") == text.count('<note text="kept"/>') == 1
    assert '"never"' not in text
    assert read_rs3(text.encode(), PATH).tree == tree


@pytest.mark.parametrize(
    "junk", ["{", "[]", "1", '{"segments": 5}', '{"segments": [[1, 2]]}', '{"groups": [[0, 2, "7", {"a": 1}]]}']
)
def test_junk_in_the_metadata_is_nothing(junk: str):
    tree = Unit("why", "NS", (Leaf(0), Leaf(1)))
    plain = Document.from_edus("sample", ["One,", "two."], tree)
    assert write_rs3(Document("sample", plain.text, plain.edus, tree, metadata={KEY: junk})) == write_rs3(plain)


GUM = load_inventory("gum")
FINE = Unit("causal-cause", "NS", (Leaf(0), Unit("joint-list", "NN", (Leaf(1), Leaf(2)))))


def menu(text: str) -> set[tuple[str, str]]:
    return set(re.findall('<rel name="(.*?)" type="(.*?)"', text))


def test_the_header_names_all_relations_of_the_inventory():
    fine = Document.from_edus("sample", ["a", "b", "c"], FINE)
    coarse = Document.from_edus("sample", ["a", "b", "c"], relabel(FINE, GUM.coarse))
    relations = GUM.relations.values()
    assert menu(write_rs3(fine)) == {(one.name, kind) for one in relations for kind in one.kinds}
    assert menu(write_rs4(coarse)) == {(one.coarse, kind) for one in relations for kind in one.kinds}


@pytest.mark.parametrize("tree", [None, Unit("why", "NS", (Leaf(0), Leaf(1)))])
def test_there_is_always_a_multinuclear_relation(tree: Unit | None):
    """rstWeb fails without one."""
    assert ("joint", "multinuc") in menu(write_rs3(Document.from_edus("sample", ["a", "b"], tree)))
