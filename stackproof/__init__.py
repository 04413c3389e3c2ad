"""stackproof: know that a training stack works before it costs a cluster-week.

Public names live in the four packages: `stackproof.backends` (the compile layer that runs inside an
environment), `stackproof.compat` (what is known), `stackproof.containers` (environments) and
`stackproof.matrix` (the whole way, and the command line).
"""

__version__ = "0.1.0"
