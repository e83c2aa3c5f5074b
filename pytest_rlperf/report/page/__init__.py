"""report.html: the run as one page that needs nothing but itself."""
