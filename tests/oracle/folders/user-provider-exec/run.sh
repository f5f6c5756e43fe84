echo "sh: $1"
