"""Verbs of the command line that have many options of their own, one file each."""
