"""What runs say: summaries, comparisons, gates, history, filters, how far judges can be trusted."""
