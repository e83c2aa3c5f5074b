"""Why a test got slower: profiles of both sides, attribution of the change, flame graphs."""
