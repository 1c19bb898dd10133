"""A node parser for LlamaIndex that splits a text along its discourse tree.

>>> from genrst.integrations.llama_index import DiscourseNodeParser
>>> DiscourseNodeParser(chunk_size=200).get_nodes_from_documents(documents)     # doctest: +SKIP
"""

from collections.abc import Callable, Sequence, Sized
from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.node_parser import NodeParser
from llama_index.core.node_parser.node_utils import build_nodes_from_splits
from llama_index.core.schema import BaseNode, Document, MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode

from genrst.integrations.chunking import AnyParser, ChunkMetadata, Passages, cut_texts
from genrst.outputs.chunks import DEFAULT_TOKENS
from genrst.parser.parser import Parser

OWN_KEYS = sorted(ChunkMetadata.__annotations__)
"""The metadata that are hidden from embedding models and language models."""


class DiscourseNodeParser(NodeParser):
    """Splits documents into discourse chunks, which do not overlap; their metadata include a `ChunkMetadata`.

    With `include_parents`, units above several chunks also become nodes, placed after the chunks of their document.
    Parents and children are linked, as `AutoMergingRetriever` requires. Index only the chunks (`get_leaf_nodes`).
    """

    model: str | None = Field(default=None, description="The name or folder of a parser (default: en).")
    chunk_size: int = Field(default=DEFAULT_TOKENS, description="The maximum number of tokens per chunk.", gt=0)
    min_chunk_size: int | None = Field(default=None, description="The minimum (default: an eighth of the maximum).")
    include_parents: bool = Field(default=False, description="Whether units above several chunks also become nodes.")

    _parser: AnyParser = PrivateAttr()
    _tokenizer: Callable[[str], Sized] = PrivateAttr()

    def __init__(
        self,
        parser: Parser | None = None,
        tokenizer: Callable[[str], Sized] = str.split,
        **fields: Any,  # noqa: ANN401 - the fields of the class, which pydantic checks
    ) -> None:
        """Pass a parser or the name of a `model`. Without a tokenizer, sizes are in words."""
        if parser is not None and parser.folder is not None:
            fields.setdefault("model", str(parser.folder))
        super().__init__(**fields)
        self._parser, self._tokenizer = parser or self.model, tokenizer

    @classmethod
    def class_name(cls) -> str:
        """The name of the component in stored pipelines."""
        return "DiscourseNodeParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: object) -> list[BaseNode]:
        """Parse documents in batches."""
        del show_progress, kwargs
        texts = [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        found = cut_texts(texts, self._parser, self.chunk_size, self._count, self.min_chunk_size)
        return [made for each in zip(nodes, texts, found, strict=True) for made in self._make(*each)]

    def _count(self, text: str) -> int:
        return len(self._tokenizer(text))

    def _make(self, node: BaseNode, text: str, passages: Passages) -> list[TextNode]:
        """Return the nodes of a document: its chunks, then the units above them if `include_parents` is set."""
        chunks, parents = passages.chunks, passages.parents if self.include_parents else ()
        splits = [*(one.text for one in chunks), *(text[one.start : one.end] for one in parents)]
        made = build_nodes_from_splits(splits, node, id_func=self.id_func)
        for one, chunk in zip(made, chunks, strict=False):
            one.metadata = {**chunk.metadata}
            one.start_char_idx, one.end_char_idx = chunk.metadata["start_index"], chunk.metadata["end_index"]
            one.excluded_embed_metadata_keys = [*one.excluded_embed_metadata_keys, *OWN_KEYS]
            one.excluded_llm_metadata_keys = [*one.excluded_llm_metadata_keys, *OWN_KEYS]
        of_units = made[len(chunks) :]
        for one, parent in zip(of_units, parents, strict=True):
            one.start_char_idx, one.end_char_idx = parent.start, parent.end
        _link(made, of_units, [*(one.parent for one in chunks), *(one.parent for one in parents)])
        return made

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        """Add document data to nodes. Offsets are kept: LlamaIndex would search for the text, which may occur twice."""
        made = [node for node in nodes if isinstance(node, TextNode)]
        offsets = [(node.start_char_idx, node.end_char_idx) for node in made]
        parents = [node for node in nodes if node.child_nodes]
        super()._postprocess_parsed_nodes([node for node in nodes if not node.child_nodes], parent_doc_map)
        super()._postprocess_parsed_nodes(parents, parent_doc_map)
        for node in parents:  # parents overlap, so they have no order
            node.relationships.pop(NodeRelationship.PREVIOUS, None)
            node.relationships.pop(NodeRelationship.NEXT, None)
        for one, (start, end) in zip(made, offsets, strict=True):
            one.start_char_idx, one.end_char_idx = start, end
        return nodes


def _link(nodes: Sequence[TextNode], parents: Sequence[TextNode], places: Sequence[int | None]) -> None:
    """Link nodes and their parents; `places` has the place of each node's parent."""
    if not parents:
        return
    known = [parent.as_related_node_info() for parent in parents]
    children: list[list[RelatedNodeInfo]] = [[] for _ in parents]
    for node, place in zip(nodes, places, strict=True):
        if place is not None:
            node.relationships[NodeRelationship.PARENT] = known[place]
            children[place].append(node.as_related_node_info())
    for parent, own in zip(parents, children, strict=True):
        parent.relationships[NodeRelationship.CHILD] = own
