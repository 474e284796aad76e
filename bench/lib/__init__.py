"""What the benches share. None of it is a bench."""
