"""Rules that find a simulated user's mistakes without asking a model. `RULES` in `checking` lists them."""
