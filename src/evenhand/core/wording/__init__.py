"""How a value is written: counts, money, percentages and foreign text, on a terminal, in JSON and in spreadsheets."""
