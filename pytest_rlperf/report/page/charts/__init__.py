"""Small charts as inline SVG: pure functions from numbers to markup.

Colours are classes, which the page's style gives a value in light and in dark.
"""
