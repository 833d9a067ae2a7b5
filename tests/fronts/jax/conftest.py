"""What needs JAX.  In processes of their own: JAX minds if others fork in the one it is in."""

import jax

jax.config.update("jax_enable_x64", True)
