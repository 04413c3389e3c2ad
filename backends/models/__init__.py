"""Model builders: a spec's model as a program."""
