echo program $(echo "$1" | head -c 5)
