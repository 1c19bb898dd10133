"""A text splitter for LangChain that splits a text along its discourse tree.

>>> from genrst.integrations.langchain import DiscourseTextSplitter
>>> DiscourseTextSplitter(chunk_size=200).split_documents(documents)    # doctest: +SKIP
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from langchain_core.documents import Document
from langchain_text_splitters import TextSplitter

from genrst.integrations.chunking import AnyParser, cut_texts
from genrst.outputs.chunks import DEFAULT_TOKENS
from genrst.outputs.summary import count_words


class DiscourseTextSplitter(TextSplitter):
    """Splits texts into discourse chunks, which do not overlap.

    `chunk_size` is the maximum size of a chunk, in words or in the units of `length_function`. A chunk has the metadata
    of its document and those of a `ChunkMetadata`.
    """

    def __init__(
        self,
        parser: AnyParser = None,
        *,
        chunk_size: int = DEFAULT_TOKENS,
        min_chunk_size: int | None = None,
        length_function: Callable[[str], int] = count_words,
    ) -> None:
        """The default parser is `en`; `min_chunk_size` is `min_tokens` of `genrst.chunks`."""
        super().__init__(chunk_size, chunk_overlap=0, length_function=length_function)
        self._parser, self._min_chunk_size = parser, min_chunk_size

    def split_text(self, text: str) -> list[str]:
        """Split one text, without metadata."""
        return [document.page_content for document in self.create_documents([text])]

    def create_documents(self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None) -> list[Document]:
        """Split texts, which are parsed in batches."""
        found = cut_texts(texts, self._parser, self._chunk_size, self._length_function, self._min_chunk_size)
        return [
            Document(page_content=chunk.text, metadata={**deepcopy(own), **chunk.metadata})
            for passages, own in zip(found, metadatas or [{} for _ in texts], strict=True)
            for chunk in passages.chunks
        ]
