"""Texts that nobody wrote to be read: all line ends, markup, and characters of every kind."""

from hypothesis import strategies as st

LINE_ENDS = ["\n", "\r\n", "\r", "\f", "\v", "\x85", "\u2028", "\u2029", "\n\n", "\n \t\n", "\r\n\r\n"]
WHITE = [" ", "\t", "\u00a0", "\u3000", "  ", "\x1f"]
MARKUP = ["# ", "- ", "* ", "• ", "1. ", "2) ", "(a) ", "===", "---", "* * *", "<b>", "</p>", "&amp;", "[12]", "```"]
WORDS = ["The", "ferry", "stopped.", "“Why?”", "U.S.", "don't", "3.14", "naïve", "word " * 40 + "end.", "!" * 300]
ODD = [
    "שלום",
    "\u202e",
    "👩\u200d👩\u200d👧",
    "🏳️",
    "\u0301\u0301",
    "\0",
    "\x1b",
    "\u200b",
    "\ufeff",
    "日本語。",
    "\ue000",
]

pieces = st.sampled_from([*LINE_ENDS, *WHITE, *MARKUP, *WORDS, *ODD])
texts = st.lists(pieces | st.text(st.characters(), max_size=5), max_size=25).map("".join)
"""Any text, with surrogates as well."""
