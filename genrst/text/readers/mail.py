"""E-mail (.eml) by the standard library: the headers that people read, and the body."""

from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage
from pathlib import Path
from typing import cast

from genrst.errors import CorpusFormatError
from genrst.text.files import text_of
from genrst.text.readers.blocks import Block, one_line

HEADERS = ("From", "To", "Cc", "Date", "Subject")


def read(content: bytes, path: Path) -> list[Block]:
    """The headers and the body of a message, as plain text if it has one; attachments are left out."""
    try:
        message = cast(EmailMessage, message_from_bytes(content, policy=policy.default))
        headers = [f"{name}: {one_line(str(message[name]))}" for name in HEADERS if message[name]]
        body = message.get_body(("plain", "html"))
        text = "" if body is None else str(body.get_content())
    except (MessageError, LookupError, ValueError, TypeError, AttributeError) as error:
        raise CorpusFormatError(f"the e-mail is damaged ({one_line(str(error))})", path) from error
    if body is not None and body.get_content_subtype() == "html":
        text = text_of(text.encode(), path.with_suffix(".html"))
    return [Block("p", "\n".join(headers)), Block("p", text)]
