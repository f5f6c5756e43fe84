"""What a filter says, and which results it keeps."""
