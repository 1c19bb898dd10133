"""A chunker for Chonkie that splits a text along its discourse tree, registered in pipelines as `discourse`.

>>> from genrst.integrations.chonkie import DiscourseChunker
>>> DiscourseChunker(chunk_size=200)("It rained, so we stayed in.")     # doctest: +SKIP
"""

from collections.abc import Sequence
from typing import Any

from chonkie.chunker.base import BaseChunker
from chonkie.pipeline import chunker
from chonkie.types import Chunk

from genrst.integrations.chunking import AnyParser, Passage, cut_texts
from genrst.outputs.chunks import DEFAULT_TOKENS
from genrst.outputs.summary import count_words


@chunker("discourse")
class DiscourseChunker(BaseChunker):
    """Splits texts into discourse chunks, which do not overlap.

    `chunk_size` is the maximum size of a chunk, in words or in tokens of `tokenizer`, which may be anything that
    Chonkie accepts as a tokenizer. The metadata of a chunk are a `ChunkMetadata` without the offsets, which the chunk
    itself already has.
    """

    def __init__(
        self,
        parser: AnyParser = None,
        tokenizer: Any = count_words,  # noqa: ANN401 - a name, a function or an object, as Chonkie's own types do not say
        chunk_size: int = DEFAULT_TOKENS,
        min_chunk_size: int | None = None,
    ) -> None:
        """The default parser is `en`; `min_chunk_size` is `min_tokens` of `genrst.chunks`."""
        super().__init__(tokenizer)
        self.parser, self.chunk_size, self.min_chunk_size = parser, chunk_size, min_chunk_size

    def chunk(self, text: str) -> list[Chunk]:
        """Split one text."""
        return self.chunk_batch([text])[0]

    def chunk_batch(self, texts: Sequence[str], show_progress: bool = True) -> list[list[Chunk]]:
        """Split texts, which are parsed in batches."""
        del show_progress
        found = cut_texts(texts, self.parser, self.chunk_size, self.tokenizer.count_tokens, self.min_chunk_size)
        return [[self._chunk(chunk) for chunk in passages.chunks] for passages in found]

    def _chunk(self, chunk: Passage) -> Chunk:
        metadata: dict[str, Any] = {**chunk.metadata}
        start, end = metadata.pop("start_index"), metadata.pop("end_index")
        return Chunk(
            text=chunk.text,
            start_index=start,
            end_index=end,
            token_count=self.tokenizer.count_tokens(chunk.text),
            metadata=metadata,
        )
