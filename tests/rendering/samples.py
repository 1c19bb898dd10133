"""Documents to draw."""

from dataclasses import replace

from genrst.document import Document, SecondaryEdge, Signal
from genrst.trees.node import SPAN, Leaf, Tree, Unit

BRIDGE = (
    "The city council voted on Tuesday",
    "to close the old harbour bridge to cars,",
    "although shop owners had warned",
    "that they would lose customers.",
    "Cyclists may still cross,",
    "and a ferry will run every ten minutes.",
)


def bridge() -> Document:
    """A short news text with satellites on both sides and a multinuclear unit."""
    decision = Unit("purpose", "NS", (Leaf(0), Leaf(1)), probability=0.875)
    warning = Unit("attribution", "SN", (Leaf(2), Leaf(3)))
    ferry = Unit("joint", "NN", (Leaf(4), Leaf(5)))
    tree = Unit("elaboration", "NS", (Unit("concession", "NS", (decision, warning)), ferry))
    return Document.from_edus("bridge", BRIDGE, tree)


def marked_bridge() -> Document:
    """The bridge with signals, one of them in two pieces, one without words, and a secondary edge that is marked."""
    signals = (
        Signal((1, 2), "syntactic", "infinitival_clause", (7,)),
        Signal((2, 4), "lexical", "indicative_word", (18, 19)),
        Signal((2, 4), "dm", "dm", (15, 20)),
        Signal((4, 6), "graphical", "layout"),
        Signal((5, 6), "dm", "dm", (29,)),
        Signal((4, 5), "orphan", "orphan", (27,), target=(2, 4)),
    )
    edge = SecondaryEdge((4, 5), (2, 4), "contrast")
    return replace(bridge(), signals=signals, secondary_edges=(edge,))


def several_satellites() -> Document:
    """One nucleus with two satellites on either side, each with a relation of its own."""
    relations = ["preparation", "background", SPAN, "elaboration-object-attribute-e", "evaluation"]
    tree = Unit.from_relations(relations, "SSNSS", tuple(map(Leaf, range(5))))
    return Document.from_edus("several", BRIDGE[:5], tree)


def chain(size: int, is_right: bool) -> Document:
    """A tree that is as deep as it can be."""
    if is_right:
        tree: Tree = Leaf(size - 1)
        for edu in reversed(range(size - 1)):
            tree = Unit("elaboration", "NS", (Leaf(edu), tree))
    else:
        tree = Leaf(0)
        for edu in range(1, size):
            tree = Unit("attribution", "SN", (tree, Leaf(edu)))
    return Document.from_edus("chain", [f"This is the text of unit {edu}." for edu in range(size)], tree)


def row(texts: list[str], relation: str = "joint") -> Document:
    """A document of these EDUs side by side."""
    if len(texts) == 1:
        return Document.from_edus("row", texts, Leaf(0))
    return Document.from_edus("row", texts, Unit(relation, "N" * len(texts), tuple(map(Leaf, range(len(texts))))))


SCRIPTS = {
    "chinese": ["市议会星期二投票决定，禁止汽车通过旧港大桥。", "店主们警告说：他们会失去顾客。", "好。"],
    "japanese": ["エンジニアが二本の柱にひび割れを見つけたため、", "「通行禁止」になっている。", "はい"],
    "korean": ["다리는 자전거에 열려 있다.", "그러나 자동차는 건널 수 없다.", "네"],
    "arabic": ["صوّت مجلس المدينة يوم الثلاثاء", "على إغلاق جسر الميناء القديم أمام السيارات،", "نعم"],
    "hebrew": ["רוכבי אופניים עדיין יכולים לעבור בגשר,", "אבל מכוניות לא (50%).", "כן"],
    "hindi": ["नगर परिषद ने मंगलवार को मतदान किया", "कि पुराना पुल बंद रहेगा।", "हाँ"],
    "thai": ["ไม่มีช่องว่างระหว่างคำในภาษาไทยเลยแม้แต่น้อยและประโยคนี้ยาวมาก", "ใช่", "ไม่"],
    "russian": ["Городской совет проголосовал во вторник", "за закрытие старого моста,", "да"],
    "long words": [
        "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente",
        "x" * 500,
        "https://example.org/" + "a/" * 90,
    ],
    "emoji": ["👩‍👩‍👧‍👦🎉👍🏽" * 12, "e\u0301" * 90, "a" + "\u0301" * 300],
}
