"""Files on disk that outlive a run."""
