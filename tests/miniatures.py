"""Tiny corpora in the layouts of real ones, written into a folder for a test. All texts are invented."""

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from genrst.document import Document, SecondaryEdge, Signal
from genrst.formats.dis import write_dis
from genrst.formats.plain import write_edus
from genrst.formats.rs3_writer import write_rs3, write_rs4
from genrst.trees.node import Leaf, Tree, Unit

HARBOR_CONLLU = """
# newdoc id = GUM_news_harbor
# newpar
# newpar_block = head (1 s)
# sent_id = GUM_news_harbor-1
1 The DT 3 det Discourse=organization-heading:1->2|Entity=(1-place-new
2 Old JJ 3 amod _
3 Harbor NNP 0 root Entity=1)

# newpar
# newpar_block = sp (2 s) | p (2 s)
# speaker = Ada
1-2 Ada's _ _ _ _
1 Ada NNP 3 nmod Discourse=adversative-contrast_m:2->0|Entity=(2-object-new(3-person-new
2 's POS 1 case Entity=3)
3 boat NN 4 nsubj Entity=2)
4 sank VBD 0 root SpaceAfter=No
5 , , 4 punct _
6 but CC 10 cc Discourse=adversative-contrast_m:3->2
7 she PRP 10 nsubj Entity=(3-person-giv)
8-9 didn't _ _ _ _
8 did VBD 10 aux SpaceAfter=No
9 n't RB 10 advmod _
10 drown VB 4 conj SpaceAfter=No
10.1 swam VBD _ _ _
11 . . 4 punct _

# speaker = Ben
1 Really UH 0 root SpaceAfter=No|Discourse=evaluation-comment:4->2
2 ? . 1 punct _
"""
HARBOR_TEXT = "The Old Harbor\n\nAda's boat sank, but she didn't drown. Really?"
HARBOR_EDUS = ["The Old Harbor", "Ada 's boat sank ,", "but she did n't drown .", "Really ?"]
HARBOR_TREE = Unit(
    "organization-heading",
    "SN",
    (
        Leaf(0),
        Unit("evaluation-comment", "NS", (Unit("adversative-contrast", "NN", (Leaf(1), Leaf(2))), Leaf(3))),
    ),
)
GUM_SPLITS = {
    "GUM_news_harbor": "train",
    "GUM_reddit_cats": "train",
    "GUM_fiction_lamp": "dev",
    "GUM_court_ferry": "test",
    "GUM_essay_moss": "test",
}
RENAMED = {"GUM_conversation_ferry": "GUM_court_ferry"}
"""By its name in version 9.1, the document that has another one in 11.1."""

WORDS = ["amber", "bells", "(carry)", "distant", "echoes,", "“foxes”", "glide;", "idle_", "knots", "[linger]", "open"]
RELATIONS = ("elaboration-additional", "Contrast", "attribution")


def conllu(table: str) -> bytes:
    """A CoNLL-U file from lines of id, form, tag, head, relation and last column, apart by spaces."""
    lines = []
    for line in table.strip().split("\n"):
        if line and not line.startswith("#"):
            identifier, form, tag, head, deprel, misc = line.split()
            line = "\t".join([identifier, form, "_", "_", tag, "_", head, deprel, "_", misc])
        lines.append(line)
    return ("\n".join(lines) + "\n\n").encode()


def right_branching(n_edus: int, chance: random.Random | None = None) -> Tree:
    """A tree over so many EDUs, its relations and nuclearities drawn at random."""
    chance = chance or random.Random(0)
    tree: Tree = Leaf(n_edus - 1)
    for edu in reversed(range(n_edus - 1)):
        tree = Unit(chance.choice(RELATIONS), chance.choice(["NS", "SN", "NN"]), (Leaf(edu), tree))
    return tree


