"""What people say of trials, in run files: labels, draws to label, pairs of outputs, and how files exchange them."""
