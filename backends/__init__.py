"""The compile layer: what runs inside the environment under test.

Laws of this folder:

* numpy, the standard library and one framework, nothing else. Anything more would change the stack being judged.
* Syntax and standard library of Python 3.9.
* A framework is imported only inside `on_torch`, `on_tensorflow` and `on_jax`, and only once a job names it.
* Relative imports only: the folder is carried into an environment as a zip and runs under that mount.
* Nothing here prints or decides: a worker writes evidence, the outside judges it.
"""
