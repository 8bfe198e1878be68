"""elmonet."""
