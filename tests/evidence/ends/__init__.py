"""Is anything lost or left behind when a run is killed, or told to end?"""
