"""Failure kinds: outputs are reviewed, their failures named, counted, and watched from then on."""
