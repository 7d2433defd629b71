"""What the measuring scripts share. Standard library only."""
