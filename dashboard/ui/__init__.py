"""Parts of pages: the head, tables, charts, downloads, sentences, and what a page without results shows."""
