"""The LM evaluation harness: logged samples, and the results beside them."""
