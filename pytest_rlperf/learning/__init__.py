"""The learning gate: did the change break what the agent learns?"""
