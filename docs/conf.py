"""How `make docs` builds the site. The pages are plain Markdown, and read well on GitHub too."""

from importlib import metadata

project = "pytest-rlperf"
release = metadata.version(project)
html_title = f"{project} {release}"
html_theme = "furo"
html_show_copyright = False

extensions = ["myst_parser"]
exclude_patterns = ["proof/*"]
# Links to headings, as GitHub makes them.
myst_heading_anchors = 3
# Terminal output, unless a block says otherwise.
highlight_language = "text"
# Examples leave parts out with an ellipsis, which no lexer knows.
suppress_warnings = ["misc.highlighting_failure"]
# Dashes of options stay dashes.
smartquotes = False
