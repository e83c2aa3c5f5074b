"""Results as text, Markdown, JSON and a page."""
