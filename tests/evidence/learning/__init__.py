"""Whether the deep agents learn: trainings by the command line, recorded with where and when."""
