"""Readers for HTML, PDF, Word, Markdown and e-mail, which convert files to blocks of text."""
