"""Read e-mail (.eml) with the standard library: the main headers and the body."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

from genrst.formats.readers.blocks import Block, one_line
from genrst.formats.texts import text_of

HEADERS = ("From", "To", "Cc", "Date", "Subject")


def read(content: bytes, path: Path) -> list[Block]:
    """Return the headers and the body of a message, preferring plain text. Attachments are left out."""
    message: EmailMessage = message_from_bytes(content, policy=policy.default)
    headers = [f"{name}: {one_line(str(message[name]))}" for name in HEADERS if message[name]]
    body = message.get_body(("plain", "html"))
    text = "" if body is None else str(body.get_content())
    if body is not None and body.get_content_subtype() == "html":
        text = text_of(text.encode(), path.with_suffix(".html"))
    return [Block("p", "\n".join(headers)), Block("p", text)]
