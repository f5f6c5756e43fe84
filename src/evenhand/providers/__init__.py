"""What answers prompts: vendors over HTTP, functions, programs. One attempt at a time; policy is the engine's."""
