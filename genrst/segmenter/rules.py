"""EDUs by rules over the dependency tree, where there is no trained segmenter. No weights, no torch.

A clause is an EDU: one that modifies or complements another, or is joined to it. What follows an embedded clause
starts an EDU too. Relations are those of spaCy's English pipelines.
"""

import re
from itertools import groupby

import numpy as np

from genrst.document import Document
from genrst.segmenter.features import sentence_starts, subtree_spans
from genrst.text.raw import with_edus

CLAUSES = frozenset({"acl", "advcl", "ccomp", "conj", "parataxis", "pcomp", "relcl"})
"""Relations of clauses to what they depend on."""
SUBJECTS = frozenset({"csubj", "csubjpass", "expl", "nsubj", "nsubjpass"})
NEED_SUBJECT = frozenset({"ccomp", "parataxis"})
"""Relations of clauses that, without a subject, are too close to their verb to be EDUs."""
ATTRIBUTION = re.compile(
    "sa(y|id)|t[eo]l|ask|th(in|ou)|kn[eo]w|belie|hop|fe(el|lt)|mean|guess|suggest|claim|argu|show|f(ind|ound)|report|"
    "s(ee|aw)|wonder|decid|reali|understand|remember|not(e|ing)|expla"
)
"""The beginnings of verbs whose complement is an EDU."""
OPENERS = frozenset({"(", "[", "“", "‘", '"', "-", "–", "—", "``"})
CLOSERS = frozenset({",", ".", ";", ":", "!", "?", ")", "]", "”", "’", '"', "…", "...", "-", "–", "—", "''"})


def segment_by_rules(document: Document) -> Document:
    """The annotated document with clauses as EDUs, as far as its syntax shows them."""
    return _Clauses(document).segment()


class _Clauses:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.tokens = document.tokens
        text = document.text or ""
        self.words = [text[token.start : token.end].lower() for token in document.tokens]
        self.starts_sentence = sentence_starts(document)
        heads = np.array([token.head for token in document.tokens], dtype=np.int64)
        spans = subtree_spans(heads)
        self.first: list[int] = spans[0].tolist()
        self.last: list[int] = spans[1].tolist()
        by_head = groupby(sorted(range(len(heads)), key=lambda token: heads[token]), key=lambda token: heads[token])
        self.relations = {
            int(head): {self.tokens[child].deprel for child in children if child != head} for head, children in by_head
        }

    def segment(self) -> Document:
        starts = np.array(self.starts_sentence)
        for token in filter(self._is_clause, range(len(self.tokens))):
            starts[self._left(token)] = True
            right = self._right(token)
            starts[right : right + 1] = True
        return with_edus(self.document, starts)

    def _is_clause(self, token: int) -> bool:
        relation, children = self.tokens[token].deprel, self.relations.get(token, set())
        has_subject = bool(children & SUBJECTS)
        if relation not in CLAUSES or (relation in NEED_SUBJECT and not has_subject):
            return False
        head = self.tokens[token].head
        if relation == "ccomp" and token > head and not ATTRIBUTION.match(self.words[head]):
            return False
        return has_subject or self.tokens[token].tag.startswith("VB")

    def _left(self, token: int) -> int:
        """Where a clause starts: a conjunction and an opening bracket before it belong to it."""
        at = self.tokens[token].head if self.tokens[token].deprel == "pcomp" else token
        at = self.first[at]
        while not self.starts_sentence[at] and (self.tokens[at - 1].deprel == "cc" or self.words[at - 1] in OPENERS):
            at -= 1
        return at

    def _right(self, token: int) -> int:
        """Where the text goes on after a clause and the punctuation that closes it."""
        at = self.last[token] + 1
        while at < len(self.tokens) and not self.starts_sentence[at] and self.words[at] in CLOSERS:
            at += 1
        return at