def write_gum(folder: Path) -> Path:
    """GUM: five documents, one of them without text, in the splits of two releases."""
    for part in ("rs4", "conllu"):
        (folder / part).mkdir(parents=True)
    _write_gum_document(folder, "GUM_news_harbor", HARBOR_CONLLU, HARBOR_EDUS, HARBOR_TREE)
    for number, name in enumerate(name for name in GUM_SPLITS if name != "GUM_news_harbor"):
        words = ["_" * 3] * 6 if "reddit" in name else random.Random(name).sample(WORDS, 6)
        sentences = _sentence(words[:4], [0, 2]), _sentence(words[4:], [0])
        table = f"# newpar\n{sentences[0]}\n# speaker = Speaker{number}\n{sentences[1]}"
        # As in GUM, the lines that stand for words are not always equally long in the two files.
        edus = [" ".join(words[at : at + 2]).replace("___", "_____") for at in (0, 2, 4)]
        _write_gum_document(folder, name, table, edus, right_branching(3))
    names = {_old_name(name): name for name in GUM_SPLITS if name != "GUM_essay_moss"}
    rows = [[name, split, _has_text(name)] for name, split in GUM_SPLITS.items()]
    _write_rows(folder / "splits.tsv", [["doc", "split", "text"], *rows])
    rows = [[old, GUM_SPLITS[new], _has_text(new), new] for old, new in names.items()]
    _write_rows(folder / "splits_v9.1.tsv", [["doc", "split", "text", "v11_name"], *rows])
    return folder


def write_gum_clone(folder: Path) -> Path:
    """GUM as it is published: the same documents, and one out of domain, which has a split of its own."""
    write_gum(folder)
    words = ["Tides", "rise"]
    _write_gum_document(folder, "GENTLE_poetry_tide", _sentence(words, [0, 1]), words, right_branching(2))
    (folder / "rst").mkdir()
    (folder / "rs4").rename(folder / "rst" / "rstweb")
    (folder / "conllu").rename(folder / "dep")
    (folder / "splits_v9.1.tsv").unlink()
    (folder / "splits.tsv").unlink()
    items: dict[str, list[str]] = {"test2": ["  * GENTLE_poetry_tide\n"]}
    for name, split in GUM_SPLITS.items():
        items.setdefault(split, []).append(f"  * {name}\n")
    lists = [f"## {split}\n\n{''.join(items[split])}\n" for split in sorted(items)]
    (folder / "splits.md").write_text(f"# Splits\n\nWords about\n * splits\n\n{''.join(lists)}", encoding="utf-8")
    # The same trees are there once more, as brackets.
    (folder / "rst" / "lisp_nary").mkdir()
    document = Document.from_edus("GUM_news_harbor", HARBOR_EDUS, HARBOR_TREE)
    (folder / "rst" / "lisp_nary" / "GUM_news_harbor.dis").write_text(write_dis(document), encoding="utf-8")
    return folder


def _old_name(name: str) -> str:
    return next((old for old, new in RENAMED.items() if new == name), name)


def _has_text(name: str) -> str:
    return "no" if "reddit" in name else "yes"


def _sentence(words: Sequence[str], edu_starts: Sequence[int]) -> str:
    rows = [
        f"{number} {word} X {number - 1} dep {'Discourse=x' if number - 1 in edu_starts else '_'}\n"
        for number, word in enumerate(words, start=1)
    ]
    return "".join(rows)


def _write_gum_document(folder: Path, name: str, table: str, edus: Sequence[str], tree: Tree) -> None:
    document = Document.from_edus(name, edus, tree)
    signal = Signal((0, 1), "dm", "dm", (1,))
    edge = SecondaryEdge((1, 2), (0, 1), "elaboration-additional")
    document = Document(name, document.text, document.edus, tree, signals=(signal,), secondary_edges=(edge,))
    (folder / "rs4" / f"{name}.rs4").write_text(write_rs4(document), encoding="utf-8")
    (folder / "conllu" / f"{name}.conllu").write_bytes(conllu(table))


