"""Front doors: eval sets, promptfoo folders, prompt directories, pytest and other tools' results, read and checked."""
