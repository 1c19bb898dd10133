"""genrst as a node parser of LlamaIndex."""

import json
from pathlib import Path

import pytest
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import get_leaf_nodes, get_root_nodes
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.schema import Document as Page
from llama_index.core.storage import StorageContext
from llama_index.core.storage.docstore import SimpleDocumentStore

from genrst.integrations.llama_index import DiscourseNodeParser
from genrst.parser.loading import load
from tests.integrations.samples import FERRY_CHUNKS, echo, known_parser
from tests.outputs.samples import ferry
from tests.parser.samples import write_chart

TEXT = ferry().text or ""


def texts_of(nodes: list[BaseNode]) -> list[TextNode]:
    assert all(isinstance(node, TextNode) for node in nodes)
    return [node for node in nodes if isinstance(node, TextNode)]


def test_nodes():
    pages = [Page(text=TEXT, metadata={"source": "ferry.txt"}), Page(text=" "), Page(text=echo().text or "")]
    nodes = texts_of(DiscourseNodeParser(known_parser(), chunk_size=20).get_nodes_from_documents(pages))
    own, (other,) = nodes[:4], nodes[4:]
    assert [(one.start_char_idx, one.end_char_idx) for one in own] == [(start, end) for start, end, *_ in FERRY_CHUNKS]
    assert [one.text for one in own] == [TEXT[start:end] for start, end, *_ in FERRY_CHUNKS]
    assert [one.metadata["relation_path"] for one in own] == [path for _, _, path, *_ in FERRY_CHUNKS]
    assert {one.metadata["source"] for one in own} == {"ferry.txt"}
    assert [one.prev_node and one.prev_node.node_id for one in own] == [None, *(one.node_id for one in own[:3])]
    assert [one.next_node and one.next_node.node_id for one in own] == [*(one.node_id for one in own[1:]), None]
    assert [one.ref_doc_id for one in nodes] == [pages[0].doc_id] * 4 + [pages[2].doc_id]
    assert {one.parent_node for one in own} == {None}, "unless they are wanted"
    assert (other.prev_node, other.next_node, "source" in other.metadata) == (None, None, False)


@pytest.mark.parametrize("mode", [MetadataMode.EMBED, MetadataMode.LLM])
def test_models_see_the_metadata_of_documents_only(mode: MetadataMode):
    page = Page(text=TEXT, metadata={"source": "ferry.txt", "secret": 1})
    page.excluded_embed_metadata_keys = page.excluded_llm_metadata_keys = ["secret"]
    node, *_ = DiscourseNodeParser(known_parser(), chunk_size=20).get_nodes_from_documents([page])
    assert node.get_metadata_str(mode) == "source: ferry.txt"
    assert page.excluded_embed_metadata_keys == ["secret"]


def test_repeated_texts_have_their_own_offsets():
    """LlamaIndex itself would find the second one inside the first."""
    parser = DiscourseNodeParser(known_parser(), chunk_size=3, min_chunk_size=0)
    nodes = texts_of(parser.get_nodes_from_documents([Page(text=echo().text or "")]))
    assert [(one.start_char_idx, one.text) for one in nodes] == [
        (0, "Yes, he said. It is late."), (26, "No."), (30, "It is late."), (42, "Yes."),
    ]  # fmt: skip


def test_parents():
    parser = DiscourseNodeParser(known_parser(), chunk_size=20, include_parents=True)
    nodes = texts_of(parser.get_nodes_from_documents([Page(text=TEXT, metadata={"source": "ferry.txt"})]))
    chunks, (root, first, second) = nodes[:4], nodes[4:]
    assert get_leaf_nodes([*nodes]) == chunks
    assert get_root_nodes([*nodes]) == [root]
    assert [one.parent_node and one.parent_node.node_id for one in nodes] == [
        first.node_id, second.node_id, second.node_id, root.node_id, None, root.node_id, first.node_id,
    ]  # fmt: skip
    children = [[one.node_id for one in parent.child_nodes or []] for parent in (root, first, second)]
    assert children == [
        [chunks[3].node_id, first.node_id], [chunks[0].node_id, second.node_id], [one.node_id for one in chunks[1:3]],
    ]  # fmt: skip
    assert [(one.start_char_idx, one.end_char_idx) for one in (root, first, second)] == [(0, 258), (0, 172), (33, 172)]
    assert all(one.text == TEXT[one.start_char_idx : one.end_char_idx] for one in nodes)
    assert [one.metadata for one in (root, first, second)] == [{"source": "ferry.txt"}] * 3
    assert [one.next_node for one in (chunks[3], root, first, second)] == [None] * 4
    assert [one.prev_node for one in (root, first, second)] == [None] * 3
    assert {one.ref_doc_id for one in nodes} == {root.ref_doc_id}


def test_retrieved_chunks_are_merged_into_their_parent():
    nodes = DiscourseNodeParser(known_parser(), chunk_size=20, include_parents=True)([Page(text=TEXT)])
    store = SimpleDocumentStore()
    store.add_documents(nodes)

    class Retriever(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            del query_bundle
            return [NodeWithScore(node=node, score=1.0) for node in nodes[1:3]]

    context = StorageContext.from_defaults(docstore=store)
    (found,) = AutoMergingRetriever(Retriever(), context).retrieve("Why?")  # type: ignore[arg-type]
    assert found.node.get_content() == TEXT[33:172]


def test_pipelines(tmp_path: Path):
    """They store the settings of a node parser, and name what they cached by them."""
    folder = write_chart(tmp_path / "chart")
    parser = DiscourseNodeParser(load(folder), str.split, chunk_size=5, min_chunk_size=1)
    stored = json.loads(parser.to_json())
    del stored["id_func"]  # LlamaIndex stores its name and cannot read it
    restored = DiscourseNodeParser.from_dict(stored)
    assert (restored.model, restored.chunk_size, restored.min_chunk_size) == (str(folder), 5, 1)
    page = Page(text="It rained, so we stayed in. Nobody was hurt, because the ferry stopped.")
    found = [IngestionPipeline(transformations=[one]).run(documents=[page]) for one in (parser, restored)]
    contents = [[node.get_content() for node in nodes] for nodes in found]
    assert contents[0] == contents[1]
    assert len(contents[0]) > 1


def test_tokens_and_wrong_sizes():
    nodes = DiscourseNodeParser(known_parser(), list, chunk_size=100).get_nodes_from_documents([Page(text=TEXT)])
    assert [len(node.get_content()) for node in nodes] == [32, 81, 57, 85]
    with pytest.raises(ValueError, match="chunk_size"):
        DiscourseNodeParser(known_parser(), chunk_size=0)
