"""Rules that find a simulated user's mistakes without asking a model. `index` says which rule finds which."""
