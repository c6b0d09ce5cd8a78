"""What an adversary learns from classes, choices and refused cuts."""
