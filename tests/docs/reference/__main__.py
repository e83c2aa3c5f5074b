"""``python -m tests.docs.reference`` writes docs/reference.md anew."""

from tests.docs.reference.page import FILE, render_reference

FILE.write_text(render_reference(), encoding="utf-8")
print(f"wrote {FILE}")
