"""The model of a run from its result file: the way back from `report.export`, part by part."""