def _write_rows(path: Path, rows: Sequence[Sequence[str]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


def write_rstdt(folder: Path, n_training: int = 30, n_test: int = 3) -> Path:
    """RST-DT as the LDC ships it: texts, trees and EDUs beside each other, two names of another kind among them."""
    main = folder / "RSTtrees-WSJ-main-1.0"
    names = ["file1", "file2", *(f"wsj_{number:04}.out" for number in range(601, 601 + n_training + n_test - 2))]
    for number, name in enumerate(names):
        part = main / ("TRAINING" if number < n_training else "TEST")
        part.mkdir(parents=True, exist_ok=True)
        _write_rstdt_document(part, name, random.Random(name))
    return folder


def _write_rstdt_document(folder: Path, name: str, chance: random.Random) -> None:
    """A text of paragraphs, sentences and EDUs; the tree file has the same words in other white space."""
    paragraphs = [
        [
            [" ".join(chance.choices(WORDS, k=chance.randint(1, 5))) for _ in range(chance.randint(1, 3))]
            for _ in range(2)
        ]
        for _ in range(chance.randint(1, 3))
    ]
    text = "\n\n".join("\n".join(f"  {' '.join(sentence)}" for sentence in paragraph) for paragraph in paragraphs)
    edus = [edu for paragraph in paragraphs for sentence in paragraph for edu in sentence]
    starts = {sum(len(sentence) for earlier in paragraphs[:n] for sentence in earlier) for n in range(len(paragraphs))}
    document = Document.from_edus(name, edus, right_branching(len(edus), chance), starts)
    (folder / name).write_text(text + "\n\n", encoding="utf-8")
    (folder / f"{name}.dis").write_text(write_dis(document), encoding="utf-8")
    (folder / f"{name}.edus").write_text(write_edus(document), encoding="utf-8")


def amalgum_record(**changes: Any) -> dict[str, Any]:
    """A record of AMALGUM: two paragraphs, three sentences, four EDUs."""
    return {
        "id": "AMALGUM_news_owl",
        "genre": "news",
        "licence": "CC0",
        "part": "balanced",
        "spacing": "source",
        "repaired": False,
        "tokens": [
            [["Owl", "NN", 2, "nsubj", 1], ["returns", "VBZ", 0, "root", 1]],
            [
                ["It", "PRP", 2, "nsubj", 1],
                ["left", "VBD", 0, "root", 0],
                [",", ",", 2, "punct", 1],
                ["so", "RB", 2, "advmod", 1],
            ],
            [["Odd", "JJ", 0, "root", 0], ["!", ".", 1, "punct", 1]],
        ],
        "paragraphs": [0, 1],
        "paragraph_types": ["head", ""],
        "edus": [[0, 2], [2, 5], [5, 6], [6, 8]],
        "tree": ["preparation", "SN", [0, ["restatement", "NNN", [1, 2, 3]]]],
        **changes,
    }


AMALGUM_TEXT = "Owl returns\n\nIt left, so Odd!"


def write_amalgum(folder: Path) -> Path:
    """AMALGUM in its compact form: two genres, three documents."""
    folder.mkdir(exist_ok=True)
    tree = ["unknown", "NS", [["restatement", "SN", [0, 1]], ["same_unit", "NN", [2, 3]]]]
    write_records(folder / "news.jsonl.gz", [amalgum_record()])
    bio = [amalgum_record(id="AMALGUM_bio_a", genre="bio", tree=tree), amalgum_record(id="AMALGUM_bio_b", genre="bio")]
    write_records(folder / "bio.jsonl.gz", bio)
    return folder


AMALGUM_CONLLU = """
# newdoc id = AMALGUM_news_owl
# text = Owl returns
# newpar = head (1 s)
1 Owl NN 2 nsubj Discourse=preparation:1->2|Entity=(animal-1)
2 returns VBZ 0 root _

# text = It left, so
# newpar
1 It PRP 2 nsubj Discourse=restatement:2->0|Entity=(animal-1)
2 left VBD 0 root _
3 , , 2 punct _
4 so RB 2 advmod Discourse=restatement:3->2

# text = Odd!
1 Odd JJ 0 root Discourse=restatement:4->2
2 ! . 1 punct _
"""
AMALGUM_TREE = Unit("preparation", "SN", (Leaf(0), Unit("sequence", "NNN", (Leaf(1), Leaf(2), Leaf(3)))))


def write_amalgum_clone(folder: Path) -> Path:
    """AMALGUM as it is published: a document in each of its two parts, and one that is always left out."""
    edus = ["Owl returns", "It left ,", "so", "Odd !"]
    for below, name in (
        ("amalgum/news", "AMALGUM_news_owl"),
        ("amalgum_extra/bio", "AMALGUM_bio_newt"),
        ("amalgum/academic", "AMALGUM_academic_salinity"),
    ):
        _write_rs3(folder / below / "rst", name, edus, AMALGUM_TREE)
        (folder / below / "dep").mkdir()
        (folder / below / "dep" / f"{name}.conllu").write_bytes(conllu(AMALGUM_CONLLU))
    return folder


def _write_rs3(folder: Path, name: str, edus: Sequence[str], tree: Tree) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.rs3").write_text(write_rs3(Document.from_edus(name, edus, tree)), encoding="utf-8")


def _write_many_rs3(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        _write_rs3(folder, name, random.Random(name).sample(WORDS, 3), right_branching(3))


def write_pcc(folder: Path) -> Path:
    """PCC as it is published, with two of its other layers."""
    _write_many_rs3(folder / "rst", [f"maz-{number}" for number in range(1423, 1443)])
    for layer in ("syntax", "primary-data"):
        (folder / layer).mkdir()
        (folder / layer / "maz-1423.xml").write_text("<x/>", encoding="utf-8")
    return folder


def write_pcc_2(folder: Path) -> Path:
    """PCC 2.0: in every file the heading stands beside the tree, as a root of its own."""
    write_pcc(folder)
    for path in (folder / "rst").glob("*.rs3"):
        heading = '<segment id="heading">A heading</segment>'
        path.write_text(path.read_text(encoding="utf-8").replace("<body>", f"<body>{heading}"), encoding="utf-8")
    return folder


def write_rst_corpus_rus(folder: Path) -> Path:
    """The files that RRT began with: drafts whose units have a relation to nothing, and others without any group."""
    segments = "".join(f'<segment id="{number}" relname="antithesis">x</segment>' for number in range(3, 9))
    pair = '<segment id="1" parent="2" relname="cause">a</segment><segment id="2" relname="antithesis">b</segment>'
    for name in ("further_annotation/first_annotation_lenta1_EDUs_splitted.rs3_anna", "edu_split_with_rel/10"):
        path = folder / f"{name}.rs3"
        path.parent.mkdir(parents=True)
        path.write_text(f"<rst><header/><body>{pair}{segments}</body></rst>", encoding="utf-8")
    (folder / "to_transform").mkdir()
    (folder / "to_transform" / "10.txt").write_text("a b x", encoding="utf-8")
    return folder


def write_with_odd_files(folder: Path, n_files: int, n_odd: int) -> Path:
    """A folder of `.rs3` files of which the first ones have two roots, as some of UMUC have."""
    _write_many_rs3(folder, [f"unsc{number:02}" for number in range(n_files)])
    for path in sorted(folder.glob("*.rs3"))[:n_odd]:
        last = '<segment id="last">The meeting rose.</segment>'
        path.write_text(path.read_text(encoding="utf-8").replace("</body>", f"{last}</body>"), encoding="utf-8")
    return folder


def write_rrt(folder: Path) -> Path:
    """RRT as it is published: a folder for each genre, and a file of two trees."""
    for genre in ("news1", "news2", "blogs"):
        _write_many_rs3(folder / genre / f"{genre}_rs3", [f"{genre}_{number}" for number in range(1, 8)])
    segments = "".join(f'<segment id="{number}">x</segment>' for number in (3, 4))
    pair = '<segment id="1" parent="2" relname="cause">a</segment><segment id="2">b</segment>'
    (folder / "blogs" / "blogs_rs3" / "blogs_1.rs3").write_text(
        f"<rst><header/><body>{pair}{segments}</body></rst>", encoding="utf-8"
    )
    return folder


def write_prstc(folder: Path) -> Path:
    """The Persian corpus as it is published."""
    names = [*(f"etemad{number:03}" for number in range(1, 12)), *(f"meidan{number:03}" for number in range(1, 10))]
    _write_many_rs3(folder / "Corpus", names)
    return folder


def write_gcdt(folder: Path) -> Path:
    """GCDT as it is published: syntax without EDUs, second annotations, and all trees in a second format."""
    for split, names in {
        "train": ["gcdt_bio_mi", "gcdt_news_cha"],
        "dev": ["gcdt_whow_gou"],
        "test": ["gcdt_bio_an"],
    }.items():
        for name in names:
            words = ["猫", "睡觉", "，", "狗", "叫", "。"]
            edus = [" ".join(words[:3]), " ".join(words[3:])]
            _write_rs3(folder / "data" / "rs3" / split, name, edus, right_branching(2))
            document = Document.from_edus(name, edus, right_branching(2))
            for part, suffix, content in (
                ("conllu", "conllu", conllu(_sentence(words, [])).replace(b"\t_\n", b"\tSpaceAfter=No\n")),
                ("dis", "dis", write_dis(document).encode()),
            ):
                (folder / "data" / part / split).mkdir(parents=True, exist_ok=True)
                (folder / "data" / part / split / f"{name}.{suffix}").write_bytes(content)
    _write_many_rs3(folder / "data" / "rs3" / "double", ["gcdt_bio_an"])
    return folder


def write_disrpt(folder: Path, name: str = "eng.rst.toy") -> Path:
    """A corpus of DISRPT: train with syntax in the marks of one year, dev without in those of another."""
    folder.mkdir(parents=True)
    sentence = _sentence(["It", "rained", "so", "we", "stayed"], [0, 2])
    for split, starts, inside in (("train", "Seg=B-seg", "Seg=O"), ("dev", "BeginSeg=Yes", "_")):
        documents = []
        for number in (1, 2):
            comment = (
                f"# newdoc id = toy_{split}_{number}" if split == "train" else f"# newdoc_id = toy_{split}_{number}"
            )
            documents.append(f"{comment}\n# sent_id = {number}-1\n{sentence}\n{sentence}")
        table = conllu("\n".join(documents))
        marked = table.replace(b"\tDiscourse=x\n", f"\t{starts}\n".encode()).replace(b"\t_\n", f"\t{inside}\n".encode())
        (folder / f"{name}_{split}.tok").write_bytes(_without_syntax(marked))
        if split == "train":
            (folder / f"{name}_{split}.conllu").write_bytes(marked)
    (folder / f"{name}_train.rels").write_text("doc\tunit1_toks\n", encoding="utf-8")
    return folder


def _without_syntax(content: bytes) -> bytes:
    """The words of a document numbered through, with nothing but their last column."""
    lines, number = [], 0
    for line in content.decode().split("\n"):
        columns = line.split("\t")
        number = 0 if line.startswith("# newdoc") else number + (len(columns) == 10)
        if len(columns) == 10:
            lines.append("\t".join([str(number), columns[1], *["_"] * 7, columns[9]]))
        elif line.startswith("# newdoc"):
            lines += ["", line] if lines else [line]
    return ("\n".join(lines) + "\n\n").encode()


def write_records(path: Path, records: Sequence[object]) -> None:
    """A gzipped JSON object a line; strings are lines as they are."""
    lines = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
