"""Does the learning gate catch real mistakes, and let harmless changes go?"""
