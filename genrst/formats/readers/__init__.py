"""Readers of documents as people have them: HTML, PDF, Word, Markdown and e-mail, each into blocks of text."""
