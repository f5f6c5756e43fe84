"""Front door: promptfoo's YAML dialect. A folder of prompts, models and tests in, a plan out. Runs nothing itself."""
