echo "said: $1"
